#include <catch2/catch.hpp>

#include "dockerfile/dockerfile.hpp"
#include "dockerfile/parsed.hpp"

namespace imgforge::dockerfile {

using Texts = std::vector<std::string>;

namespace {

// One line behind a FROM that is wrong, what is said, and the line one fact apart that is right.
struct Row {
  std::string bad;
  std::string fault;
  std::string good;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    INFO(row.bad);
    CHECK(faults("FROM a\n" + row.bad + "\n") == Texts{row.fault});
    CHECK_FALSE(parse_dockerfile("FROM a\n" + row.bad + "\n", "f").dockerfile);
    INFO(row.good);
    CHECK(faults("FROM a\n" + row.good + "\n").empty());
    CHECK(parse_dockerfile("FROM a\n" + row.good + "\n", "f").dockerfile);
  }
}

}  // namespace

TEST_CASE("faults: unknown instructions") {
  check({
      {"RUM x", "2:1 unknown instruction: RUM (did you mean RUN?)", "RUN x"},
      {"  entrypont x", "2:3 unknown instruction: entrypont (did you mean entrypoint?)", "  entrypoint x"},
      {"Form b", "2:1 unknown instruction: Form (did you mean from?)", "From b"},
      {"FOOBAR x", "2:1 unknown instruction: FOOBAR", "USER x"},
      {"&& x", "2:1 unknown instruction: &&", "RUN a \\\n && x"},
      {"RUN a \\\\\nb", "3:1 unknown instruction: b", "RUN a \\\nb"},
      {"\\", "2:1 unknown instruction: ", "\\\nRUN x"},
      {"USER\u00a0x", "2:1 unknown instruction: USER\u00a0x", "USER x"},
      {"RUN: x", "2:1 unknown instruction: RUN: (did you mean RUN?)", "RUN : x"},
  });
  const Diagnostic lost = parse_dockerfile("FROM a\nRUN x\n  && y\n", "f").diagnostics.at(0);
  CHECK(lost.line_text == "  && y");
  CHECK(lost.hint.find("does not end in \"\\\"") != std::string::npos);
  CHECK(at(lost.place) == "3:3");
}

TEST_CASE("faults: FROM") {
  const std::string number = "FROM requires either one or three arguments";
  check({
      {"FROM", "2:1 " + number, "FROM b"},
      {"FROM b c", "2:1 " + number, "FROM b AS c"},
      {"FROM b as", "2:1 " + number, "FROM b as c"},
      {"FROM b # c", "2:1 " + number, "# c\nFROM b"},
      {"FROM b as c d", "2:1 " + number, "FROM b as cd"},
      {"FROM b AS 1c", "2:11 invalid name for build stage: \"1c\", name can't start with a number or contain symbols",
       "FROM b AS c1"},
      {"FROM b AS a/b", "2:11 invalid name for build stage: \"a/b\", name can't start with a number or contain symbols",
       "FROM b AS a-b"},
      {"FROM b AS $C", "2:11 invalid name for build stage: \"$C\", name can't start with a number or contain symbols",
       "FROM $C AS b"},
      {"FROM --platfrom=x b", "2:6 unknown flag: --platfrom (did you mean platform?)", "FROM --platform=x b"},
      {"FROM --platform b", "2:6 missing a value on flag: --platform", "FROM --platform= b"},
      {"FROM ${B", "2:6 syntax error: missing '}'", "FROM ${B}"},
  });
}

TEST_CASE("faults: ENV, LABEL and ARG") {
  const auto sign = [](const std::string& word) {
    return "Syntax error - can't find = in " + word + ". Must be of the form: name=value";
  };
  check({
      {"ENV", "2:1 ENV requires at least one argument", "ENV A=1"},
      {"ENV A", "2:5 ENV must have two arguments", "ENV A 1"},
      {"LABEL a", "2:7 LABEL must have two arguments", "LABEL a b"},
      {"ENV A=1 B", "2:9 " + sign("\"B\""), "ENV A=1 B="},
      {"ENV A=1 \\\n  B \"c d\"", "3:3 " + sign("\"B\""), "ENV A=1 \\\n  B=\"c d\""},
      {"ENV A=b c", "2:9 " + sign("\"c\""), "ENV A=\"b c\""},
      {"LABEL a=b # c", "2:11 " + sign("\"#\""), "LABEL a=b"},
      {"LABEL a=b \"c\"", "2:11 " + sign("\"\\\"c\\\"\""), "LABEL a=b \"c\"=d"},
      {"ENV A=1 =2", "2:9 ENV names can not be blank", "ENV A=1 B=2"},
      {"ENV =2", "2:5 ENV names can not be blank", "ENV A=2"},
      {"ARG", "2:1 ARG requires at least one argument", "ARG A"},
      {"ARG =1", "2:5 ARG names can not be blank", "ARG A=1"},
      {"ENV A=\"1", "2:7 unexpected end of statement while looking for matching double-quote", "ENV A=\"1\""},
      {"ENV A it's", "2:7 unexpected end of statement while looking for matching single-quote", "ENV A it\\'s"},
      {"ENV A=1 \\\n    B=${C", "3:7 syntax error: missing '}'", "ENV A=1 \\\n    B=${C}"},
      {"ARG A=${B:=1}", "2:7 unsupported modifier (:=) in substitution", "ARG A=${B:-1}"},
      {"ENV A=${}", "2:7 syntax error: bad substitution", "ENV A='${}'"},
      {"ENV --x A=1", "2:5 unknown flag: --x", "ENV A=--x"},
  });
  // Whether a variable is set is not known here.
  CHECK(faults("FROM a\nENV A=\"${B:?is needed}\" C=${B#\\x}\n").empty());
}

TEST_CASE("faults: COPY and ADD") {
  const std::string one =
      " requires at least two arguments, but only one was provided. Destination could not be determined";
  check({
      {"COPY", "2:1 COPY" + one, "COPY a b"},
      {"COPY a", "2:1 COPY" + one, "COPY a ."},
      {"ADD [\"a\"]", "2:1 ADD" + one, "ADD [\"a\", \"b\"]"},
      {"COPY [1, 2]", "2:6 when using JSON array syntax, arrays must be comprised of strings only",
       "COPY [\"1\", \"2\"]"},
      {"COPY --form=x a b", "2:6 unknown flag: --form (did you mean from?)", "COPY --from=x a b"},
      {"ADD --from=x a b", "2:5 unknown flag: --from", "COPY --from=x a b"},
      {"COPY --from a b", "2:6 missing a value on flag: --from", "COPY --from=a a b"},
      {"COPY --from=x --from=y a b", "2:15 duplicate flag specified: --from", "COPY --exclude=x --exclude=y a b"},
      {"COPY --link=yes a b", "2:6 expecting boolean value for flag --link, not: yes", "COPY --link=true a b"},
      {"COPY --link= a b", "2:6 missing a value on flag: --link", "COPY --link a b"},
      {"COPY a <<EOF\nEOF", "2:8 COPY cannot accept a heredoc as a destination", "COPY <<EOF a\nEOF"},
      {"COPY \"a b\" /c", "2:6 unexpected end of statement while looking for matching double-quote",
       "COPY [\"a b\", \"/c\"]"},
      {"COPY [\"it's\", \"/c\"]", "2:7 unexpected end of statement while looking for matching single-quote",
       "COPY [\"its\", \"/c\"]"},
  });
  // What is wrong with it in another way is a rule's matter.
  CHECK(faults("FROM a\nCOPY --from=$X a b\n").empty());
}

TEST_CASE("faults: RUN and its flags") {
  check({
      {"RUN [1]", "2:5 when using JSON array syntax, arrays must be comprised of strings only", "RUN [\"1\"]"},
      {"CMD [\"a\", [\"b\"]]", "2:5 when using JSON array syntax, arrays must be comprised of strings only",
       "CMD [\"a\", \"b\"]"},
      {"ENTRYPOINT [null]", "2:12 when using JSON array syntax, arrays must be comprised of strings only",
       "ENTRYPOINT [\"null\"]"},
      {"RUN --mont=type=cache,target=/x y", "2:5 unknown flag: --mont (did you mean mount?)",
       "RUN --mount=type=cache,target=/x y"},
      {"RUN --mount=type=cach,target=/x y", "2:5 unsupported mount type \"cach\" (did you mean cache?)",
       "RUN --mount=type=$T,target=/x y"},
      {"RUN --mount=type=bind,form=x y", "2:5 unexpected key 'form' in 'form=x' (did you mean from?)",
       "RUN --mount=type=bind,from=x y"},
      {"RUN --mount=from=$X,target=/x y", "2:5 'from' doesn't support variable expansion, define alias stage instead",
       "RUN --mount=from=x,target=$X y"},
      {"RUN --mount=type=cache,target y", "2:5 invalid field 'target' must be a key=value pair",
       "RUN --mount=type=bind,target=/x,rw y"},
      {"RUN --network=bridge y", "2:5 invalid network mode \"bridge\"", "RUN --network=host y"},
      {"RUN --security=none y", "2:5 security \"none\" is not valid", "RUN --security=insecure y"},
      {"RUN --mount y", "2:5 missing a value on flag: --mount", "RUN y --mount"},
      {"CMD --x", "2:5 unknown flag: --x", "CMD x --x"},
      {"ENTRYPOINT --x", "2:12 unknown flag: --x", "ENTRYPOINT [\"--x\"]"},
  });
}

TEST_CASE("faults: HEALTHCHECK") {
  check({
      {"HEALTHCHECK", "2:1 HEALTHCHECK requires at least one argument", "HEALTHCHECK NONE"},
      {"HEALTHCHECK --retries=1", "2:1 HEALTHCHECK requires at least one argument", "HEALTHCHECK --retries=1 CMD x"},
      {"HEALTHCHECK NONE x", "2:18 HEALTHCHECK NONE takes no arguments", "HEALTHCHECK none"},
      {"HEALTHCHECK CMD", "2:13 Missing command after HEALTHCHECK CMD", "HEALTHCHECK CMD x"},
      {"HEALTHCHECK CMD []", "2:13 Missing command after HEALTHCHECK CMD", "HEALTHCHECK CMD [\"x\"]"},
      {"HEALTHCHECK curl x", "2:13 Unknown type \"CURL\" in HEALTHCHECK (try CMD)", "HEALTHCHECK cmd curl x"},
      {"HEALTHCHECK --interval=5 CMD x", "2:13 time: missing unit in duration \"5\"",
       "HEALTHCHECK --interval=5s CMD x"},
      {"HEALTHCHECK --timeout=5d CMD x", "2:13 time: unknown unit \"d\" in duration \"5d\"",
       "HEALTHCHECK --timeout=5h CMD x"},
      {"HEALTHCHECK --timeout=soon CMD x", "2:13 time: invalid duration \"soon\"", "HEALTHCHECK --timeout=.5s CMD x"},
      {"HEALTHCHECK --interval=10us CMD x", "2:13 Interval \"interval\" cannot be less than 1ms",
       "HEALTHCHECK --interval=1ms CMD x"},
      {"HEALTHCHECK --retries=-1 CMD x", "2:13 --retries cannot be negative (-1)", "HEALTHCHECK --retries=1 CMD x"},
      {"HEALTHCHECK --retries=x CMD x", "2:13 strconv.ParseInt: parsing \"x\": invalid syntax",
       "HEALTHCHECK --retries= CMD x"},
      {"HEALTHCHECK --every=1s CMD x", "2:13 unknown flag: --every", "HEALTHCHECK --start-period=1s CMD x"},
  });
}

TEST_CASE("faults: the other instructions") {
  check({
      {"SHELL", "2:1 SHELL requires at least one argument", "SHELL [\"sh\"]"},
      {"SHELL []", "2:1 SHELL requires at least one argument", "SHELL [\"\"]"},
      {"SHELL /bin/bash -c", "2:7 SHELL requires the arguments to be in JSON form", "SHELL [\"/bin/bash\", \"-c\"]"},
      {"SHELL ['sh']", "2:7 SHELL requires the arguments to be in JSON form", "SHELL [\"sh\"]"},
      {"USER", "2:1 USER requires exactly one argument", "USER a"},
      {"WORKDIR", "2:1 WORKDIR requires exactly one argument", "WORKDIR /"},
      {"WORKDIR \"/a", "2:9 unexpected end of statement while looking for matching double-quote", "WORKDIR \"/a\""},
      {"STOPSIGNAL", "2:1 STOPSIGNAL requires exactly one argument", "STOPSIGNAL 9"},
      {"MAINTAINER", "2:1 MAINTAINER requires exactly one argument", "MAINTAINER it's me"},
      {"EXPOSE", "2:1 EXPOSE requires at least one argument", "EXPOSE 80"},
      {"EXPOSE 80 # web", "2:11 invalid containerPort: #", "# web\nEXPOSE 80"},
      {"EXPOSE http", "2:8 invalid containerPort: http", "EXPOSE $HTTP"},
      {"EXPOSE 80/http", "2:8 invalid port: \"80/http\": invalid proto: http", "EXPOSE 80/tcp"},
      {"EXPOSE 70000", "2:8 invalid containerPort: 70000", "EXPOSE 65535"},
      {"EXPOSE 90-80", "2:8 invalid containerPort: 90-80", "EXPOSE 80-90"},
      {"VOLUME", "2:1 VOLUME requires at least one argument", "VOLUME /a"},
      {"VOLUME []", "2:1 VOLUME requires at least one argument", "VOLUME [\"/a\"]"},
      {"VOLUME [\"/a\", \" \"]", "2:15 VOLUME specified can not be an empty string", "VOLUME [\"/a\", \"b\"]"},
      {"ONBUILD", "2:1 ONBUILD requires at least one argument", "ONBUILD RUN x"},
      {"ONBUILD ONBUILD RUN x", "2:9 Chaining ONBUILD via `ONBUILD ONBUILD` isn't allowed", "ONBUILD USER x"},
      {"ONBUILD FROM x", "2:9 FROM isn't allowed as an ONBUILD trigger", "ONBUILD COPY x y"},
      {"onbuild maintainer x", "2:9 MAINTAINER isn't allowed as an ONBUILD trigger", "onbuild label x=y"},
      {"ONBUILD ENV A", "2:13 ENV must have two arguments", "ONBUILD ENV A b"},
  });
}

TEST_CASE("faults: an ONBUILD whose trigger will fail builds today") {
  const DockerfileParse parse = parse_dockerfile("FROM a\nONBUILD RUM x\nONBUILD COPY a\nONBUILD USER x\n", "f");
  REQUIRE(parse.dockerfile);
  CHECK_FALSE(parse.dockerfile->instructions[1].trigger);
  CHECK_FALSE(parse.dockerfile->instructions[2].trigger);
  CHECK(parse.dockerfile->instructions[3].trigger);
  CHECK(parse.diagnostics.size() == 2);
  CHECK_FALSE(has_errors(parse.diagnostics));
}

TEST_CASE("faults: of the whole file") {
  CHECK(faults("") == Texts{"1:1 file with no instructions"});
  CHECK(faults("\n# only\n\n") == Texts{"1:1 file with no instructions"});
  CHECK(faults("RUN x\nUSER y\nFROM a\n") == Texts{"1:1 no build stage in current context"});
  CHECK(faults("ARG A\nENV B=1\nFROM a\n") == Texts{"2:1 no build stage in current context"});
  CHECK(faults("ARG A\nFROM a\n").empty());
  CHECK(faults("ARG A\nARG B\n") == Texts{"2:1 dockerfile contains no stages to build"});
  CHECK(faults("FROM a AS x\nFROM b AS X\n") ==
        Texts{"warning 2:11 Duplicate stage name \"x\", stage names should be unique"});
  CHECK(parse_dockerfile("FROM a AS x\nFROM b AS X\n", "f").dockerfile);
}

TEST_CASE("faults: all at once, each with its line") {
  const DockerfileParse parse =
      parse_dockerfile("FROM a b\nRUN x\r\n  USER\r\nENV A\nCOPY a\nQUUX\nXYZZY_\nCDM x\nRUN y\nPLUGH\n", "d/f");
  CHECK_FALSE(parse.dockerfile);
  CHECK(
      faults("FROM a b\nRUN x\r\n  USER\r\nENV A\nCOPY a\nQUUX\nXYZZY_\nCDM x\nRUN y\nPLUGH\n") ==
      Texts{"1:1 FROM requires either one or three arguments", "3:3 USER requires exactly one argument",
            "4:5 ENV must have two arguments",
            "5:1 COPY requires at least two arguments, but only one was provided. Destination could not be determined",
            "6:1 unknown instruction: QUUX", "8:1 unknown instruction: CDM (did you mean CMD?)",
            "10:1 unknown instruction: PLUGH"});
  CHECK(parse.diagnostics[0].place.file == "d/f");
  CHECK(parse.diagnostics[1].line_text == "  USER");
}

TEST_CASE("faults: bounds") {
  const std::string longest(65'535 - 4, 'x');
  CHECK(faults("FROM a\nRUN " + longest + "\nUSER b").empty());
  CHECK(faults("FROM a\nRUN " + longest + "x\nUSER\n") ==
        Texts{"2:1 dockerfile line greater than max allowed size of 65535"});
  CHECK(faults("FROM a\nRUN <<EOF\n" + longest + "12345\nEOF\n").front() ==
        "3:1 dockerfile line greater than max allowed size of 65535");
  CHECK(faults(std::string((4 << 20) + 1, '\n')).size() == 1);

  std::string many = "FROM a\n";
  for (int i = 0; i < 20'000; ++i) many += "USER b\n";
  CHECK(faults(many) == Texts{"20001:1 a Dockerfile has at most 20000 instructions"});

  std::string heredocs = "FROM a\n";
  for (int i = 0; i < 1'001; ++i) heredocs += "RUN <<A\nA\n";
  CHECK(faults(heredocs) == Texts{"2002:1 more than 1000 heredocs"});

  std::string faulty = "FROM a\n";
  for (int i = 0; i < 500; ++i) faulty += "USER\n";
  CHECK(faults(faulty).size() == 100);

  std::string words = "FROM a\nENV";
  for (int i = 0; i < 20'001; ++i) words += " \\\n A=1";
  CHECK(faults(words) == Texts{"2:1 ENV has more than 20000 arguments"});
}

}  // namespace imgforge::dockerfile
