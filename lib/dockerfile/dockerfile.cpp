#include "dockerfile/dockerfile.hpp"

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "dockerfile/heredoc_sign.hpp"
#include "dockerfile/instructions.hpp"
#include "dockerfile/lines.hpp"
#include "dockerfile/text_file.hpp"

namespace imgforge::dockerfile {
namespace {

constexpr std::size_t longest_text = 4 << 20;
constexpr std::size_t most_instructions = 20'000;

std::size_t count_errors(const std::vector<Diagnostic>& diagnostics) {
  return static_cast<std::size_t>(
      std::count_if(diagnostics.begin(), diagnostics.end(),
                    [](const Diagnostic& diagnostic) { return diagnostic.level == Diagnostic::Level::error; }));
}

// Gives instructions to their stages.
class StageBuilder {
 public:
  StageBuilder(TextFile& file, Dockerfile& dockerfile) : file_(file), dockerfile_(dockerfile) {}

  void add(Instruction instruction) {
    const std::size_t position = dockerfile_.instructions.size();
    if (instruction.kind == Instruction::Kind::from) {
      Stage stage{position, position, {}};
      if (instruction.words.size() == 3) stage.name = lower(instruction.words[2].text);
      if (!stage.name.empty() && !names_.emplace(stage.name, position).second) {
        file_.report(instruction.words[2].place,
                     "Duplicate stage name " + quoted(stage.name) + ", stage names should be unique", {},
                     Diagnostic::Level::warning);
      }
      dockerfile_.stages.push_back(std::move(stage));
    } else if (dockerfile_.stages.empty() && instruction.kind != Instruction::Kind::arg && !outside_reported_) {
      outside_reported_ = true;  // what follows is outside for the same reason
      file_.report(instruction.place, "no build stage in current context",
                   "a Dockerfile starts with FROM; only ARG may stand before it");
    }
    dockerfile_.instructions.push_back(std::move(instruction));
    if (!dockerfile_.stages.empty()) dockerfile_.stages.back().end = position + 1;
  }

 private:
  TextFile& file_;
  Dockerfile& dockerfile_;
  std::map<std::string, std::size_t> names_;
  bool outside_reported_ = false;
};

}  // namespace

DockerfileParse parse_dockerfile(std::string_view text, const std::string& name) {
  DockerfileParse parse;
  if (text.size() > longest_text) {
    parse.diagnostics.push_back(
        {{name, 1, 1}, "a Dockerfile has at most 4 MiB of text", {}, {}, Diagnostic::Level::error});
    return parse;
  }
  TextFile file(text, name);
  LineReader reader(file);
  InstructionParser parser(file, reader);
  Dockerfile dockerfile;
  dockerfile.file = name;
  dockerfile.syntax = find_syntax(file);
  StageBuilder stages(file, dockerfile);
  std::size_t lines = 0;
  bool after_unknown = false;
  bool from_lost = false;  // a FROM that did not parse: nothing is said about stages
  while (!parser.stop) {
    const std::optional<JoinedLine> line = reader.next();
    if (!line) break;
    if (++lines > most_instructions) {
      file.report(file.place(line->first_line, 1),
                  "a Dockerfile has at most " + std::to_string(most_instructions) + " instructions");
      break;
    }
    const std::size_t reported = file.diagnostics.size();
    ParsedInstruction parsed = parser.parse(*line);
    // Lines that all lost the same instruction are one fault.
    if (parsed.unknown && after_unknown) file.diagnostics.resize(reported);
    after_unknown = parsed.unknown;
    if (parsed.instruction) {
      if (!from_lost) stages.add(std::move(*parsed.instruction));
    } else {
      from_lost = from_lost || dockerfile.stages.empty();
    }
  }
  if (lines == 0 && file.diagnostics.empty()) {
    file.report(file.place(1, 1), "file with no instructions");
  } else if (dockerfile.stages.empty() && count_errors(file.diagnostics) == parser.recovered) {
    file.report(dockerfile.instructions.empty() ? file.place(1, 1) : dockerfile.instructions.back().place,
                "dockerfile contains no stages to build", "a stage starts with FROM");
  }
  dockerfile.escape = reader.escape();
  dockerfile.pragmas = std::move(reader.pragmas);
  dockerfile.env_comments = std::move(parser.env_comments);
  if (count_errors(file.diagnostics) == parser.recovered) parse.dockerfile = std::move(dockerfile);
  parse.diagnostics = std::move(file.diagnostics);
  return parse;
}

const Heredoc* find_heredoc(const Instruction& instruction, const Word& word) {
  if (instruction.json || instruction.heredocs.empty()) return nullptr;
  const auto sign = heredoc_sign(word.text);
  if (!sign) return nullptr;
  // Of two with one name BuildKit takes the last.
  const auto found = std::find_if(instruction.heredocs.rbegin(), instruction.heredocs.rend(),
                                  [&](const Heredoc& heredoc) { return heredoc.name == sign->name; });
  return found == instruction.heredocs.rend() ? nullptr : &*found;
}

bool looks_like_dockerfile(std::string_view text) {
  TextFile file(text.substr(0, longest_text), {});
  LineReader reader(file);
  const std::optional<JoinedLine> line = reader.next();
  if (!line) return false;
  const std::string_view joined = trim_space(line->text.text());
  const std::size_t end =
      static_cast<std::size_t>(std::find_if(joined.begin(), joined.end(), is_word_space) - joined.begin());
  const auto kind = instruction_kind(joined.substr(0, end));
  return end < joined.size() && (kind == Instruction::Kind::from || kind == Instruction::Kind::arg);
}

}  // namespace imgforge::dockerfile
