// What an image has of the things that Managed Service for Apache Spark asks for or forbids, and the launcher of Flex
// Templates.
#pragma once

#include "facts/facts.hpp"
#include "facts/image_reader.hpp"

namespace imgforge {

/// ps of procps (busybox' and toybox' do not count: they do not know the options that Spark's scripts give), tini, the
/// account and the group "spark", and, beyond named paths only where depth is full, Spark and Java wherever they lie.
/// Extra jars and an empty SPARK_HOME are no Spark: its core is, or spark-submit, or the distribution pyspark.
Fact<SparkNeeds> read_spark_needs(ImageReader& reader);

/// A regular file /opt/google/dataflow/*_template_launcher, links followed. Absent needs every layer.
Fact<FlexLauncher> read_flex_launcher(ImageReader& reader);

}  // namespace imgforge
