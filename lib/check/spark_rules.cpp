// What Managed Service for Apache Spark (Dataproc Serverless) wants of a custom image.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "check/rule.hpp"
#include "check/worker.hpp"
#include "facts/commands.hpp"

namespace imgforge {

namespace {

constexpr std::string_view documentation = "https://cloud.google.com/dataproc-serverless/docs/guides/custom-containers";
constexpr std::uint32_t spark_id = 1099;

bool concerned(const Case& subject) {
  return !subject.judged_as.without_sign && subject.judged_as.runner == Runner::spark_serverless;
}

constexpr std::string_view make_user = "RUN groupadd -g 1099 spark && useradd -u 1099 -g 1099 -d /home/spark -m spark";

Answer user(const Case& subject) {
  if (!concerned(subject)) return Answer::not_applicable();
  const Fact<SparkNeeds>& needs = subject.facts.spark();
  if (!needs.is_known()) return undecided_for("the user spark", needs);
  const Fact<User>& account = needs->user_spark;
  if (account.is_unknown()) return undecided_for("the user spark", account);
  if (account.is_absent()) {
    return Answer::finding("there is no user spark: the service runs everything as user and group spark (1099)",
                           std::string(make_user), account.evidence());
  }
  std::vector<std::string> faults;
  if (account->uid != spark_id) faults.push_back(fmt::format("uid {}", account->uid));
  if (account->gid != spark_id) faults.push_back(fmt::format("gid {}", account->gid));
  const Fact<std::uint32_t>& group = needs->group_spark;
  if (faults.empty() && !group.is_unknown() && !(group.is_known() && group.value() == spark_id)) {
    return Answer::finding(
        group.is_known() ? fmt::format("the group spark has gid {}; it has to be 1099", group.value())
                         : std::string("there is no group spark: the service runs everything as user and group spark (1099)"),
        std::string(make_user), join_evidence({account.evidence(), group.evidence()}));
  }
  if (!faults.empty()) {
    return Answer::finding(fmt::format("the user spark has {}; both have to be 1099", join_words(faults)),
                           std::string(make_user), account.evidence());
  }
  if (!needs->home_exists) {
    return Answer::finding(
        fmt::format("the user spark has no home folder ({} does not exist)",
                    account->home.empty() ? std::string("none is named") : escape_for_display(account->home)),
        std::string(make_user) + "  (-m makes it)", account.evidence());
  }
  return Answer::pass();
}

/// A utility that the service's scripts call.
Answer utility(const Case& subject, Fact<bool> SparkNeeds::*member, std::string_view package,
               std::string_view without) {
  if (!concerned(subject)) return Answer::not_applicable();
  const Fact<SparkNeeds>& needs = subject.facts.spark();
  if (!needs.is_known()) return undecided_for(package, needs);
  const Fact<bool>& there = needs.value().*member;
  if (there.is_unknown()) return undecided_for(package, there);
  if (there.is_known() && there.value()) return Answer::pass();
  return Answer::finding(
      fmt::format("{} is not in the image: {}", package, without),
      subject.kind == SubjectKind::recipe
          ? fmt::format("packages: {{apt: [{}]}}", package)
          : fmt::format("RUN apt-get update && apt-get install -y --no-install-recommends {}", package),
      there.evidence());
}

Answer procps_missing(const Case& subject) {
  return utility(subject, &SparkNeeds::procps, "procps", "Spark's scripts stop at \"ps: command not found\"");
}

Answer tini_missing(const Case& subject) {
  return utility(subject, &SparkNeeds::tini, "tini", "the service starts its processes through it");
}

Answer spark_in_image(const Case& subject) {
  if (!concerned(subject)) return Answer::not_applicable();
  const Fact<SparkNeeds>& needs = subject.facts.spark();
  if (!needs.is_known()) return undecided_for("Spark in the image", needs);
  std::vector<Answer::Found> found;
  const Fact<bool>& spark = needs->spark;
  const Fact<bool>& java = needs->java;
  if (spark.is_known() && spark.value()) {
    found.push_back({Level::error,
                     "Spark is in the image: the service mounts its own, and two Sparks get into each other's way",
                     "take the Spark distribution, pyspark and SPARK_HOME out of the image", spark.evidence()});
  }
  if (java.is_known() && java.value()) {
    found.push_back({Level::warning, "a Java runtime is in the image: the service mounts the one that its Spark needs",
                     "take the JDK out of the image", java.evidence()});
  }
  if (!found.empty()) return Answer::findings(std::move(found));
  if (spark.is_unknown()) return undecided_for("Spark in the image", spark);
  return Answer::pass();
}

bool ends_with_domain(std::string_view host, std::string_view domain) {
  return host == domain || (host.ends_with(domain) && host[host.size() - domain.size() - 1] == '.');
}

Answer registry(const Case& subject) {
  if (!concerned(subject) || subject.recipe == nullptr || subject.recipe->push.repository.empty()) {
    return Answer::not_applicable();
  }
  const std::optional<Reference> reference = Reference::parse(subject.recipe->push.repository);
  if (!reference) return Answer::not_applicable();  // the recipe's grammar names it
  if (ends_with_domain(reference->host(), "pkg.dev") || ends_with_domain(reference->host(), "gcr.io")) {
    return Answer::pass();
  }
  return Answer::finding(
      fmt::format("the service pulls from Artifact Registry and Container Registry only, not from {}",
                  escape_for_display(reference->host())),
      fmt::format("push: {{repository: REGION-docker.pkg.dev/PROJECT/REPOSITORY/{}}}",
                  subject.recipe->name.empty() ? std::string("NAME") : escape_for_display(subject.recipe->name)),
      {Evidence::at(subject.recipe->place_of("push.repository"))});
}

/// Whether `path` is a name of `interpreter`: its file, or python, python3, pythonX.Y in its bin folder.
bool names(const Interpreter& interpreter, std::string_view path) {
  if (path == interpreter.path) return true;
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) {
    return std::find(interpreter.on_path_as.begin(), interpreter.on_path_as.end(), path) !=
           interpreter.on_path_as.end();
  }
  if (path.substr(0, slash) != interpreter.prefix + "/bin") return false;
  const std::string_view file = path.substr(slash + 1);
  return file == "python" || file == "python3" || file == "python" + interpreter.minor.to_string();
}

Answer pyspark_python(const Case& subject) {
  if (!concerned(subject)) return Answer::not_applicable();
  const auto value = subject.facts.variable("PYSPARK_PYTHON");
  if (!value) return Answer::not_applicable();
  // The service's own conda, which it mounts.
  if (value->starts_with("/opt/dataproc/")) return Answer::pass();
  const Fact<std::vector<Interpreter>>& interpreters = subject.facts.interpreters();
  if (interpreters.is_unknown()) return undecided_for("the interpreters", interpreters);
  if (interpreters.is_known()) {
    const bool found = std::any_of(interpreters->begin(), interpreters->end(),
                                   [&](const Interpreter& interpreter) { return names(interpreter, *value); });
    if (found) return Answer::pass();
  }
  if (subject.facts.has_path) {
    // An image: a link or a script of another name may lead to one.
    const std::string search = subject.facts.variable("PATH").value_or(std::string(default_path));
    std::vector<std::string> places;
    if (value->find('/') == std::string::npos) {
      for (const std::string& folder : path_folders(search, "/")) places.push_back(absolute_path(*value, folder));
    } else if (value->starts_with('/')) {
      places.push_back(*value);
    } else {
      return Answer::undecided(fmt::format("PYSPARK_PYTHON is {}, which depends on the folder that it is started in",
                                           escape_for_display(*value)));
    }
    for (const std::string& place : places) {
      const Fact<bool> there = subject.facts.has_path(place);
      if (there.is_unknown()) return undecided_for(escape_for_display(place), there);
      if (there.is_known() && there.value()) {
        return Answer::undecided(
            fmt::format("what {} is: a file of the image, but no known form of interpreter", escape_for_display(place)));
      }
    }
  }
  std::string there;
  if (interpreters.is_known() && !interpreters->empty()) there = escape_for_display(interpreters->front().path);
  return Answer::finding(
      fmt::format("PYSPARK_PYTHON is {}, and the image has no such interpreter", escape_for_display(*value)),
      there.empty() ? std::string("install a Python there, or drop the variable: the service then uses its own")
                    : "ENV PYSPARK_PYTHON=" + there,
      {subject.facts.variable_evidence("PYSPARK_PYTHON")});
}

constexpr Rule rules[] = {
    {"spark/user", Level::error, Reach::paths, R | D | I, "no user and group spark with uid and gid 1099 and a home",
     "The service runs the workload as spark (1099:1099) and writes into its home folder; with other numbers nothing "
     "of what it mounts is readable.",
     "Make the user with both numbers and a home folder.", documentation, user},
    {"spark/procps-missing", Level::error, Reach::paths, R | D | I, "procps (ps) is not in the image",
     "The scripts that start Spark call ps.", "Install procps.", documentation, procps_missing},
    {"spark/tini-missing", Level::error, Reach::paths, R | D | I, "tini is not in the image",
     "The service starts driver and executors through tini.", "Install tini.", documentation, tini_missing},
    {"spark/spark-in-image", Level::error, Reach::tree, R | D | I, "Spark (or a JDK: a warning) is in the image",
     "Spark and Java are mounted at run time, in the version that was asked for; copies in the image shadow or "
     "contradict them.",
     "Leave Spark, pyspark and Java out.", documentation, spark_in_image},
    {"spark/registry", Level::error, Reach::config, R,
     "the image is hosted outside Artifact Registry and Container Registry",
     "The service pulls custom images from these two only.", "Push to REGION-docker.pkg.dev.", documentation, registry},
    {"spark/pyspark-python", Level::warning, Reach::paths, D | I, "PYSPARK_PYTHON names no interpreter of the image",
     "Python workers are started by that name and die at once.", "Name an interpreter that is there.", documentation,
     pyspark_python},
};

}  // namespace

std::span<const Rule> spark_rules() { return rules; }

}  // namespace imgforge
