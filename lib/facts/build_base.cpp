// What a base image brings to a stage, by what the knowledge holds of it.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "facts/base_software.hpp"
#include "facts/build_state.hpp"
#include "facts/entrypoint.hpp"

namespace imgforge {
namespace {

constexpr std::string_view beam_folder = "/opt/apache/beam";

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view word : split(text, ' ')) {
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

/// "debian" of "debian12".
std::string family_of_os(std::string_view os) { return std::string(os.substr(0, os.find_first_of("0123456789"))); }

/// Nothing is known of the image: whatever is asked for may be in it.
void nothing_known(BuildState& state, const std::string& reason) {
  state.base_not_known = reason;
  state.env_open = reason;
  state.entrypoint.reset();
  state.cmd.reset();
  state.entrypoint_not_known = reason;
  state.user.reset();
  state.user_not_known = reason;
  state.workdir.reset();
  state.files.lose("/", reason);
  state.programs_open = reason;
  state.accounts_open = reason;
  state.pythons_open = reason;
  state.cuda_open = reason;
}

BuildFile plain(BuildFile::Kind kind, const Evidence& evidence) {
  BuildFile file;
  file.kind = kind;
  file.evidence = evidence;
  return file;
}

void link(BuildState& state, const std::string& path, const std::string& target) {
  BuildFile file = plain(BuildFile::Kind::link, state.base_evidence);
  file.link = target;
  state.files.put(path, file);
}

/// The folders of the file hierarchy standard: files of the base are in them that nobody lists. Elsewhere nothing is.
void usual_folders(BuildState& state, bool merged_usr) {
  const std::string reason = fmt::format("which files {} holds", escape_for_display(state.base));
  for (const char* folder : {"/etc", "/usr", "/var", "/root", "/run", "/boot", "/dev", "/proc", "/sys"}) {
    state.files.mark(folder, BuildFiles::Mark::base, reason, state.base_evidence);
  }
  for (const char* folder : {"/opt", "/home", "/mnt", "/media", "/srv", "/tmp"})
    state.files.make_folder(folder, state.base_evidence);
  state.files.mark("/usr/local", BuildFiles::Mark::closed, "", state.base_evidence);
  for (const char* folder : {"bin", "etc", "games", "include", "lib", "man", "sbin", "share", "src"}) {
    state.files.mark(std::string("/usr/local/") + folder, BuildFiles::Mark::base, reason, state.base_evidence);
  }
  for (const char* folder : {"bin", "lib", "sbin", "lib64"}) {
    if (merged_usr) {
      link(state, std::string("/") + folder, std::string("usr/") + folder);
      state.files.mark(std::string("/usr/") + folder, BuildFiles::Mark::base, reason, state.base_evidence);
    } else {
      state.files.mark(std::string("/") + folder, BuildFiles::Mark::base, reason, state.base_evidence);
    }
  }
}

void apply_content(BuildState& state, const BaseContent& content, std::set<std::string, std::less<>>& lacks) {
  for (const std::string& name : words_of(content.programs)) {
    state.programs[name] = ProgramUse::There::yes;
    lacks.erase(name);
  }
  for (const std::string& name : words_of(content.lacks)) {
    state.programs[name] = ProgramUse::There::no;
    lacks.insert(name);
  }
  for (const auto& [name, value] : content.env) {
    BuildVariable variable;
    variable.evidence = state.base_evidence;
    if (value == "*") {
      variable.not_known = fmt::format("what {} sets it to", escape_for_display(state.base));
    } else {
      variable.value = value;
    }
    state.set_variable(name, variable);
  }
  if (content.env_open && state.env_open.empty()) {
    state.env_open = fmt::format("which variables {} sets", escape_for_display(state.base));
  }
  if (content.entrypoint == "*") {
    state.entrypoint.reset();
    state.entrypoint_not_known = fmt::format("the entrypoint of {}", escape_for_display(state.base));
  } else if (content.entrypoint == "-") {
    state.entrypoint = std::vector<std::string>();
  } else if (!content.entrypoint.empty()) {
    state.entrypoint = words_of(content.entrypoint);
  }
  if (!content.cmd.empty()) state.cmd = words_of(content.cmd);
  if (!content.user.empty()) state.user = content.user;
  if (!content.workdir.empty()) state.workdir = content.workdir;
  for (const std::string& folder : words_of(content.folders)) state.files.make_folder(folder, state.base_evidence);
  for (const auto& [path, text] : content.files) {
    BuildFile file = plain(text == "*" ? BuildFile::Kind::program : BuildFile::Kind::file, state.base_evidence);
    if (text != "*") file.text = text;
    state.files.put(path, file);
  }
}

/// "3.11.9" of the tag "3.11.9-slim"; nothing where it names the minor alone.
std::optional<Version> exact_python(std::string_view tag) {
  const std::string_view number = tag.substr(0, tag.find('-'));
  // 3.15-rc-slim: the newest candidate, whichever that is.
  if (tag.substr(number.size()).starts_with("-rc")) return Version::parse(std::string(number) + "rc0");
  const auto version = Version::parse(number);
  return version && version->release().size() >= 3 ? version : std::nullopt;
}

BuildDistribution in_base(const std::string& name, const std::optional<Version>& version,
                          const Interpreter& interpreter, const Evidence& evidence) {
  BuildDistribution found;
  found.by = BuildDistribution::By::base;
  found.distribution.name = name;
  found.distribution.version = version;
  if (version) found.distribution.version_text = version->to_string();
  found.distribution.site = interpreter.site_packages.front();
  found.distribution.evidence = evidence;
  return found;
}

void base_python(BuildState& state, const BaseImage& row, const std::string& tag, const BaseSoftware& software,
                 const Knowledge& knowledge) {
  if (row.python_path.empty()) return;
  const Evidence& evidence = state.base_evidence;
  const std::size_t slash = row.python_path.rfind('/');
  const std::string folder = row.python_path.substr(0, slash);
  BuildPython python;
  python.in_base = true;
  Interpreter& interpreter = python.interpreter;
  interpreter.prefix = folder.substr(0, folder.rfind('/'));
  interpreter.kind =
      interpreter.prefix.find("conda") == std::string::npos ? Interpreter::Kind::system : Interpreter::Kind::conda;
  interpreter.has_venv = interpreter.has_ensurepip = true;
  std::vector<std::string> names = {"python3"};
  const auto listed = [&](const char* name) {
    const auto found = state.programs.find(name);
    return found != state.programs.end() && found->second == ProgramUse::There::yes;
  };
  if (row.python_path.ends_with("/python") || listed("python")) names.emplace_back("python");
  if (row.python) {
    interpreter.minor = *row.python;
    interpreter.path = folder + "/python" + row.python->to_string();
    if (row.kind == "python") interpreter.version = exact_python(tag);
    const std::string library =
        interpreter.prefix == "/usr" ? "/usr/local/lib/python" : interpreter.prefix + "/lib/python";
    interpreter.site_packages = {library + row.python->to_string() +
                                 (interpreter.prefix == "/usr" ? "/dist-packages" : "/site-packages")};
  } else {
    python.minor_known = false;
    python.not_known = fmt::format("which Python {} has", escape_for_display(state.base));
    interpreter.path = row.python_path;
    interpreter.site_packages = {interpreter.prefix + "/lib/site-packages"};
  }
  if (interpreter.kind == Interpreter::Kind::conda) {
    state.files.mark(interpreter.prefix, BuildFiles::Mark::base, "which files conda's folder holds", evidence);
    for (const char* program : {"conda", "activate"}) {
      if (std::string_view(program) == "conda" || listed(program))
        state.files.put(folder + "/" + program, plain(BuildFile::Kind::program, evidence));
    }
    for (const char* program : {"mamba", "tini"}) {
      if (listed(program)) state.files.put(folder + "/" + program, plain(BuildFile::Kind::program, evidence));
    }
  }
  const std::size_t index = add_python(state, std::move(python), names, evidence);
  if (listed("pip") || listed("pip3")) add_pip(state, index, folder, listed("pip"), evidence);

  BuildPython& made = state.pythons[index];
  if (row.kind == "beam-sdk") {
    const auto beam = Version::parse(tag);
    made.distributions.push_back(in_base("apache-beam", beam, made.interpreter, evidence));
    made.distributions.back().distribution.extras = {"gcp"};
    const BeamImagePins* pins = beam && row.python ? knowledge.beam_pins(*beam, *row.python) : nullptr;
    if (pins != nullptr) {
      for (const auto& [name, version] : pins->packages) {
        if (name != "apache-beam" && name != "pip")
          made.distributions.push_back(in_base(name, version, made.interpreter, evidence));
      }
    }
  }
  for (const Framework& framework : software.frameworks) {
    made.distributions.push_back(in_base(framework.package.empty() ? framework.name : framework.package,
                                         framework.version, made.interpreter, evidence));
  }
}

}  // namespace

BuildState base_state(const std::string& written, const std::string& expanded, const std::string& not_known,
                      const Evidence& evidence, const Knowledge& knowledge) {
  BuildState state;
  state.base = written;
  state.base_evidence = evidence;
  state.entrypoint_evidence = state.cmd_evidence = state.user_evidence = state.workdir_evidence = evidence;
  if (expanded.empty()) {
    nothing_known(state, not_known.empty() ? fmt::format("what {} is", escape_for_display(written)) : not_known);
    return state;
  }
  if (expanded == "scratch") {
    state.base = "scratch";
    state.scratch = true;
    state.workdir = "/";
    return state;
  }
  const auto reference = Reference::parse(expanded);
  if (!reference) {
    nothing_known(state, fmt::format("{} names no image", escape_for_display(expanded)));
    return state;
  }
  const std::string repository = reference->host() + "/" + reference->repository();
  const std::string tag = !reference->tag().empty() || reference->digest() ? reference->tag() : "latest";
  state.base = reference->to_string();
  state.row = knowledge.base_image(repository, tag);
  const std::vector<const BaseContent*> contents = knowledge.base_contents(repository, tag);
  if (!state.row && contents.empty()) {
    nothing_known(state, fmt::format("what {} holds: the knowledge has no row of it", escape_for_display(state.base)));
    return state;
  }

  if (state.row) state.os = state.row->os;
  state.os_family = family_of_os(state.os);
  const bool debian_kind = state.row && (state.row->kind == "python" || state.row->kind == "beam-sdk");
  if (state.os_family.empty() && debian_kind) state.os_family = "debian";
  if (state.os_family == "alpine") {
    state.libc = Libc::Family::musl;
  } else if (!state.os_family.empty() || (state.row && state.row->kind != "os")) {
    state.libc = Libc::Family::glibc;
  }
  usual_folders(state, state.os_family != "alpine");
  std::set<std::string, std::less<>> lacks;
  for (const BaseContent* content : contents) apply_content(state, *content, lacks);
  state.files.set_lacks(lacks);
  if (contents.empty()) {
    const std::string reason = fmt::format("what {} sets in its config", escape_for_display(state.base));
    state.env_open = reason;
    state.entrypoint.reset();
    state.entrypoint_not_known = reason;
    state.programs_open = reason;
  }
  const auto account = [&](const char* name, std::uint32_t id, const char* home) {
    state.accounts.push_back({name, id, id, home});
    state.groups.push_back({name, id, {}});
  };
  account("root", 0, "/root");
  if (state.os_family == "alpine" || state.os_family == "debian" || state.os_family == "ubuntu") {
    account("nobody", 65534, "/nonexistent");
    if (state.os_family != "alpine") state.groups.back().name = "nogroup";
  }

  const BaseSoftware software = base_software(*reference, state.row ? &*state.row : nullptr, knowledge, evidence);
  state.cuda = software.cuda;
  state.cudnn = software.cudnn;
  state.frameworks = software.frameworks;
  state.cuda_open = software.not_known;
  if (state.row && (state.row->kind == "os" || state.row->kind == "python" || state.row->kind == "beam-sdk" ||
                    state.row->kind == "conda")) {
    state.cuda_open.clear();
  }
  if (state.row && state.row->kind == "cuda" && software.library_path) {
    if (!software.library_path->empty()) state.set_variable("LD_LIBRARY_PATH", {*software.library_path, {}, evidence});
  } else if (state.row && state.row->kind == "cuda") {
    state.set_variable("LD_LIBRARY_PATH",
                       {std::nullopt, fmt::format("what {} sets it to", escape_for_display(state.base)), evidence});
  }
  if (!state.cuda.empty()) {
    const std::string reason = "which files the CUDA toolkit of the base holds";
    state.files.mark("/opt/nvidia", BuildFiles::Mark::base, reason, evidence);
    state.files.mark("/usr/local/cuda", BuildFiles::Mark::base, reason, evidence);
    state.files.make_folder("/usr/local/cuda/lib64", evidence);
    state.files.make_folder("/usr/local/cuda/bin", evidence);
    if (const auto& version = state.cuda.front().version; version && version->release().size() >= 2) {
      link(state, fmt::format("/usr/local/cuda-{}.{}", version->major(), version->minor()), "cuda");
      link(state, fmt::format("/usr/local/cuda-{}", version->major()), "cuda");
    }
  } else if (state.row && (state.row->kind == "cuda" || state.row->kind.starts_with("ngc") ||
                           state.row->kind == "tensorflow" || state.row->kind == "pytorch")) {
    state.files.mark("/usr/local", BuildFiles::Mark::base, "which files the base holds", evidence);
    state.files.mark("/opt", BuildFiles::Mark::base, "which files the base holds", evidence);
  }
  if (state.row) {
    base_python(state, *state.row, tag, software, knowledge);
    if (state.row->kind == "beam-sdk") {
      auto origin = std::make_shared<SdkOrigin>();
      if (const auto beam = Version::parse(tag)) {
        origin->beam = *beam;
        origin->python = state.row->python;
        for (const std::string& path :
             {std::string(boot_path), std::string(beam_folder) + "/tars/apache-beam.tar.gz"}) {
          const BuildFiles::Look look = state.files.look(path);
          if (look.seen != BuildFiles::Seen::yes) continue;
          BuildFile file = *look.file;
          file.sdk = origin;
          state.files.put(path, file);
        }
      }
      // Every file of that folder is known by name, of Python's images and of the others'.
      const std::string folder(beam_folder);
      state.files.mark(folder, BuildFiles::Mark::closed, "", evidence);
      for (const char* name : {"LICENSE", "LICENSE.python", "NOTICE"}) {
        BuildFile file;
        file.executable = false;
        file.evidence = evidence;
        state.files.put(folder + "/" + name, std::move(file));
      }
      for (const char* name : {"third_party_licenses", "tars", "jars", "options"}) {
        state.files.mark(folder + "/" + name, BuildFiles::Mark::base, "which files the SDK image holds there", evidence);
      }
    }
  } else {
    state.pythons_open = fmt::format("which Python {} has", escape_for_display(state.base));
    state.files.lose("/usr", state.pythons_open);
  }
  return state;
}

}  // namespace imgforge
