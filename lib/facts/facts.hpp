// The fact model: what a worker needs to know of an image, whoever tells it.
//
// Readers fill it in (from_image.hpp; recipes and Dockerfiles have theirs); rules ask. A fact is computed when it is
// first asked for, so a rule that is not asked costs nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/requirement.hpp"
#include "base/version.hpp"
#include "facts/fact.hpp"
#include "image/platform.hpp"

namespace imgforge {

/// /etc/os-release (freedesktop.org os-release(5)).
struct OsRelease {
  std::string id;          // "debian", "ubuntu", "alpine"
  std::string version_id;  // "12", "22.04"
  std::string code_name;   // "bookworm"
  std::string pretty_name;
  std::string id_like;     // "debian", "rhel fedora"
};

struct Libc {
  enum class Family { glibc, musl };
  Family family = Family::glibc;
  std::string version;  // "2.36" where a file proves it, else empty
};

/// The user that the image's config asks for, resolved in /etc/passwd and /etc/group as runtimes do.
struct User {
  std::string written;  // "", "1000:1000", "spark"
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string home;
  std::vector<std::uint32_t> groups;  // supplementary ones; none where the config names a group
  bool is_root() const { return uid == 0; }
};

struct WorkingDirectory {
  std::string path;            // absolute
  bool exists = false;
  bool is_directory = false;
  bool writable = false;       // by the config's user, from owner, group and mode bits; a missing one is made by the
                               // runtime and belongs to root
};

/// What a program in the entrypoint is found to be.
enum class Program {
  boot,      // /opt/apache/beam/boot, or a link to it
  launcher,  // the Flex Template launcher (/opt/google/dataflow/*_template_launcher)
  other,     // something else that is in the image
  missing,   // nothing of that name in the image
};

/// The entrypoint followed to its end: through tini and its kin, env, conda run, sh -c, scripts that end in exec.
/// An image without an entrypoint has the fact with an empty `entrypoint` and Program::other.
struct Entrypoint {
  std::vector<std::string> entrypoint;  // of the config
  std::vector<std::string> cmd;
  std::vector<std::string> chain;       // canonical paths, from the first program to the last that could be followed
  Program ends_in = Program::other;
  bool arguments_dropped = false;       // the runtime's arguments do not reach the end ("$@" missing, shell form)
  bool boot_in_cmd_only = false;        // the entrypoint, if there is one, does not end in boot, and Cmd names boot
  std::string last;                     // what the chain ends in, as written
  std::string why;                      // where it does not end in boot, what is wrong, if more than that: "is not executable"
};

/// /opt/apache/beam/boot.
struct Boot {
  std::string path;                 // canonical, after links; of a broken link, the link itself
  std::string broken_link;          // where a link on the way leads to that is not there, or "a circle of links"; else empty
  bool regular = false;
  bool executable = false;          // an x bit is set
  bool elf = false;
  unsigned machine = 0;             // e_machine
  bool dynamic = false;
  std::string interpreter;          // PT_INTERP of a dynamic one
  bool interpreter_found = false;   // in the image
  std::vector<std::string> glibc_versions;     // that it needs: "GLIBC_2.34"
  std::vector<std::string> missing_versions;   // of those, the ones that the image's libc does not define
};

struct Interpreter {
  enum class Kind { system, conda, venv, standalone };
  std::string path;                    // canonical: "/usr/local/bin/python3.11"
  PythonMinor minor;
  std::optional<Version> version;      // exact, where a file proves it
  Kind kind = Kind::system;
  std::string prefix;                  // "/usr/local"
  std::vector<std::string> on_path_as; // names by which PATH finds it: "python", "python3", "python3.11"
  std::vector<std::string> site_packages;  // folders in effect, in order, those that exist
  bool has_venv = false;               // the venv module
  bool has_ensurepip = false;          // ensurepip and a pip wheel for it (bundled, or Debian's /usr/share/python-wheels)
  std::optional<Version> pip;          // the pip distribution in its site-packages
  bool has_pip = false;                // of a Dockerfile or a recipe: it has one, whose version is not known
  std::string home;                    // of a venv: pyvenv.cfg's home
  bool externally_managed = false;     // PEP 668
  std::vector<Evidence> evidence;
};
std::string to_string(Interpreter::Kind kind);

/// One installed Python distribution (dist-info or egg-info).
struct Distribution {
  std::string name;                    // normalised (PEP 503)
  std::string version_text;            // as METADATA has it; of a Dockerfile, the specifiers that were asked for
  std::optional<Version> version;      // nothing where it is no PEP 440 version
  std::string site;                    // the folder that holds it
  std::string metadata_path;
  std::vector<std::string> requires_dist;  // as written
  std::string requires_python;
  std::string installer;
  std::vector<std::string> extras;     // that were asked for; only a Dockerfile or recipe tells
  std::vector<std::string> wheel_tags; // WHEEL's Tag lines: "cp311-cp311-manylinux_2_17_x86_64"
  bool editable = false;               // PEP 660, PEP 610 direct_url.json, or an egg-link
  std::string direct_url;              // PEP 610; empty where it came from an index
  Evidence evidence;
};

/// Extension modules in a distribution none of which the interpreter of its folder can import.
struct ForeignModules {
  std::string distribution;            // normalised name; empty where no distribution owns them
  std::string site;
  std::string tag;                     // "cpython-310-x86_64-linux-gnu"
  std::size_t modules = 0;
  std::string example;                 // path
  Evidence evidence;
};

/// What a name on PATH leads to.
struct Command {
  std::string found_at;   // first PATH entry that has it: "/usr/local/bin/python"
  std::string canonical;  // after links; empty where it dangles
  bool dangles = false;
  bool executable = false;
};

/// The interpreter that this Beam release's boot starts, and how it comes to it.
struct WorkerPython {
  std::size_t interpreter = 0;  // position in interpreters()
  std::string by;               // "PYTHON_PATH", "python", "python3"
};

/// Machines of ELF files below site-packages folders.
struct SiteMachines {
  std::map<unsigned, std::size_t> files;             // by e_machine
  std::map<unsigned, std::pair<std::string, Evidence>> example;  // by e_machine: a path and where it is
};

/// CUDA as the image has it: the toolkit's libraries in a folder, or as wheels.
struct CudaToolkit {
  enum class From { base, apt, runfile, conda, wheels, files };
  From from = From::base;
  std::optional<Version> version;      // as far as it is known: "12.2", "12.2.2"; of wheels, of nvidia-cuda-runtime
  enum class Flavour { unknown, base, runtime, devel };  // of nvidia/cuda: base has libcudart alone
  Flavour flavour = Flavour::unknown;
  std::string folder;                  // "/usr/local/cuda-12.2"; empty of wheels
  std::vector<Evidence> evidence;
};

/// A cuDNN library.
struct Cudnn {
  CudaToolkit::From from = CudaToolkit::From::base;
  unsigned major = 0;
  std::optional<Version> version;      // "8.9.6.50"; nothing where only the major is known
  std::string folder;                  // that holds libcudnn.so.N; empty where it is not known
  std::vector<Evidence> evidence;
};

/// TensorFlow, PyTorch or JAX as the worker's interpreter would import it.
struct Framework {
  enum class Build {
    pypi,           // a wheel of PyPI
    pytorch_index,  // of download.pytorch.org: the local version says which
    ngc,            // NVIDIA's own
    conda,
    unknown,
  };
  std::string name;                    // "tensorflow", "torch", "jax"
  std::optional<Version> version;      // nothing where it was asked for without a version
  Build build = Build::pypi;
  std::string local;                   // "cu121", "cpu", empty
  std::string package;                 // the distribution: "tensorflow", "tensorflow-cpu", "tensorflow-gpu", "jax"
  bool cpu_only = false;               // +cpu, tensorflow-cpu, jax without a plugin
  bool brings_cuda = false;            // CUDA and cuDNN come as wheels with it: torch of PyPI, tensorflow[and-cuda], jax[cuda12]
  bool tpu = false;                    // jax[tpu], torch_xla[tpu]
  bool in_base = false;                // the base image has it
  std::vector<Evidence> evidence;
};

/// A library that the driver brings, as a file of the image: libcuda.so.550.54.15.
struct DriverLibrary {
  std::string path;
  std::string version;                 // of its name
  Evidence evidence;
};

/// What a framework loads and the image's loader would not find, or would find too old.
struct LoaderGap {
  std::string framework;               // "torch"
  std::string needed_by;               // path of the file that needs it
  std::string library;                 // "libcublas.so.12"
  std::string problem;                 // "is not found", "does not define GLIBCXX_3.4.30"
  std::vector<Evidence> evidence;
};

/// Which of several files a framework's library would be, by the loader's real order.
struct LoadedLibrary {
  std::string framework;               // "tensorflow"
  std::string library;                 // "libcudnn.so.8"
  std::string path;                    // canonical path of the one that is loaded; empty where there is none
  std::string by;                      // "LD_LIBRARY_PATH", "DT_RPATH of ...", "ld.so.conf", "preloaded by torch"
  std::vector<Evidence> evidence;
};

/// A folder that the loader searches because the image says so.
struct LibraryFolder {
  enum class By { ld_library_path, ld_so_conf };
  By by = By::ld_library_path;
  std::string written;                 // as the variable or the file has it; "" is an empty element
  std::string path;                    // absolute, links followed where it exists
  bool exists = false;
  bool holds_libcuda = false;          // a libcuda.so.1 (compat or stubs)
  std::vector<Evidence> evidence;
};

/// Something in a layer that nobody should have who has the image.
struct Secret {
  std::string kind;                    // "a service account key", "an OpenSSH private key"; never the secret itself
  std::string place;                   // path, "Env.AWS_SECRET_ACCESS_KEY", "history 7"
  bool removed_later = false;          // a later layer deletes or replaces the file: it is still in this one
  Evidence evidence;
};

struct ImageSize {
  std::uint64_t compressed = 0;        // bytes of the layers' blobs, as they are pulled; 0 where a source has them plain
  std::uint64_t unpacked = 0;          // bytes of the files, layer by layer, hidden ones among them
};

/// Bytes that a later layer hides.
struct Waste {
  std::uint64_t bytes = 0;
  struct Path {
    std::string path;
    std::uint64_t bytes = 0;
    Evidence evidence;
  };
  std::vector<Path> worst;             // the largest first, at most ten
};

/// A Flex Template launcher binary below /opt/google/dataflow.
struct FlexLauncher {
  std::string path;
  std::optional<PythonMinor> python;   // of the launcher image that it comes from
  std::vector<Evidence> evidence;
};

/// What the Spark service asks of an image, beside its user.
struct SparkNeeds {
  Fact<bool> procps = Fact<bool>::unknown("not read");        // ps
  Fact<bool> tini = Fact<bool>::unknown("not read");
  Fact<bool> spark = Fact<bool>::unknown("not read");         // a Spark distribution, or pyspark
  Fact<bool> java = Fact<bool>::unknown("not read");
  Fact<User> user_spark = Fact<User>::unknown("not read");    // the account "spark"; absent: there is none
  bool home_exists = true;
  Fact<std::uint32_t> group_spark = Fact<std::uint32_t>::unknown("not read");  // the gid of the group "spark"
};

struct Build;

struct Facts {
  LazyFact<Platform> platform;
  LazyFact<OsRelease> os_release;
  LazyFact<Libc> libc;
  LazyFact<std::vector<std::pair<std::string, std::string>>> env;
  LazyFact<std::map<std::string, std::string>> labels;
  LazyFact<User> user;
  LazyFact<WorkingDirectory> workdir;
  LazyFact<Entrypoint> entrypoint;
  LazyFact<Boot> boot;                  // absent: nothing at /opt/apache/beam/boot; a dangling link is known, with broken_link
  LazyFact<Version> boot_version;       // of the SDK that boot came from: PKG-INFO in tars/apache-beam.tar.gz
  LazyFact<std::vector<Interpreter>> interpreters;
  LazyFact<std::vector<Distribution>> distributions;  // of every site-packages in effect, nearest first
  LazyFact<std::map<std::string, Command>> commands;  // python, python3, pip: those that PATH finds
  LazyFact<Command> usr_local_pip;      // /usr/local/bin/pip, links followed
  LazyFact<Command> python_path;        // the program that the variable PYTHON_PATH names (a path, or a name on PATH)
  LazyFact<WorkerPython> worker_python; // by the release that boot came from, else by that of the installed apache-beam
  LazyFact<Version> beam_version;       // apache-beam in the worker interpreter's site-packages; else boot's
  LazyFact<Distribution> beam;          // apache-beam as the worker's interpreter would import it
  LazyFact<bool> venv_folder_writable;  // can the config's user create /opt/apache/beam-venv
  LazyFact<SiteMachines> site_machines;
  LazyFact<std::vector<CudaToolkit>> cuda;        // known and empty: there is none
  LazyFact<std::vector<Cudnn>> cudnn;
  LazyFact<std::vector<Framework>> frameworks;
  LazyFact<FlexLauncher> flex_launcher;
  LazyFact<SparkNeeds> spark;
  LazyFact<std::vector<std::string>> missing_library_folders;  // of LD_LIBRARY_PATH: proven not to be there
  LazyFact<std::vector<LibraryFolder>> library_folders;  // LD_LIBRARY_PATH, then ld.so.conf with its includes
  LazyFact<std::vector<DriverLibrary>> driver_libraries;  // outside of compat and stubs folders, not empty
  LazyFact<std::vector<LoaderGap>> loader_gaps;           // of the frameworks of the worker's interpreter
  LazyFact<std::vector<LoadedLibrary>> loaded_libraries;  // cuDNN, cuBLAS, cudart of those frameworks
  LazyFact<bool> ptxas;                           // a ptxas that XLA finds: the toolkit's, or a wheel's
  LazyFact<std::vector<ForeignModules>> foreign_modules;
  LazyFact<std::vector<Secret>> secrets;
  LazyFact<ImageSize> image_size;
  LazyFact<Waste> waste;
  LazyFact<std::map<std::string, std::string>> system_packages;  // versions by name, of dpkg or apk; absent: neither is there
  /// Whether an absolute path is in the image, links followed; empty where no image is read.
  std::function<Fact<bool>(const std::string& path)> has_path;
  LazyFact<bool> tpu_library;                     // the file that TPU_LIBRARY_PATH names is there
  LazyFact<bool> libtpu;                          // something installs an XLA stack for the TPU
  std::shared_ptr<const Build> build;             // of a Dockerfile or a recipe; null for an image
  /// Why variables beyond those of `env` may be set: an unknown base. Empty where env is all.
  std::string env_open;
  /// Variables that are set to something that is not known, with the reason.
  std::map<std::string, std::string, std::less<>> env_unknown;
  /// Where a variable is set, of a Dockerfile or a recipe; "" of a base's own.
  std::map<std::string, Evidence, std::less<>> env_places;

  /// The value of an environment variable; nothing where it is not set or env is not known.
  std::optional<std::string> variable(std::string_view name) const;
  /// Where it is set: a place of the Dockerfile or recipe, else the image's config key.
  Evidence variable_evidence(std::string_view name) const;
  /// The interpreter of worker_python, or null.
  const Interpreter* worker_interpreter() const;
  /// The distributions that the worker's interpreter sees, nearest first; empty where that is not known.
  std::vector<const Distribution*> worker_distributions() const;
};

}  // namespace imgforge
