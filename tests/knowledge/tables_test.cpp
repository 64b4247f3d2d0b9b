// The tables of the repository, row by row: what a reviewer would look at.
#include "knowledge/tables.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "base/text.hpp"
#include "support.hpp"

using namespace imgforge;

namespace {

Version version(std::string_view text) { return *Version::parse(text); }
PythonMinor minor(std::string_view text) { return *PythonMinor::parse(text); }

// Loads every file of the repository, which the build did already: here to reach the rows themselves.
void load_all(Knowledge::Tables& tables) {
  std::vector<Diagnostic> diagnostics;
  for (const std::string& name : knowledge::table_names()) {
    knowledge::load_table(test::table_file(name), name + ".yaml", name, tables, diagnostics);
  }
  for (const Diagnostic& diagnostic : diagnostics) FAIL_CHECK(to_string(diagnostic));
  for (const Diagnostic& diagnostic : knowledge::cross_check(tables)) FAIL_CHECK(to_string(diagnostic));
}

}  // namespace

TEST_CASE("every table says what it is about, and every row who says so") {
  Knowledge::Tables tables;
  load_all(tables);
  Knowledge::Tables::for_each_spec([&]<class RowType>(const knowledge::TableSpec<RowType>& spec) {
    const auto& table = tables.get<RowType>();
    INFO(spec.name);
    CHECK(table.name == spec.name);
    CHECK(table.about.size() > 20);
    CHECK(table.as_of >= *Date::parse("2026-11-30"));
    CHECK_FALSE(table.rows.empty());
    REQUIRE(table.rows.size() == table.places.size());
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const Row& row = table.rows[i];
      INFO(to_string(table.places[i]));
      CHECK(table.places[i].line != 0);
      CHECK(row.source.size() >= 10);
      // A row from memory says that it is one, and is never more than a hint.
      if (row.source.find("memory") != std::string::npos) CHECK(row.unverified);
    }
  });
}

TEST_CASE("the embedded tables are those of the files") {
  Knowledge::Tables files;
  load_all(files);
  const Knowledge embedded = Knowledge::embedded();
  CHECK(embedded.beam_releases().size() == files.get<BeamRelease>().rows.size());
  CHECK(embedded.python_releases().size() == files.get<PythonRelease>().rows.size());
  CHECK(embedded.linux_releases().size() == files.get<LinuxRelease>().rows.size());
  REQUIRE(embedded.tpus().size() == files.get<TpuType>().rows.size());
  for (std::size_t i = 0; i < embedded.tpus().size(); ++i) {
    CHECK(embedded.tpus()[i].env == files.get<TpuType>().rows[i].env);  // in the order of the file
  }
  for (const BeamImagePins& row : files.get<BeamImagePins>().rows) {
    const BeamImagePins* found = embedded.beam_pins(row.beam, row.python);
    REQUIRE(found != nullptr);
    CHECK(found->packages == row.packages);
    CHECK(found->source == row.source);
  }
}

TEST_CASE("Beam releases: oldest first, dated, on a Debian, for at least three Pythons") {
  const Knowledge knowledge = Knowledge::embedded();
  const auto& releases = knowledge.beam_releases();
  CHECK(releases.size() == 60);
  REQUIRE(knowledge.beam_complete());
  CHECK(knowledge.beam_complete()->from == releases.front().version);
  CHECK(knowledge.beam_complete()->through == releases.back().version);
  const std::set<std::string> debians = {"stretch", "buster", "bullseye", "bookworm"};
  for (std::size_t i = 0; i < releases.size(); ++i) {
    const BeamRelease& release = releases[i];
    INFO(release.version.to_string());
    CHECK(debians.count(release.image_base) == 1);
    CHECK(release.pythons.size() >= 3);
    CHECK(release.released >= *Date::parse("2020-04-15"));
    const auto specifiers = SpecifierSet::parse(release.requires_python);
    REQUIRE(specifiers);
    // There never was an upper bound: what is too new is not kept out by pip.
    CHECK(specifiers->contains(version("3.99")));
    if (i == 0) continue;
    CHECK(releases[i - 1].version < release.version);
    CHECK(releases[i - 1].released <= release.released);
    CHECK(releases[i - 1].pythons.back() <= release.pythons.back());
  }
}

TEST_CASE("Beam and Python: the borders of the change log") {
  const Knowledge knowledge = Knowledge::embedded();
  const auto supports = [&](std::string_view beam, std::string_view python) {
    const BeamRelease* release = knowledge.beam_release(version(beam));
    REQUIRE(release != nullptr);
    return std::count(release->pythons.begin(), release->pythons.end(), minor(python)) == 1;
  };
  struct Border {
    const char* before;
    const char* from;
    const char* python;
    bool added;
  };
  for (const Border& border : {Border{"2.22.0", "2.23.0", "3.8", true}, Border{"2.24.0", "2.25.0", "2.7", false},
                               Border{"2.36.0", "2.37.0", "3.9", true}, Border{"2.38.0", "2.39.0", "3.6", false},
                               Border{"2.42.0", "2.43.0", "3.10", true}, Border{"2.46.0", "2.47.0", "3.11", true},
                               Border{"2.48.0", "2.49.0", "3.7", false}, Border{"2.56.0", "2.57.0", "3.12", true},
                               Border{"2.60.0", "2.61.0", "3.8", false}, Border{"2.65.0", "2.66.0", "3.13", true},
                               Border{"2.69.0", "2.70.0", "3.9", false}, Border{"2.72.0", "2.73.0", "3.14", true}}) {
    INFO(border.from << " and Python " << border.python);
    CHECK(supports(border.before, border.python) == !border.added);
    CHECK(supports(border.from, border.python) == border.added);
  }
}

TEST_CASE("TPUs: chips agree with the topology, and the six variables with the row") {
  const Knowledge knowledge = Knowledge::embedded();
  CHECK(knowledge.tpus().size() == 7);
  for (const TpuType& tpu : knowledge.tpus()) {
    INFO(tpu.type << " " << tpu.topology);
    unsigned chips = 1;
    for (const std::string_view side : split(tpu.topology, 'x')) chips *= static_cast<unsigned>(*to_number(side));
    CHECK(tpu.chips == chips);
    CHECK(tpu.env.size() == 6);
    std::map<std::string, std::string> env(tpu.env.begin(), tpu.env.end());
    CHECK(env["TPU_SKIP_MDS_QUERY"] == "1");
    CHECK(env["TPU_HOST_BOUNDS"] == "1,1,1");
    CHECK(env["TPU_WORKER_HOSTNAMES"] == "localhost");
    CHECK(env["TPU_WORKER_ID"] == "0");
    unsigned bounds = 1;
    for (const std::string_view side : split(env["TPU_CHIPS_PER_HOST_BOUNDS"], ',')) {
      bounds *= static_cast<unsigned>(*to_number(side));
    }
    CHECK(bounds == tpu.chips);
    const std::string machine_end = "-" + std::to_string(tpu.chips) + "t";
    CHECK(tpu.machine_type.substr(tpu.machine_type.size() - machine_end.size()) == machine_end);
  }
  REQUIRE(knowledge.tpu("tpu-v5p-slice", "2x2x1") != nullptr);
  CHECK(knowledge.tpu("tpu-v5p-slice", "2x2x1")->env[4] ==
        std::pair<std::string, std::string>("TPU_ACCELERATOR_TYPE", "v5p-8"));
  CHECK(knowledge.tpu("tpu-v5p-slice", "2x2") == nullptr);
  CHECK(knowledge.tpu("tpu-v4-podslice", "1x1") == nullptr);
}

TEST_CASE("Python: ends of life") {
  const Knowledge knowledge = Knowledge::embedded();
  for (const PythonRelease& release : knowledge.python_releases()) {
    INFO(release.minor.to_string());
    REQUIRE(release.end_of_life);
    REQUIRE(release.released);
    if (release.minor.major == 3) CHECK(release.end_of_life->year() - release.released->year() == 5);
  }
  CHECK(*knowledge.python_release(minor("3.8"))->end_of_life == *Date::parse("2024-10-07"));
  CHECK(*knowledge.python_release(minor("3.10"))->end_of_life == *Date::parse("2026-10-31"));
  CHECK(knowledge.python_release(minor("3.99")) == nullptr);
}
