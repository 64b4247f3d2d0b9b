// The package managers of distributions.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "facts/build_reader.hpp"
#include "facts/commands.hpp"

namespace imgforge {

namespace {

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
    const LinuxRelease* release = knowledge_.linux_release(state.os);
    if (release != nullptr && release->python)
      state.files.maybe("/usr/bin/python" + release->python->to_string(), reason);
  }
  if (name.ends_with("-dev") || name.starts_with("python3-")) {
    for (const char* program : {"gcc", "g++", "cc", "make", "cmake"}) {
      if (const auto known = state.programs.find(program);
          known != state.programs.end() && known->second == ProgramUse::There::no)
        known->second = ProgramUse::There::unknown;
    }
  }
  if (name == "tini" || name == "dumb-init") state.files.put("/usr/bin/" + name, program_file(evidence));

  if (!apt_python(state, package, running)) apt_cuda(state, package, running);
}

bool BuildReader::apt_python(BuildState& state, const SystemPackage& package, const Running& running) {
  const std::string& name = package.name;
  const Evidence& evidence = running.evidence;
  const LinuxRelease* release = knowledge_.linux_release(state.os);
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
    if (release != nullptr && release->python) {
      const PythonMinor& minor = *release->python;
      const std::size_t index = ensure_python(minor);
      const BuildFiles::Look python3 = state.files.look("/usr/bin/python3", false);
      if (python3.seen != BuildFiles::Seen::yes)
        state.files.put("/usr/bin/python3", link_file("python" + minor.to_string(), evidence));
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

  if (const auto versioned = python_package(name)) {
    const auto& [minor, kind] = *versioned;
    // distutils brings no interpreter.
    if (kind.empty() || kind == "-minimal" || kind == "-dev" || kind == "-venv" || kind == "-full") {
      const std::size_t index = ensure_python(minor);
      if (kind == "-venv" || kind == "-full") state.pythons[index].interpreter.has_ensurepip = true;
    }
    return true;
  }
  if (name == "python3" || name.starts_with("python3-") || name == "python-is-python3" || name == "pipx" ||
      name == "software-properties-common") {
    if (state.os_family == "alpine" ||
        (state.os_family.empty() && state.base_not_known.empty() && state.libc == Libc::Family::musl)) {
      if (state.pythons_open.empty()) state.pythons_open = "which Python this Alpine has";
      return true;
    }
    const auto index = own_python();
    if (!index) return true;
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
    if (name == "python-is-python3") state.files.put("/usr/bin/python", link_file("python3", evidence));
    return true;
  }
  if (name == "python") {
    state.files.maybe("/usr/bin/python", "which Python the package python is");
    if (state.pythons_open.empty()) state.pythons_open = "which Python the package python is";
    return true;
  }
  return false;
}

void BuildReader::apt_cuda(BuildState& state, const SystemPackage& package, const Running& running) {
  const std::string& name = package.name;
  const Evidence& evidence = running.evidence;
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
      if (cuda) state.files.put("/usr/local/cuda", link_file("cuda-" + cuda->to_string(), evidence));
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

}  // namespace imgforge
