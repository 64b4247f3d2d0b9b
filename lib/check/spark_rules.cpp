// What Managed Service for Apache Spark (Dataproc Serverless) asks of an image.
#include "check/rule.hpp"

namespace imgforge {

std::span<const Rule> spark_rules() { return {}; }

}  // namespace imgforge
