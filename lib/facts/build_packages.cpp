// The package managers of distributions, and conda.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "facts/build_reader.hpp"
#include "facts/commands.hpp"

namespace imgforge {

namespace {

constexpr std::size_t max_uses = 5'000;

/// Programs of packages that are not called like them.
const std::map<std::string, std::vector<std::string>, std::less<>>& programs_of_packages() {
  static const std::map<std::string, std::vector<std::string>, std::less<>> all = {
      {"procps", {"ps", "top", "free", "pgrep", "pkill"}},
      {"build-essential", {"gcc", "g++", "cc", "c++", "make"}},
      {"build-base", {"gcc", "g++", "cc", "c++", "make"}},
      {"gnupg", {"gpg"}},
      {"gnupg2", {"gpg", "gpg2"}},
      {"gnupg1", {"gpg1"}},
      {"xz-utils", {"xz", "unxz"}},
      {"software-properties-common", {"add-apt-repository", "python3"}},
      {"lsb-release", {"lsb_release"}},
      {"openssh-client", {"ssh", "scp", "ssh-keyscan"}},
      {"iputils-ping", {"ping"}},
      {"net-tools", {"ifconfig", "netstat"}},
      {"netcat", {"nc"}},
      {"netcat-openbsd", {"nc"}},
      {"dnsutils", {"dig", "nslookup"}},
      {"git-core", {"git"}},
      {"git-lfs", {"git-lfs", "git"}},
      {"google-cloud-cli", {"gcloud", "gsutil", "bq"}},
      {"google-cloud-sdk", {"gcloud", "gsutil", "bq"}},
      {"p7zip-full", {"7z"}},
      {"ninja-build", {"ninja"}},
      {"nodejs", {"node", "npm"}},
      {"golang", {"go"}},
      {"golang-go", {"go"}},
      {"nvidia-cuda-toolkit", {"nvcc"}},
      {"locales", {"locale-gen", "localedef"}},
      {"vim-tiny", {"vi"}},
      {"gettext-base", {"envsubst"}},
      {"bsdmainutils", {"column"}},
      {"binutils", {"ld", "strip", "readelf"}},
      {"docker.io", {"docker"}},
      {"postgresql-client", {"psql"}},
      {"default-mysql-client", {"mysql"}},
  };
  return all;
}

/// Packages that certainly need no Python, and bring no compiler: others may, and are not listed.
bool is_plain_package(std::string_view name) {
  static const std::set<std::string, std::less<>> names = {"curl",
                                                           "wget",
                                                           "ca-certificates",
                                                           "git",
                                                           "gnupg",
                                                           "gnupg2",
                                                           "tini",
                                                           "dumb-init",
                                                           "procps",
                                                           "unzip",
                                                           "zip",
                                                           "bzip2",
                                                           "xz-utils",
                                                           "tar",
                                                           "gzip",
                                                           "jq",
                                                           "rsync",
                                                           "locales",
                                                           "tzdata",
                                                           "sudo",
                                                           "gosu",
                                                           "less",
                                                           "bash",
                                                           "make",
                                                           "gcc",
                                                           "g++",
                                                           "cmake",
                                                           "pkg-config",
                                                           "build-essential",
                                                           "openssh-client",
                                                           "iputils-ping",
                                                           "netcat",
                                                           "netcat-openbsd",
                                                           "libgomp1",
                                                           "libgl1",
                                                           "libglib2.0-0",
                                                           "libsm6",
                                                           "libxext6",
                                                           "libxrender1",
                                                           "libjemalloc2",
                                                           "libsndfile1",
                                                           "apt-transport-https",
                                                           "dirmngr",
                                                           "apt-utils",
                                                           "file",
                                                           "patch",
                                                           "libpq5",
                                                           "libpq-dev",
                                                           "libssl-dev",
                                                           "zlib1g-dev",
                                                           "libffi-dev",
                                                           "libopenblas0",
                                                           "libatlas3-base",
                                                           "libgdal-dev",
                                                           "nano",
                                                           "iproute2",
                                                           "net-tools",
                                                           "cuda-keyring",
                                                           "git-lfs"};
  return names.contains(name) || name.starts_with("libcudnn") || name.starts_with("libnccl") ||
         name.starts_with("libnvinfer") || name.starts_with("cuda-");
}

/// "12.2" of "cuda-toolkit-12-2".
std::optional<Version> version_behind(std::string_view name, std::string_view start) {
  if (!name.starts_with(start)) return std::nullopt;
  std::string rest(name.substr(start.size()));
  std::replace(rest.begin(), rest.end(), '-', '.');
  if (rest.empty() || rest.find_first_not_of("0123456789.") != std::string::npos) return std::nullopt;
  return Version::parse(rest);
}

/// "8.9.7.29" of "8.9.7.29-1+cuda12.2"; nothing of "8.9.*".
std::optional<Version> upstream_version(std::string_view text) {
  const std::string_view number = text.substr(0, text.find_first_of("-+*~"));
  return number.empty() || number.back() == '.' ? std::nullopt : Version::parse(number);
}

bool is_driver(std::string_view name) {
  if (name == "cuda" || name.starts_with("cuda-drivers") || name.starts_with("nvidia-driver-") ||
      name.starts_with("nvidia-headless-") || name.starts_with("libnvidia-compute") || name == "libcuda1" ||
      name == "nvidia-driver" || name == "nvidia-driver-libs")
    return true;
  // cuda-12-2 and cuda-runtime-12-2 depend on cuda-drivers; cuda-toolkit-12-2 does not.
  return version_behind(name, "cuda-").has_value() || version_behind(name, "cuda-runtime-").has_value();
}

BuildFile program_file(const Evidence& evidence) {
  BuildFile file;
  file.kind = BuildFile::Kind::program;
  file.evidence = evidence;
  return file;
}

/// A system Python of Debian or Ubuntu below /usr.
BuildPython system_python(const PythonMinor& minor, bool managed) {
  BuildPython python;
  Interpreter& interpreter = python.interpreter;
  interpreter.minor = minor;
  interpreter.path = "/usr/bin/python" + minor.to_string();
  interpreter.prefix = "/usr";
  interpreter.kind = Interpreter::Kind::system;
  interpreter.site_packages = {"/usr/local/lib/python" + minor.to_string() + "/dist-packages"};
  interpreter.has_venv = true;
  interpreter.externally_managed = managed;
  return python;
}

/// "python3.11" → the minor, with what stands behind it: "-venv".
std::optional<std::pair<PythonMinor, std::string>> python_package(std::string_view name) {
  if (!name.starts_with("python3.")) return std::nullopt;
  const std::size_t end = name.find_first_not_of("0123456789", 8);
  const auto minor = PythonMinor::parse(name.substr(6, end == std::string_view::npos ? end : end - 6));
  if (!minor) return std::nullopt;
  return std::pair(*minor, end == std::string_view::npos ? std::string() : std::string(name.substr(end)));
}

}  // namespace

void BuildReader::apt_package(BuildState& state, const SystemPackage& package, const Running& running) {
  const std::string& name = package.name;
  const Evidence& evidence = running.evidence;
  if (name.empty()) {
    if (state.programs_open.empty())
      state.programs_open = fmt::format("what {} brings", escape_for_display(package.written));
    return;
  }
  state.packages[name] = evidence;
  if (!running.command->certain) {
    if (state.programs_open.empty())
      state.programs_open = fmt::format("whether {} is installed", escape_for_display(name));
    if (name.find("python") != std::string::npos && state.pythons_open.empty())
      state.pythons_open = fmt::format("whether {} is installed", escape_for_display(name));
    return;
  }
  const LinuxRelease* release = knowledge_.linux_release(state.os);
  const auto own_minor = [&]() -> std::optional<PythonMinor> {
    return release != nullptr ? release->python : std::nullopt;
  };
  const auto link = [&](const std::string& at, const std::string& target) {
    BuildFile file;
    file.kind = BuildFile::Kind::link;
    file.link = target;
    file.evidence = evidence;
    state.files.put(at, std::move(file));
  };
  const auto ensure_python = [&](const PythonMinor& minor) {
    if (const auto there = python_at(state, "/usr/bin/python" + minor.to_string())) return *there;
    const bool managed = release != nullptr && release->externally_managed && release->python == minor;
    // deadsnakes' interpreters of a managed release are managed, too: no row says so, so it is not claimed.
    BuildPython python = system_python(minor, managed);
    // Debian's python3-pip serves every system Python of its series.
    if (state.packages.contains("python3-pip") && release != nullptr && release->python)
      python.interpreter.has_pip = true;
    return add_python(state, std::move(python), {}, evidence);
  };
  const auto own_python = [&]() -> std::optional<std::size_t> {
    const auto minor = own_minor();
    if (minor) {
      const std::size_t index = ensure_python(*minor);
      const BuildFiles::Look python3 = state.files.look("/usr/bin/python3", false);
      if (python3.seen != BuildFiles::Seen::yes) link("/usr/bin/python3", "python" + minor->to_string());
      return index;
    }
    if (state.files.look("/usr/bin/python3", false).seen != BuildFiles::Seen::yes) {
      BuildPython python;
      python.minor_known = false;
      python.not_known = fmt::format("which Python {} has", escape_for_display(state.base));
      python.interpreter.path = "/usr/bin/python3";
      python.interpreter.prefix = "/usr";
      python.interpreter.has_venv = true;
      python.interpreter.site_packages = {"/usr/local/lib/python3/dist-packages"};
      return add_python(state, std::move(python), {}, evidence);
    }
    return python_at(state, state.files.look("/usr/bin/python3").canonical);
  };

  // Programs.
  state.programs[name] = ProgramUse::There::yes;
  if (const auto known = programs_of_packages().find(name); known != programs_of_packages().end()) {
    for (const std::string& program : known->second) state.programs[program] = ProgramUse::There::yes;
  }
  for (const std::string_view start : {"openjdk-", "default-j", "temurin-", "java-"}) {
    if (!name.starts_with(start)) continue;
    state.java = evidence;
    state.programs["java"] = ProgramUse::There::yes;
  }
  if (name.find("python") == std::string::npos && !is_plain_package(name)) {
    // It may need others: what was proven to be missing is not any more, but for what people know to ask for by name.
    static const std::set<std::string, std::less<>> by_name = {"curl",   "wget", "git",   "unzip",     "zip",
                                                               "sudo",   "jq",   "tini",  "dumb-init", "gcloud",
                                                               "gsutil", "uv",   "conda", "mamba",     "rsync"};
    for (auto& [program, there] : state.programs) {
      if (there == ProgramUse::There::no && !by_name.contains(program)) there = ProgramUse::There::unknown;
    }
    const std::string reason = fmt::format("whether {} brings python3", escape_for_display(name));
    state.files.maybe("/usr/bin/python3", reason);
    if (const auto minor = own_minor()) state.files.maybe("/usr/bin/python" + minor->to_string(), reason);
  }
  if (name.ends_with("-dev") || name.starts_with("python3-")) {
    for (const char* program : {"gcc", "g++", "cc", "make", "cmake"}) {
      if (const auto known = state.programs.find(program);
          known != state.programs.end() && known->second == ProgramUse::There::no)
        known->second = ProgramUse::There::unknown;
    }
  }
  if (name == "tini" || name == "dumb-init") state.files.put("/usr/bin/" + name, program_file(evidence));

  // Python.
  if (const auto versioned = python_package(name)) {
    const auto& [minor, kind] = *versioned;
    if (kind.empty() || kind == "-minimal" || kind == "-dev" || kind == "-venv" || kind == "-full" ||
        kind == "-distutils") {
      if (kind == "-distutils" || (kind == "-dev" && state.os_family == "debian")) {
        // distutils alone brings no interpreter of its own where it is Debian's; a -dev package does.
        if (kind == "-distutils") return;
      }
      const std::size_t index = ensure_python(minor);
      Interpreter& interpreter = state.pythons[index].interpreter;
      if (kind == "-venv" || kind == "-full") interpreter.has_ensurepip = true;
      if (own_minor() == minor && kind != "-minimal" &&
          state.files.look("/usr/bin/python3", false).seen != BuildFiles::Seen::yes && kind != "") {
        // python3.10 alone makes no /usr/bin/python3.
      }
    }
    return;
  }
  if (name == "python3" || name == "python3-minimal" || name == "python3-dev" || name == "python3-venv" ||
      name == "python3-full" || name == "python3-pip" || name == "python3-distutils" || name == "python3-setuptools" ||
      name == "python3-wheel" || name == "python-is-python3" || name.starts_with("python3-") ||
      name == "software-properties-common" || name == "pipx" || name == "python3-all") {
    if (state.os_family == "alpine" ||
        (state.os_family.empty() && state.base_not_known.empty() && state.libc == Libc::Family::musl)) {
      if (state.pythons_open.empty()) state.pythons_open = "which Python this Alpine has";
      return;
    }
    const auto index = own_python();
    if (!index) return;
    Interpreter& interpreter = state.pythons[*index].interpreter;
    if (name == "python3-venv" || name == "python3-full") interpreter.has_ensurepip = true;
    if (name == "python3-pip") {
      interpreter.has_pip = true;
      BuildFile pip = program_file(evidence);
      pip.runs_python = "/usr/bin/python3";
      state.files.put("/usr/bin/pip3", pip);
      state.files.put("/usr/bin/pip", pip);
      // The package's modules are in a folder that every system Python looks into.
      for (BuildPython& one : state.pythons) {
        if (one.interpreter.prefix == "/usr") one.interpreter.has_pip = true;
      }
    }
    if (name == "python-is-python3") link("/usr/bin/python", "python3");
    return;
  }
  if (name == "python") {
    state.files.maybe("/usr/bin/python", "which Python the package python is");
    if (state.pythons_open.empty()) state.pythons_open = "which Python the package python is";
    return;
  }

  // CUDA.
  if (is_driver(name) && build_->driver_installs.size() < max_uses) build_->driver_installs.push_back(running.at);
  std::optional<Version> cuda;
  CudaToolkit::Flavour flavour = CudaToolkit::Flavour::runtime;
  for (const char* start : {"cuda-toolkit-", "cuda-runtime-", "cuda-libraries-", "cuda-", "cuda-cudart-",
                            "cuda-minimal-build-", "cuda-compiler-"}) {
    if (const auto version = version_behind(name, start)) {
      cuda = version;
      if (std::string_view(start) == "cuda-cudart-") flavour = CudaToolkit::Flavour::base;
      if (std::string_view(start) == "cuda-toolkit-" || std::string_view(start) == "cuda-")
        flavour = CudaToolkit::Flavour::devel;
    }
  }
  if (cuda || name == "cuda" || name == "cuda-toolkit" || name == "nvidia-cuda-toolkit") {
    CudaToolkit toolkit;
    toolkit.from = CudaToolkit::From::apt;
    toolkit.version = cuda;
    toolkit.flavour = flavour;
    toolkit.folder = cuda                            ? "/usr/local/cuda-" + cuda->to_string()
                     : name == "nvidia-cuda-toolkit" ? "/usr/lib/x86_64-linux-gnu"
                                                     : "/usr/local/cuda";
    toolkit.evidence = {evidence};
    if (name != "nvidia-cuda-toolkit") {
      state.files.mark(toolkit.folder, BuildFiles::Mark::base, "which files the CUDA packages hold", evidence);
      state.files.make_folder(toolkit.folder + "/lib64", evidence);
      if (cuda) link("/usr/local/cuda", "cuda-" + cuda->to_string());
    }
    if (flavour == CudaToolkit::Flavour::devel) state.programs["nvcc"] = ProgramUse::There::unknown;
    if (std::none_of(state.cuda.begin(), state.cuda.end(), [&](const CudaToolkit& one) {
          return one.from == toolkit.from && one.version == toolkit.version;
        })) {
      state.cuda.push_back(std::move(toolkit));
    }
  }
  if (name.starts_with("libcudnn") || name.starts_with("cudnn9-cuda") || name == "cudnn" || name == "cudnn9") {
    const std::size_t digits = name.find_first_of("0123456789");
    if (digits == std::string::npos) {
      if (state.cuda_open.empty()) state.cuda_open = "which cuDNN apt brings";
      return;
    }
    const std::size_t end = name.find_first_not_of("0123456789", digits);
    Cudnn cudnn;
    cudnn.from = CudaToolkit::From::apt;
    const auto major = to_number(std::string_view(name).substr(digits, end == std::string::npos ? end : end - digits));
    if (!major || *major > 99) return;
    cudnn.major = static_cast<unsigned>(*major);
    cudnn.version = upstream_version(package.version);
    cudnn.folder = options_.architecture == "arm64" ? "/usr/lib/aarch64-linux-gnu" : "/usr/lib/x86_64-linux-gnu";
    cudnn.evidence = {evidence};
    const auto old = std::find_if(state.cudnn.begin(), state.cudnn.end(), [&](const Cudnn& one) {
      return one.major == cudnn.major && one.folder == cudnn.folder;
    });
    if (old == state.cudnn.end()) {
      state.cudnn.push_back(std::move(cudnn));
    } else if (cudnn.version || name.find("-dev") == std::string::npos) {
      *old = std::move(cudnn);
    }
  }
}

void BuildReader::apt_command(Step& step, const Running& running, const SystemPackageCommand& packages) {
  BuildState& state = *step.state;
  using Action = SystemPackageCommand::Action;
  if (packages.action == Action::update || (packages.action == Action::install && packages.updates_first)) {
    AptUpdate update;
    update.at = running.at;
    update.fails_harmlessly = running.command->failure_ignored;
    update.nvidia_key_renewed = state.nvidia_key_renewed;
    if (packages.manager == SystemPackageCommand::Manager::apt && build_->apt_updates.size() < max_uses)
      build_->apt_updates.push_back(std::move(update));
  }
  if (packages.action == Action::remove) {
    for (const SystemPackage& package : packages.packages) {
      state.packages.erase(package.name);
      if (const auto known = state.programs.find(package.name); known != state.programs.end())
        known->second = ProgramUse::There::unknown;
      if (const auto versioned = python_package(package.name); versioned && versioned->second.empty()) {
        const std::string path = "/usr/bin/python" + versioned->first.to_string();
        state.files.remove(path, running.evidence);
        std::erase_if(state.pythons, [&](const BuildPython& one) { return one.interpreter.path == path; });
      }
      if (package.name.starts_with("libcudnn") && package.name.find("-dev") == std::string::npos)
        std::erase_if(state.cudnn, [](const Cudnn& one) { return one.from != CudaToolkit::From::wheels; });
    }
    return;
  }
  if (packages.action != Action::install) return;
  AptInstall record;
  record.at = running.at;
  record.program = packages.program;
  record.os = state.os;
  record.repositories = state.repositories;
  record.empty = packages.empty();
  record.not_known = packages.not_known;
  for (const SystemPackage& package : packages.packages) {
    if (package.remove) continue;
    PackageRequest request;
    request.written = package.written;
    request.name = package.name;
    request.version = package.version;
    request.place = place_in(step, package.offset);
    record.packages.push_back(std::move(request));
  }
  if (build_->apt.size() < max_uses) build_->apt.push_back(std::move(record));
  if (packages.simulated || packages.download_only) return;
  for (const SystemPackage& package : packages.packages) {
    if (!package.remove) apt_package(state, package, running);
  }
  if (!packages.not_known.empty()) {
    if (state.programs_open.empty()) state.programs_open = packages.not_known;
    if (state.pythons_open.empty()) state.pythons_open = packages.not_known;
    if (state.cuda_open.empty()) state.cuda_open = packages.not_known;
  }
}

void BuildReader::conda_packages(BuildState& state, const std::string& prefix, const std::vector<CondaSpec>& packages,
                                 bool complete, const Running& running) {
  std::optional<std::size_t> index;
  for (std::size_t i = 0; i < state.pythons.size(); ++i) {
    if (state.pythons[i].interpreter.prefix == prefix) index = i;
  }
  const CondaSpec* asked = nullptr;
  for (const CondaSpec& spec : packages) {
    if (spec.name == "python") asked = &spec;
  }
  // The interpreter: that which is asked for; without a version any.
  if (!index || (asked != nullptr && !asked->version.empty())) {
    std::optional<PythonMinor> minor;
    if (asked != nullptr) {
      const std::string pinned = asked->pinned();
      if (const auto version = Version::parse(pinned); version && version->release().size() >= 2)
        minor = PythonMinor::of(*version);
    }
    BuildPython python;
    if (index) python = state.pythons[*index];
    Interpreter& interpreter = python.interpreter;
    interpreter.kind = Interpreter::Kind::conda;
    interpreter.prefix = prefix;
    interpreter.has_venv = interpreter.has_ensurepip = true;
    interpreter.evidence = {running.evidence};
    interpreter.version.reset();
    python.in_base = false;
    python.minor_known = minor.has_value();
    if (minor) {
      interpreter.minor = *minor;
      interpreter.path = prefix + "/bin/python" + minor->to_string();
      interpreter.site_packages = {prefix + "/lib/python" + minor->to_string() + "/site-packages"};
    } else {
      python.not_known = fmt::format("which Python conda puts into {}", escape_for_display(prefix));
      interpreter.path = prefix + "/bin/python";
      interpreter.site_packages = {prefix + "/lib/site-packages"};
    }
    for (BuildDistribution& one : python.distributions) one.distribution.site = interpreter.site_packages.front();
    if (index) {
      state.files.remove(state.pythons[*index].interpreter.path, running.evidence);
      state.pythons.erase(state.pythons.begin() + static_cast<std::ptrdiff_t>(*index));
    }
    if (python.minor_known || asked != nullptr || !complete || !packages.empty()) {
      if (!python.minor_known) interpreter.path = prefix + "/bin/python";
      index = add_python(state, std::move(python), {"python", "python3"}, running.evidence);
      add_pip(state, *index, prefix + "/bin", true, running.evidence);
    }
  }
  if (!index) return;
  BuildPython& python = state.pythons[*index];
  if (!complete && python.open.empty()) python.open = "what conda installs";
  Wanted wanted;
  wanted.by = BuildDistribution::By::conda;
  for (const CondaSpec& spec : packages) {
    const std::string pinned = spec.pinned();
    const auto version = Version::parse(pinned);
    if (spec.name == "python" || spec.name == "pip") continue;
    if (spec.name == "cudatoolkit" || spec.name == "cuda-toolkit" || spec.name == "cuda-runtime" ||
        spec.name == "pytorch-cuda" || spec.name == "cuda-version" || spec.name == "cuda") {
      CudaToolkit toolkit;
      toolkit.from = CudaToolkit::From::conda;
      toolkit.version = version;
      toolkit.folder = prefix + "/lib";
      toolkit.evidence = {running.evidence};
      state.cuda.push_back(std::move(toolkit));
      continue;
    }
    if (spec.name == "cudnn") {
      Cudnn cudnn;
      cudnn.from = CudaToolkit::From::conda;
      if (version) {
        cudnn.major = static_cast<unsigned>(version->major());
        if (version->release().size() > 1) cudnn.version = version;
        cudnn.folder = prefix + "/lib";
        cudnn.evidence = {running.evidence};
        state.cudnn.push_back(std::move(cudnn));
      } else if (state.cuda_open.empty()) {
        state.cuda_open = "which cuDNN conda brings";
      }
      continue;
    }
    std::string name = spec.name;
    if (name == "pytorch" || name == "pytorch-gpu" || name == "pytorch-cpu") name = "torch";
    if (name == "tensorflow-gpu" || name == "tensorflow-base") name = "tensorflow";
    std::string text = name;
    if (version) {
      text += "==" + version->to_string();
    } else if (!spec.version.empty() && spec.version.find_first_of("<>!") != std::string::npos) {
      text += spec.version;
    }
    auto requirement = Requirement::parse(text);
    if (!requirement) requirement = Requirement::parse(name);
    if (!requirement) continue;
    PackageRequest request;
    request.written = spec.written;
    request.name = requirement->normalised();
    request.requirement = std::move(requirement);
    request.place = running.at.place;
    wanted.requests.push_back(std::move(request));
  }
  install(state, *index, wanted, running);
}

void BuildReader::conda_command(Step& step, const Running& running, const CondaCommand& conda) {
  BuildState& state = *step.state;
  using Action = CondaCommand::Action;
  if (conda.action == Action::other || conda.action == Action::clean || conda.action == Action::config) return;
  const RunCommand& command = *running.command;
  std::string root = conda_prefix(state, running);
  std::string prefix = conda.prefix.empty() ? std::string() : absolute_path(conda.prefix, command.folder.value_or("/"));
  std::vector<CondaSpec> packages = conda.packages;
  std::string not_known = conda.not_known;
  std::string environment = conda.environment;
  std::vector<std::string> pip_lines;
  std::vector<Place> pip_places;
  for (const Argument& file : conda.files) {
    const bool yaml = file.text.ends_with(".yml") || file.text.ends_with(".yaml");
    const auto text = file.text.starts_with('/') || command.folder
                          ? file_text(state, absolute_path(file.text, command.folder.value_or("/")))
                          : std::nullopt;
    if (!text) {
      not_known = fmt::format("what {} holds", escape_for_display(file.text));
      continue;
    }
    if (!yaml) {
      for (const std::string_view line : lines(*text)) {
        const std::string_view plain = trim(line.substr(0, line.find('#')));
        if (plain.empty() || plain.starts_with('@')) continue;
        if (auto spec = parse_conda_spec(plain)) packages.push_back(std::move(*spec));
        if (packages.size() > 10'000) break;
      }
      continue;
    }
    std::string why;
    const auto read = read_conda_environment(*text, std::string(base_name(file.text)), why);
    if (!read) {
      not_known = why;
      continue;
    }
    if (environment.empty() && prefix.empty()) environment = read->name;
    if (environment.empty() && prefix.empty()) prefix = read->prefix;
    for (const auto& package : read->packages) packages.push_back(package.spec);
    for (const auto& line : read->pip) {
      pip_lines.push_back(line.text);
      pip_places.push_back(line.place);
    }
    if (!read->not_known.empty()) not_known = read->not_known.front();
  }
  if (prefix.empty() && !environment.empty() && environment != "base" && !root.empty())
    prefix = root + "/envs/" + environment;
  if (prefix.empty() && (environment.empty() || environment == "base")) {
    prefix = command.variable("CONDA_PREFIX").value_or("");
    const std::string active = command.variable("CONDA_DEFAULT_ENV").value_or("");
    if (prefix.empty() && !active.empty() && active != "base" && !root.empty()) prefix = root + "/envs/" + active;
    if (prefix.empty()) prefix = root;
  }

  CondaInstall record;
  record.at = running.at;
  record.program = conda.program;
  record.prefix = prefix;
  record.not_known = not_known;
  record.empty = conda.empty() && conda.action != Action::create && conda.action != Action::update;
  for (const CondaSpec& spec : packages) {
    PackageRequest request;
    request.written = spec.written;
    request.name = spec.name;
    request.version = spec.version;
    request.place = place_in(step, spec.offset);
    record.packages.push_back(std::move(request));
  }
  const bool installs = conda.action == Action::create || conda.action == Action::install ||
                        conda.action == Action::update || conda.action == Action::environment_create ||
                        conda.action == Action::environment_update;
  if (!installs) return;
  if (build_->conda.size() < max_uses) build_->conda.push_back(std::move(record));
  if (conda.dry_run) return;
  for (const CondaSpec& spec : packages) {
    if (!state.programs.contains(spec.name) || state.programs[spec.name] == ProgramUse::There::no)
      state.programs[spec.name] = ProgramUse::There::unknown;
  }
  if (prefix.empty() || !command.certain) {
    const std::string reason = "into which environment conda installs";
    if (state.pythons_open.empty()) state.pythons_open = reason;
    for (BuildPython& one : state.pythons) {
      if (one.open.empty()) one.open = reason;
    }
    return;
  }
  state.files.mark(prefix, BuildFiles::Mark::base, "which files the environment holds", running.evidence);
  conda_packages(state, prefix, packages, not_known.empty() && conda.urls.empty() && conda.clone.empty(), running);
  if (pip_lines.empty()) return;
  for (std::size_t i = 0; i < state.pythons.size(); ++i) {
    if (state.pythons[i].interpreter.prefix != prefix) continue;
    Wanted wanted;
    for (std::size_t k = 0; k < pip_lines.size(); ++k) {
      if (pip_lines[k].starts_with("-r ")) {
        add_requirements_file(state, running, std::string(trim(std::string_view(pip_lines[k]).substr(3))), false,
                              wanted);
      } else if (pip_lines[k].starts_with("--")) {
        const std::size_t sign = pip_lines[k].find_first_of(" =");
        if (sign != std::string::npos && pip_lines[k].find("index-url") != std::string::npos)
          wanted.indexes.emplace_back(trim(std::string_view(pip_lines[k]).substr(sign + 1)));
      } else if (auto requirement = Requirement::parse(pip_lines[k])) {
        PackageRequest request;
        request.written = pip_lines[k];
        request.name = requirement->normalised();
        request.requirement = std::move(requirement);
        request.place = pip_places[k];
        wanted.requests.push_back(std::move(request));
      } else {
        add_argument(state, running, pip_lines[k], pip_places[k], wanted);
      }
    }
    const FoundPython python = describe(state, i, "pip");
    drop_by_marker(python, wanted);
    PipInstall pip;
    pip.at = running.at;
    pip.interpreter = python.interpreter;
    pip.requests = wanted.requests;
    pip.indexes = wanted.indexes;
    pip.not_known = wanted.not_known;
    if (build_->pip.size() < max_uses) build_->pip.push_back(std::move(pip));
    install(state, i, wanted, running);
    return;
  }
}

void BuildReader::conda_installer(Step& step, const Running& running, const CondaInstaller& installer) {
  BuildState& state = *step.state;
  if (!running.command->certain || (installer.prefix.empty() && !installer.not_known.empty())) {
    if (state.pythons_open.empty()) state.pythons_open = "where conda is installed";
    return;
  }
  std::string prefix = installer.prefix;
  if (prefix.empty()) {
    const std::string name = lower(installer.script);
    prefix = name.find("miniforge") != std::string::npos   ? "/root/miniforge3"
             : name.find("miniconda") != std::string::npos ? "/root/miniconda3"
                                                           : "/root/anaconda3";
  }
  prefix = absolute_path(prefix, running.command->folder.value_or("/"));
  state.files.mark(prefix, BuildFiles::Mark::base, "which files conda's folder holds", running.evidence);
  BuildPython python;
  python.minor_known = false;
  python.not_known = fmt::format("which Python {} has", escape_for_display(installer.script));
  // Miniconda3-py311_23.5.2-0-Linux-x86_64.sh says which.
  std::string script = installer.script;
  if (const auto origin = state.downloads.find(absolute_path(script, running.command->folder.value_or("/")));
      origin != state.downloads.end())
    script = origin->second;
  Interpreter& interpreter = python.interpreter;
  if (const std::size_t at = script.find("-py3"); at != std::string::npos) {
    const std::size_t end = script.find_first_not_of("0123456789", at + 4);
    if (end != std::string::npos && end > at + 4) {
      if (const auto minor = PythonMinor::parse("3." + script.substr(at + 4, end - at - 4))) {
        interpreter.minor = *minor;
        python.minor_known = true;
      }
    }
  }
  interpreter.kind = Interpreter::Kind::conda;
  interpreter.prefix = prefix;
  interpreter.has_venv = interpreter.has_ensurepip = true;
  interpreter.path =
      python.minor_known ? prefix + "/bin/python" + interpreter.minor.to_string() : prefix + "/bin/python";
  interpreter.site_packages = {
      prefix + (python.minor_known ? "/lib/python" + interpreter.minor.to_string() : std::string("/lib")) +
      "/site-packages"};
  const std::size_t index = add_python(state, std::move(python), {"python", "python3"}, running.evidence);
  add_pip(state, index, prefix + "/bin", true, running.evidence);
  state.files.put(prefix + "/bin/conda", program_file(running.evidence));
  if (lower(script).find("forge") != std::string::npos)
    state.files.put(prefix + "/bin/mamba", program_file(running.evidence));
}

}  // namespace imgforge
