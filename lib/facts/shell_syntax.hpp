// Shell scripts as text → a tree: POSIX sh (XCU 2), with what bash adds and start scripts use ([[ ]], arrays, function,
// here-strings, extended globs). Enough to see which program a script ends in; nothing is expanded or run here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace imgforge::shell {

/// A part of a word.
struct Piece {
  enum class Kind {
    literal,    // text after quote removal
    parameter,  // $name, ${name}, "$@": text is the name ("1", "@", "#", "PATH", "args[@]")
    other,      // $(...), `...`, $((...)), ${name:-...}, <(...): text as written
  };
  Kind kind = Kind::literal;
  std::string text;
  bool quoted = false;
  std::size_t offset = 0;  // of what is written, in the script
};

struct Word {
  std::vector<Piece> pieces;
  std::string written;     // as it stands in the script
  std::size_t offset = 0;  // in the script
};

struct Redirection {
  std::string operation;               // with its number: "2>", "<<-"
  Word target;                         // of a heredoc: its delimiter
  std::string written;                 // with the word before it, where no blank is between: "numpy>=1.2"
  std::size_t offset = 0;              // of `written`
  std::optional<std::size_t> heredoc;  // its position in Script::heredocs
};

struct Heredoc {
  std::string text;        // tabs at the start of lines taken away where it was <<-
  bool expand = true;      // no part of the delimiter was quoted
  bool verbatim = true;    // nothing was taken away: byte i of `text` stands at `offset` + i
  std::size_t offset = 0;  // of its first line, in the script
};

struct Assignment {
  std::string name;
  std::size_t offset = 0;
  bool append = false;  // +=
  bool array = false;   // name=(...)
  std::vector<Word> values;
};

struct Command;

/// Pipelines joined by && and ||, ended by ; or & or a newline.
struct Pipeline {
  bool negated = false;
  std::vector<Command> commands;
};

struct Statement {
  enum class Join : std::uint8_t { always, if_success, if_failure };
  struct Step {
    Join join = Join::always;  // how it hangs on the step before
    Pipeline pipeline;
  };
  std::vector<Step> steps;
  bool background = false;
};

using Statements = std::vector<Statement>;

struct Arm {
  std::vector<Word> patterns;
  Statements body;
};

struct Command {
  enum class Kind {
    simple,      // assignments, words
    group,       // { body; }
    subshell,    // ( body )
    condition,   // if: condition, body, otherwise (elif is a condition in `otherwise`)
    loop,        // while and until: condition, body; `words` is {"while"} or {"until"}
    each,        // for and select: name in words; body
    choice,      // case words[0] in arms
    function,    // name, body
    arithmetic,  // (( ... ))
  };
  Kind kind = Kind::simple;
  std::vector<Assignment> assignments;  // before the command's name, and arguments of export, declare and their kin
  std::vector<Word> words;
  std::string name;
  Statements condition;
  Statements body;
  Statements otherwise;
  std::vector<Arm> arms;
  std::vector<Redirection> redirections;
  std::size_t offset = 0;  // in the script
  std::size_t end = 0;     // one behind its last byte
};

/// Something that bash has and POSIX shells do not, as it is written: "[[", "function", "<<<", "array", "${V//a/b}".
struct BashConstruct {
  std::string what;
  std::size_t offset = 0;
};

struct Script {
  Statements statements;
  std::vector<Heredoc> heredocs;
  std::vector<BashConstruct> bash;  // those that the grammar shows; builtins (source, pushd) are for whoever walks it
};

/// The script's statements; nothing where it is not understood, with the reason in `why` ("line 12: ...").
/// At most 256 KiB of text, nesting of 48, 20,000 commands.
std::optional<Statements> parse(std::string_view text, std::string& why);
std::optional<Script> parse_script(std::string_view text, std::string& why);

}  // namespace imgforge::shell
