// What lies in the layers: secrets, waste, what Spark and Flex Templates ask for.
#include <algorithm>
#include <catch2/catch.hpp>

#include "facts/fake_image.hpp"
#include "facts/secrets.hpp"
#include "facts/system_packages.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

// Put together here, so that no scanner takes this file for a leak.
const std::string body(64, 'Q');
std::string key(const std::string& label = "OPENSSH PRIVATE KEY") {
  return "-----BEGIN " + label + "-----\n" + body + "\n-----END " + label + "-----\n";
}
const std::string token = std::string("gh") + "p_" + "0123456789abcdefghijABCDEFGHIJ012345";

std::vector<std::string> places(const FakeImage& image) {
  const FactsOf facts(image);
  const auto& secrets = facts->secrets();
  REQUIRE(secrets.is_known());
  std::vector<std::string> all;
  for (const Secret& one : secrets.value()) all.push_back(one.place + (one.removed_later ? " (removed)" : ""));
  std::sort(all.begin(), all.end());
  return all;
}
using List = std::vector<std::string>;

SparkNeeds spark_of(const FakeImage& image, Depth depth = Depth::full) {
  const FactsOf facts(image, depth);
  REQUIRE(facts->spark().is_known());
  return facts->spark().value();
}
bool has(const Fact<bool>& fact) { return fact.is_known() && fact.value(); }

FakeImage spark_image(const Files& more = {}) {
  FakeImage image;
  image.layer(debian_files() +
              Files{file("etc/passwd", "root:x:0:0::/root:/bin/sh\nspark:x:1099:1099::/home/spark:/bin/bash\n"),
                    file("etc/group", "root:x:0:\nspark:x:1099:\n"), folder("home/spark"),
                    file("usr/bin/ps", "\x7f", 0755), file("usr/bin/tini", "\x7f", 0755)} +
              more);
  return image;
}

}  // namespace

TEST_CASE("Secrets in files, also in those that a later layer deletes", "[secrets]") {
  FakeImage image;
  image.layer(debian_files() + Files{file("root/.ssh/id_rsa", key(), 0600), file("app/main.py", "print()")});
  CHECK(places(image) == List{"/root/.ssh/id_rsa"});
  image.layer({file("root/.wh..ssh")});
  CHECK(places(image) == List{"/root/.ssh/id_rsa (removed)"});
  image.layer({file("root/.ssh/id_rsa", key("RSA PRIVATE KEY"), 0600)});
  CHECK(places(image) == List{"/root/.ssh/id_rsa"});
  FakeImage healthy;
  healthy.layer(debian_files() +
                Files{file("root/.ssh/id_rsa.pub", "ssh-rsa AAAA"), file("etc/ssl/certs/ca.pem", key("CERTIFICATE"))});
  CHECK(places(healthy).empty());
}

TEST_CASE("What everybody has is no secret", "[secrets]") {
  const std::string site = "usr/local/lib/python3.11/site-packages/";
  const Files wheel = {
      file(site + "tls/server.pem", key("PRIVATE KEY")),
      file(site + "tls-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tls\nVersion: 1.0\n"),
      file(site + "tls-1.0.dist-info/RECORD", "tls/server.pem,sha256=x,1\ntls-1.0.dist-info/RECORD,,\n")};
  FakeImage image;
  image.layer(wheel + Files{file(site + "tls/mine.pem", key("PRIVATE KEY"))});
  CHECK(places(image) == List{"/" + site + "tls/mine.pem"});
  image.layer({file(site + ".wh.tls"), file(site + ".wh.tls-1.0.dist-info")});  // with its RECORD
  CHECK(places(image) == List{"/" + site + "tls/mine.pem (removed)"});

  FakeImage debian;
  debian.layer({file("var/lib/dpkg/info/demo.list", "/.\n/etc\n/etc/demo\n/etc/demo/demo.key\n/lib/demo/x.key\n"),
                file("etc/demo/demo.key", key("PRIVATE KEY")), file("usr/lib/demo/x.key", key("PRIVATE KEY")),
                file("etc/demo/other.key", key("PRIVATE KEY")),
                file("etc/ssl/private/ssl-cert-snakeoil.key", key("PRIVATE KEY")),
                file("usr/share/doc/demo/examples/a.key", key("PRIVATE KEY")),
                file("opt/conda/lib/python3.11/test/certdata/keycert.pem", key("PRIVATE KEY")),
                file("root/google-cloud-sdk/platform/gsutil/third_party/urllib3/dummyserver/certs/server.key",
                     key("PRIVATE KEY")),
                file("opt/tensorflow/core/platform/testdata/account.pem", key("PRIVATE KEY")),
                file("app/tests/a.key", key("PRIVATE KEY"))});
  CHECK(places(debian) == List{"/app/tests/a.key", "/etc/demo/other.key"});
}

TEST_CASE("Secrets in the environment and in the history", "[secrets]") {
  FakeImage image;
  image.layer(debian_files());
  image.env("PATH", "/usr/bin")
      .env("GPG_KEY", "A035C8C19219BA821ECEA86B64E628F8D684696D")
      .env("TOKENIZERS_PARALLELISM", "false");
  image.env("GITHUB_TOKEN_FILE", "/run/secrets/token").env("SECRET_NAME", "$OTHER");
  image.image_config.history = {{"/bin/sh -c pip install hf_transfer==0.1.8 sentence-transformers", false},
                                {"RUN /bin/sh -c echo sha256=0123 # buildkit", false}};
  CHECK(places(image).empty());
  image.env("API_TOKEN", "c0ffee-c0ffee-1");
  image.image_config.history.push_back({"ENV API_TOKEN=c0ffee-c0ffee-1", true});
  image.image_config.history.push_back({"|1 PIP_TOKEN=" + token + " /bin/sh -c pip install x", false});
  image.image_config.history.push_back(
      {"RUN /bin/sh -c git clone https://a:" + token + "@example.com/x # buildkit", false});
  const FactsOf facts(image);
  CHECK(places(image) == List{"Env.API_TOKEN", "PIP_TOKEN in history 4", "history 5"});
  for (const Secret& one : facts->secrets().value()) {
    CHECK(one.kind.find(token) == std::string::npos);
    CHECK(one.place.find(token) == std::string::npos);
  }
}

TEST_CASE("is_secret_setting", "[secrets]") {
  CHECK(is_secret_setting("AWS_SECRET_ACCESS_KEY", "abcdefghij/ABCDEFGHIJ0123456789+abcdefgh"));
  CHECK(is_secret_setting("DB_PASSWORD", "hunter2hunter"));
  CHECK(is_secret_setting("ANY", token));
  CHECK_FALSE(is_secret_setting("DB_PASSWORD", "changeme"));
  CHECK_FALSE(is_secret_setting("DB_PASSWORD_FILE", "secretfile"));
  CHECK_FALSE(is_secret_setting("TOKEN_URL", "https://example.com/token"));
  CHECK_FALSE(is_secret_setting("HF_HUB_ENABLE_HF_TRANSFER", "1"));
}

TEST_CASE("What shows settings and commands leaves secrets out", "[secrets]") {
  CHECK(shown_setting("API_TOKEN", "c0ffee-c0ffee-1") == "***");
  CHECK(shown_setting("PATH", "/usr/bin") == "/usr/bin");
  CHECK(without_secrets("|1 A=b API_TOKEN=c0ffee-c0ffee-1 /bin/sh -c pip  install x") ==
        "|1 A=b API_TOKEN=*** /bin/sh -c pip  install x");
  CHECK(without_secrets("git clone https://a:" + token + "@example.com/x ;") == "git clone *** ;");
  CHECK(without_secrets("echo '" + key() + "'") == "***");
  CHECK(without_secrets("").empty());
}

TEST_CASE("Waste is what later layers hide, and costs no reading", "[waste]") {
  FakeImage image;
  image.layer({file("a/large", std::string(300'000, 'x')), file("a/small", std::string(1'000, 'x')),
               file("b/kept", std::string(5'000, 'x'))});
  image.layer({file("a/.wh.large"), file("b/new", std::string(7'000, 'x'))});
  image.layer({file("a/small", std::string(2'000, 'y'))});
  const FactsOf facts(image);
  CHECK(facts->waste().is_unknown());
  CHECK(facts->image_size()->unpacked == 0);
  CHECK(facts->image_size()->compressed > 300'000);
  CHECK(facts.root.cost().layers_read == 0);

  FactsOf read(image);
  read.root.read_all();
  REQUIRE(read->waste().is_known());
  CHECK(read->waste()->bytes == 301'000);
  REQUIRE(read->waste()->worst.size() == 1);
  CHECK(read->waste()->worst.front().path == "/a/");  // several of one folder
  CHECK(read->waste()->worst.front().bytes == 301'000);
  CHECK(read->image_size()->unpacked == 315'000);

  FakeImage clean;
  clean.layer({file("a/x", "1")}).layer({file("a/y", "2")});
  FactsOf other(clean);
  other.root.read_all();
  CHECK(other->waste()->bytes == 0);
}

TEST_CASE("What Spark asks for is found in an image", "[spark]") {
  const SparkNeeds healthy = spark_of(spark_image());
  CHECK(has(healthy.procps));
  CHECK(has(healthy.tini));
  CHECK_FALSE(has(healthy.spark));
  CHECK_FALSE(has(healthy.java));
  REQUIRE(healthy.user_spark.is_known());
  CHECK(healthy.user_spark->uid == 1099);
  CHECK(healthy.home_exists);
  REQUIRE(healthy.group_spark.is_known());
  CHECK(healthy.group_spark.value() == 1099);

  FakeImage bare;
  bare.layer(debian_files());
  const SparkNeeds none = spark_of(bare);
  CHECK_FALSE(has(none.procps));
  CHECK(none.procps.is_known());
  CHECK(none.user_spark.is_absent());
  CHECK(none.group_spark.is_absent());

  FakeImage busybox;
  busybox.layer({file("bin/busybox", "\x7f", 0755), soft_link("bin/ps", "busybox")});
  CHECK_FALSE(has(spark_of(busybox).procps));
  CHECK_FALSE(has(spark_of(spark_image().layer({file("usr/bin/.wh.tini")})).tini));
  CHECK_FALSE(spark_of(spark_image().layer({file("home/.wh.spark")})).home_exists);
}

TEST_CASE("Spark and Java in an image; jars of one's own are no Spark", "[spark]") {
  CHECK_FALSE(
      has(spark_of(spark_image({file("opt/spark/jars/spark-bigquery-with-dependencies_2.12-0.22.2.jar", "x")})).spark));
  CHECK(has(spark_of(spark_image({file("opt/spark/jars/spark-core_2.12-3.5.1.jar", "x")})).spark));
  CHECK(has(spark_of(spark_image({file("opt/spark/bin/spark-submit", "#!/bin/sh", 0755)})).spark));
  CHECK(has(spark_of(spark_image(python_files("/usr/local", "3.11.9") +
                                 distribution_files("usr/local/lib/python3.11/site-packages", "pyspark", "3.5.1")))
                .spark));
  CHECK(has(spark_of(spark_image({file("usr/lib/jvm/java-17/bin/java", "x", 0755)})).java));
  CHECK(spark_of(spark_image(), Depth::contract).spark.is_unknown());
  CHECK(has(spark_of(spark_image(), Depth::contract).tini));
}

TEST_CASE("The launcher of Flex Templates", "[flex]") {
  FakeImage image;
  image.layer({file("opt/google/dataflow/python_template_launcher", "\x7f", 0755)});
  REQUIRE(FactsOf(image)->flex_launcher().is_known());
  CHECK(FactsOf(image)->flex_launcher()->path == "/opt/google/dataflow/python_template_launcher");
  image.layer({file("opt/google/dataflow/.wh.python_template_launcher")});
  CHECK(FactsOf(image)->flex_launcher().is_absent());
  image.layer({soft_link("opt/google/dataflow/yaml_template_launcher", "gone")});
  CHECK(FactsOf(image)->flex_launcher().is_absent());
}

TEST_CASE("System packages, and what they provide", "[packages]") {
  CHECK(parse_dpkg_provides("Package: mawk\nProvides: awk, nawk (= 1)\nPackage: x\nDepends: y\nprovides: a,\n b\n") ==
        List{"awk", "nawk", "a", "b"});
  FakeImage image;
  image.layer(
      {file("var/lib/dpkg/status", "Package: mawk\nStatus: install ok installed\nVersion: 1.3\nProvides: awk\n\n")});
  const FactsOf facts(image);
  REQUIRE(facts->system_packages().is_known());
  CHECK(facts->system_packages().value() == std::map<std::string, std::string>{{"awk", ""}, {"mawk", "1.3"}});
  FakeImage scratch;
  scratch.layer({file("a", "b")});
  CHECK(FactsOf(scratch)->system_packages().is_absent());
}
