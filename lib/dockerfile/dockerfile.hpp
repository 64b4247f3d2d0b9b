// A Dockerfile as a tree: what BuildKit's frontend reads (moby/buildkit frontend/dockerfile/parser and instructions),
// with the place of everything, and nothing evaluated.
//
// Bounds: 4 MiB of text, 64 KiB a line as written, 20,000 instructions, 1,000 heredocs, ONBUILD not nested.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/place.hpp"

namespace imgforge::dockerfile {

/// Text put together from several lines of a file, with the way back: lines that a continuation joined, comment lines
/// taken out.
class MappedText {
 public:
  void append(std::string_view text,
              const Place& place);  // `text` stands at `place` and holds no further line break in the file
  void append(const MappedText& part);
  const std::string& text() const noexcept { return text_; }
  /// The place of a byte of text(); of the last one for offsets beyond. A place without a line where there is no text.
  Place place_at(std::size_t offset) const;
  /// A part of it, with the places kept.
  MappedText slice(std::size_t offset, std::size_t length = std::string::npos) const;

 private:
  struct Run {
    std::size_t offset;
    Place place;
  };
  std::string text_;
  std::vector<Run> runs_;
};

/// A word as written: quotes, escapes and variables are still in it (expand.hpp), except of a JSON array's text.
struct Word {
  std::string text;
  Place place;
};

/// --name or --name=value, before the instruction's arguments.
struct Flag {
  std::string name;                  // "from", "mount", "platform"
  std::optional<std::string> value;  // quotes and escapes taken away, as BuildKit does for flags; variables still in it
  Place place;
};

/// NAME=VALUE of ENV, LABEL and ARG ("ENV NAME VALUE" too).
struct Assignment {
  Word name;
  std::optional<Word> value;  // nothing for "ARG NAME"
};

/// <<NAME ... NAME of RUN, COPY and ADD.
struct Heredoc {
  std::string name;
  bool expand = true;   // no part of NAME was quoted
  std::string content;  // tabs at the start of lines taken away where it was <<-
  Place place;          // of the first line of its content
};

struct Instruction {
  enum class Kind {
    add,
    arg,
    cmd,
    copy,
    entrypoint,
    env,
    expose,
    from,
    healthcheck,
    label,
    maintainer,
    onbuild,
    run,
    shell,
    stopsignal,
    user,
    volume,
    workdir,
  };
  Kind kind;
  Place place;                // of the keyword
  std::size_t last_line = 0;  // of the instruction, heredocs included
  std::vector<Flag> flags;
  bool json = false;        // the exec form: `words` are the array's texts
  std::vector<Word> words;  // of FROM ("image", "AS", "name"), COPY and ADD (sources, then the destination), EXPOSE,
                            // VOLUME, USER, WORKDIR, STOPSIGNAL, SHELL, and of any exec form
  std::vector<Assignment> assignments;  // of ENV, LABEL, ARG
  /// Shell form of RUN, CMD, ENTRYPOINT, HEALTHCHECK CMD: the text as /bin/sh -c gets it. Of a RUN that is nothing but
  /// one heredoc ("RUN <<EOF") it is the content (which is no shell text, but a program of its own, where it starts
  /// with "#!"); of a RUN that has heredocs in a command, the command with them. Empty for HEALTHCHECK NONE.
  MappedText command;
  std::vector<Heredoc> heredocs;
  std::shared_ptr<const Instruction> trigger;  // of ONBUILD; nothing where the image builds but the trigger never will
};

struct Stage {
  std::size_t from = 0;  // position of FROM in `instructions`
  std::size_t end = 0;   // one behind its last instruction
  std::string name;      // lower case; empty where there is none
};

struct Dockerfile {
  std::string file;
  char escape = '\\';
  std::string syntax;                     // of # syntax=, else empty
  std::vector<Instruction> instructions;  // in order; those before the first FROM are ARG
  std::vector<Stage> stages;
  /// "# imgforge: ..." comments, for ignores: the text behind the colon, trimmed, and the line of the instruction that
  /// follows (0 where none does). Among the lines of one instruction it is the instruction's next line.
  struct Pragma {
    std::string text;
    Place place;
    std::size_t next_line = 0;
  };
  std::vector<Pragma> pragmas;
  /// "ENV A=1 # comment": where the "#" stands. What follows it on its line was read as BuildKit does where BuildKit
  /// takes it ("#a=b" is a variable, "ENV A 1 # b" one value), else dropped.
  std::vector<Place> env_comments;
};

struct DockerfileParse {
  std::optional<Dockerfile> dockerfile;  // absent where any diagnostic is an error, but for those of `env_comments`
  std::vector<Diagnostic> diagnostics;   // worded as BuildKit would, all at once where reading on makes sense
};

/// `name` is how places call the text. Never throws for what the text holds.
DockerfileParse parse_dockerfile(std::string_view text, const std::string& name);

/// The heredoc that a word of COPY or ADD ("<<EOF") stands for; nothing where it is a path.
const Heredoc* find_heredoc(const Instruction& instruction, const Word& word);

/// Whether a text is a Dockerfile rather than a recipe, where its name does not say: its first instruction is FROM or
/// ARG.
bool looks_like_dockerfile(std::string_view text);

std::string_view to_string(Instruction::Kind kind) noexcept;  // "RUN"

}  // namespace imgforge::dockerfile
