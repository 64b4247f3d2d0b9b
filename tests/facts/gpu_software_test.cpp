// CUDA, cuDNN, frameworks and the loader's folders of whole images: shapes of those that upstream publishes, and what
// people do to them.
#include "facts/gpu_software.hpp"

#include <catch2/catch.hpp>

#include "base/text.hpp"
#include "facts/fake_image.hpp"

using namespace imgforge;
using namespace imgforge::test;

namespace {

const std::string site = "usr/local/lib/python3.11/site-packages";
const std::string debian_libraries = "usr/lib/x86_64-linux-gnu";

Files cuda_files(const std::string& release, const std::string& library, const std::string& soname) {
  const std::string home = "usr/local/cuda-" + release;
  const std::string lib = home + "/targets/x86_64-linux/lib";
  return {file(lib + "/" + library, "ELF"), soft_link(lib + "/" + soname, library),
          file(lib + "/libcublas.so.12.2.5.6", "ELF"), soft_link(home + "/lib64", "targets/x86_64-linux/lib"),
          soft_link("usr/local/cuda", "cuda-" + release)};
}

Files cudnn_files(const std::string& folder, const std::string& version) {
  const std::string soname = "libcudnn.so." + version.substr(0, version.find('.'));
  return {file(folder + "/libcudnn.so." + version, "ELF"), soft_link(folder + "/" + soname, "libcudnn.so." + version)};
}

/// Beam's worker on nvidia/cuda's shape of files.
FakeImage gpu_image() {
  FakeImage image = healthy_worker();
  image.layer(cuda_files("12.2", "libcudart.so.12.2.140", "libcudart.so.12") + cudnn_files(debian_libraries, "8.9.6") +
              Files{file("etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n"),
                    file("etc/ld.so.conf.d/000_cuda.conf", "/usr/local/cuda/targets/x86_64-linux/lib\n"),
                    file("etc/ld.so.conf.d/nvidia.conf", "/usr/local/nvidia/lib\n/usr/local/nvidia/lib64\n")});
  image.env("LD_LIBRARY_PATH", "/usr/local/nvidia/lib:/usr/local/nvidia/lib64");
  return image;
}

Files wheel(const std::string& name, const std::string& version,
            const std::string& tag = "cp311-cp311-manylinux_2_17_x86_64", const std::string& requires_dist = {},
            const std::string& installer = "pip") {
  const std::string info = site + "/" + name + "-" + version + ".dist-info";
  return {file(info + "/METADATA",
               "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n" + requires_dist + "\ntext\n"),
          file(info + "/INSTALLER", installer + "\n"), file(info + "/WHEEL", "Wheel-Version: 1.0\nTag: " + tag + "\n")};
}

File build_info(bool cuda) {
  return file(site + "/tensorflow/python/platform/build_info.py",
              std::string("build_info = collections.OrderedDict([('cuda_version', '12.2'), ('is_cuda_build', ") +
                  (cuda ? "True" : "False") + "), ('is_rocm_build', False)])\n");
}

/// "12.2 base runtime /usr/local/cuda-12.2", ...
std::string cuda_of(const FakeImage& image) {
  const FactsOf facts(image);
  std::string text;
  for (const CudaToolkit& one : facts->cuda().value()) {
    if (!text.empty()) text += "; ";
    text += one.version->to_string();
    text += one.from == CudaToolkit::From::wheels  ? " wheels"
            : one.from == CudaToolkit::From::conda ? " conda"
            : one.from == CudaToolkit::From::base  ? " base"
            : one.from == CudaToolkit::From::apt   ? " apt"
                                                   : " files";
    text += one.flavour == CudaToolkit::Flavour::devel  ? " devel"
            : one.flavour == CudaToolkit::Flavour::base ? " cudart"
                                                        : "";
    if (!one.folder.empty()) text += " " + one.folder;
  }
  return text;
}

std::string cudnn_of(const FakeImage& image) {
  const FactsOf facts(image);
  std::string text;
  for (const Cudnn& one : facts->cudnn().value()) {
    if (!text.empty()) text += "; ";
    text += one.version ? one.version->to_string() : std::to_string(one.major) + "?";
    text += " " + one.folder;
  }
  return text;
}

/// "tensorflow 2.15.1 pypi cuda", with what is true of it.
std::string frameworks_of(const FakeImage& image) {
  const FactsOf facts(image);
  if (facts->frameworks().is_unknown()) return facts->frameworks().reason();
  std::string text;
  for (const Framework& one : facts->frameworks().value()) {
    if (!text.empty()) text += "; ";
    text += one.package + " " + one.version->to_string();
    if (!one.local.empty()) text += "+" + one.local;
    text += one.build == Framework::Build::pypi            ? " pypi"
            : one.build == Framework::Build::pytorch_index ? " index"
            : one.build == Framework::Build::ngc           ? " ngc"
            : one.build == Framework::Build::conda         ? " conda"
                                                           : " unknown";
    if (one.cpu_only) text += " cpu";
    if (one.brings_cuda) text += " brings";
    if (one.tpu) text += " tpu";
  }
  return text;
}

FakeImage with(FakeImage image, const Files& files) {
  image.layer(files);
  return image;
}

}  // namespace

TEST_CASE("CUDA by its libraries", "[image][gpu]") {
  CHECK(cuda_of(healthy_worker()).empty());
  // The number of libcudart is not that of the toolkit: it proves the release.
  CHECK(cuda_of(gpu_image()) == "12.2 files /usr/local/cuda-12.2");
  CHECK(cuda_of(with(gpu_image(), {file("usr/local/cuda-12.2/version.json",
                                        R"({"cuda": {"name": "CUDA SDK", "version": "12.2.2"}})")})) ==
        "12.2.2 files /usr/local/cuda-12.2");
  // A date is no update, and what another toolkit's file says is not believed.
  CHECK(cuda_of(with(gpu_image(),
                     {file("usr/local/cuda-12.2/version.json", R"({"cuda": {"version": "12.2.20230823"}})")})) ==
        "12.2 files /usr/local/cuda-12.2");
  CHECK(cuda_of(with(gpu_image(), {file("usr/local/cuda-12.2/version.json", R"({"cuda": {"version": "12.4.1"}})")})) ==
        "12.2 files /usr/local/cuda-12.2");
  CHECK(cuda_of(with(gpu_image(), {file("usr/local/cuda-12.2/version.json", std::string(2000, '['))})) ==
        "12.2 files /usr/local/cuda-12.2");
  CHECK(cuda_of(with(gpu_image(), {file("usr/local/cuda-12.2/bin/nvcc", "ELF", 0755)})) ==
        "12.2 files devel /usr/local/cuda-12.2");
  FakeImage old = healthy_worker();
  old.layer({file("usr/local/cuda-11.8/lib64/libcudart.so.11.8.89", "ELF"),
             soft_link("usr/local/cuda-11.8/lib64/libcudart.so.11.0", "libcudart.so.11.8.89")});
  CHECK(cuda_of(old) == "11.8 files cudart /usr/local/cuda-11.8");
  // Variables prove nothing, neither that it is there nor which it is.
  FakeImage claims = healthy_worker();
  claims.env("CUDA_VERSION", "12.2.2").env("NVIDIA_REQUIRE_CUDA", "cuda>=12.2");
  CHECK(cuda_of(claims).empty());
  FakeImage base = gpu_image();
  base.env("CUDA_VERSION", "11.8.0").env("NVIDIA_REQUIRE_CUDA", "cuda>=11.8");
  CHECK(cuda_of(base) == "12.2 base /usr/local/cuda-12.2");
}

TEST_CASE("CUDA that no loader finds stands behind one that it finds", "[image][gpu]") {
  const FakeImage two = with(gpu_image(), {file("opt/old/lib/libcudart.so.11.8.89", "ELF"),
                                           soft_link("opt/old/lib/libcudart.so.11.0", "libcudart.so.11.8.89")});
  CHECK(cuda_of(two) == "12.2 files /usr/local/cuda-12.2");
  FakeImage first = two;
  first.env("LD_LIBRARY_PATH", "/opt/old/lib:/usr/local/nvidia/lib64");
  CHECK(cuda_of(first) == "11.8 files cudart /opt/old; 12.2 files /usr/local/cuda-12.2");
  FakeImage script = two;
  script.layer({file("start.sh", "#!/bin/sh\nexport LD_LIBRARY_PATH=$X\nexec /opt/apache/beam/boot \"$@\"\n", 0755)});
  script.image_config.entrypoint = {"/start.sh"};
  CHECK(cuda_of(script) == "12.2 files /usr/local/cuda-12.2; 11.8 files cudart /opt/old");
}

TEST_CASE("CUDA as wheels and in conda's prefix", "[image][gpu]") {
  CHECK(cuda_of(with(healthy_worker(),
                     wheel("nvidia-cuda-runtime-cu12", "12.4.127", "py3-none-manylinux2014_x86_64"))) == "12.4 wheels");
  CHECK(cuda_of(with(healthy_worker(), wheel("torch", "2.0.1+cu118", "cp311-cp311-linux_x86_64"))) == "11.8 wheels");
  CHECK(cuda_of(with(healthy_worker(),
                     {file("opt/conda/lib/libcudart.so.12", "ELF"), file("opt/conda/lib/libcublas.so.12", "ELF"),
                      file("opt/conda/conda-meta/cuda-cudart-12.1.105-0.json", "{}")})) == "12.1 conda /opt/conda");
  // What a package carries inside of itself is nobody else's.
  CHECK(cuda_of(with(healthy_worker(), {file(site + "/torch/lib/libcudart.so.12", "ELF")})).empty());
}

TEST_CASE("cuDNN by the file behind its soname", "[image][gpu]") {
  CHECK(cudnn_of(healthy_worker()).empty());
  CHECK(cudnn_of(gpu_image()) == "8.9.6 /usr/lib/x86_64-linux-gnu");
  const std::string status = "Package: libcudnn8\nStatus: install ok installed\nVersion: 8.9.6.50-1+cuda12.2\n\n";
  CHECK(cudnn_of(with(gpu_image(), {file("var/lib/dpkg/status", status)})) == "8.9.6.50 /usr/lib/x86_64-linux-gnu");
  // The package's record is of the file that was replaced.
  const FakeImage replaced =
      with(with(gpu_image(), {file("var/lib/dpkg/status", status)}), cudnn_files(debian_libraries, "8.4.1"));
  CHECK(cudnn_of(replaced) == "8.4.1 /usr/lib/x86_64-linux-gnu");
  FakeImage claims = gpu_image();
  claims.env("NV_CUDNN_VERSION", "9.1.0.70-1");
  CHECK(cudnn_of(claims) == "8.9.6 /usr/lib/x86_64-linux-gnu");
  const std::string header = "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 3\n#define CUDNN_PATCHLEVEL 0\n";
  FakeImage bare = healthy_worker();
  bare.layer({file("usr/lib/libcudnn.so.9", "ELF")});
  CHECK(cudnn_of(bare) == "9? /usr/lib");
  bare.layer({file("usr/include/cudnn_version.h", header)});
  CHECK(cudnn_of(bare) == "9.3.0 /usr/lib");
}

TEST_CASE("cuDNN where loaders look, in their order", "[image][gpu]") {
  const FakeImage off_path = with(gpu_image(), cudnn_files("opt/old/lib", "8.4.1"));
  CHECK(cudnn_of(off_path) == "8.9.6 /usr/lib/x86_64-linux-gnu");
  FakeImage first = off_path;
  first.env("LD_LIBRARY_PATH", "/opt/old/lib:/usr/local/nvidia/lib64");
  CHECK(cudnn_of(first) == "8.4.1 /opt/old/lib; 8.9.6 /usr/lib/x86_64-linux-gnu");
  CHECK(cudnn_of(with(off_path, {file("etc/ld.so.conf.d/zz.conf", "# mine\n/opt/old/lib\n")})) ==
        "8.4.1 /opt/old/lib; 8.9.6 /usr/lib/x86_64-linux-gnu");
  const std::string cache = std::string("glibc-ld.so.cache1.1") + std::string(8, '\0') + "libcudnn.so.8" + '\0' +
                            "/opt/old/lib/libcudnn.so.8" + '\0';
  CHECK(cudnn_of(with(off_path, {file("etc/ld.so.cache", cache)})) ==
        "8.4.1 /opt/old/lib; 8.9.6 /usr/lib/x86_64-linux-gnu");
  // No name that a loader asks for; a link to nothing; an empty file.
  CHECK(cudnn_of(with(healthy_worker(), {file("usr/lib/libcudnn.so.8.9.6", "ELF")})).empty());
  CHECK(cudnn_of(with(healthy_worker(), {soft_link("usr/lib/libcudnn.so.8", "libcudnn.so.8.9.6")})).empty());
  CHECK(cudnn_of(with(healthy_worker(), {file("usr/lib/libcudnn.so.8")})).empty());
  CHECK(cudnn_of(with(healthy_worker(), wheel("nvidia-cudnn-cu12", "9.1.0.70") +
                                            Files{file(site + "/nvidia/cudnn/lib/libcudnn.so.9", "ELF")})) ==
        "9.1.0.70 /" + site + "/nvidia/cudnn/lib");
}

TEST_CASE("who built a framework", "[image][gpu]") {
  CHECK(frameworks_of(healthy_worker()).empty());
  CHECK(frameworks_of(with(gpu_image(), wheel("tensorflow", "2.15.1"))) == "tensorflow 2.15.1 pypi");
  CHECK(frameworks_of(with(gpu_image(), wheel("tensorflow", "2.15.1", "cp311-cp311-manylinux_2_17_x86_64", "",
                                              "uv"))) == "tensorflow 2.15.1 pypi");
  CHECK(frameworks_of(with(gpu_image(), wheel("tensorflow", "2.15.1", "cp311-cp311-linux_x86_64"))) ==
        "tensorflow 2.15.1 unknown");
  CHECK(frameworks_of(with(gpu_image(), wheel("tensorflow", "2.15.0+nv24.2", "cp311-cp311-linux_x86_64"))) ==
        "tensorflow 2.15.0+nv24.2 ngc");
  CHECK(frameworks_of(with(gpu_image(), wheel("torch", "2.3.0a0+6ddf5cf85e.nv24.4", "cp311-cp311-linux_x86_64"))) ==
        "torch 2.3.0a0+6ddf5cf85e.nv24.4 ngc");
  CHECK(frameworks_of(with(gpu_image(), wheel("tensorflow", "2.15.1", "cp311-cp311-manylinux_2_17_x86_64", "",
                                              "conda"))) == "tensorflow 2.15.1 conda");
  const Files local = wheel("tensorflow", "2.15.1") + Files{file(site + "/tensorflow-2.15.1.dist-info/direct_url.json",
                                                                 R"({"url": "file:///src/dist/tensorflow.whl"})")};
  CHECK(frameworks_of(with(gpu_image(), local)) == "tensorflow 2.15.1 unknown");
  CHECK(frameworks_of(with(gpu_image(), wheel("torch", "2.4.1"))) == "torch 2.4.1 pypi brings");
  CHECK(frameworks_of(with(gpu_image(), wheel("torch", "2.4.1+cu121", "cp311-cp311-linux_x86_64"))) ==
        "torch 2.4.1+cu121 index brings");
  CHECK(frameworks_of(with(gpu_image(), wheel("torch", "2.4.1+cpu", "cp311-cp311-linux_x86_64"))) ==
        "torch 2.4.1+cpu index cpu");
}

TEST_CASE("what a build says of itself decides whether it is for the GPU", "[image][gpu]") {
  CHECK(frameworks_of(with(gpu_image(), wheel("tensorflow", "2.15.1") + Files{build_info(false)})) ==
        "tensorflow 2.15.1 pypi cpu");
  CHECK(frameworks_of(with(gpu_image(), wheel("tensorflow", "2.15.1") + Files{build_info(true)})) ==
        "tensorflow 2.15.1 pypi");
  CHECK(frameworks_of(with(gpu_image(), wheel("tensorflow-cpu", "2.15.1"))) == "tensorflow-cpu 2.15.1 pypi cpu");
  const auto torch = [](const std::string& cuda, const std::string& hip) {
    return wheel("torch", "2.4.1") +
           Files{file(site + "/torch/version.py",
                      "__version__ = '2.4.1'\ncuda: Optional[str] = " + cuda + "\nhip: Optional[str] = " + hip + "\n")};
  };
  CHECK(frameworks_of(with(gpu_image(), torch("'12.1'", "None"))) == "torch 2.4.1 pypi brings");
  CHECK(frameworks_of(with(gpu_image(), torch("None", "None"))) == "torch 2.4.1 pypi cpu");
  CHECK(frameworks_of(with(gpu_image(), torch("None", "'6.0'"))) == "torch 2.4.1+rocm6.0 pypi");
}

TEST_CASE("JAX by its plugins", "[image][gpu]") {
  const Files jax = wheel("jax", "0.4.35", "py3-none-any") + wheel("jaxlib", "0.4.34");
  CHECK(frameworks_of(with(gpu_image(), jax)) == "jax 0.4.35 pypi cpu");
  CHECK(frameworks_of(with(gpu_image(), jax + wheel("jax-cuda12-plugin", "0.4.35"))) == "jax 0.4.35 pypi");
  CHECK(frameworks_of(with(gpu_image(), jax + wheel("jax-cuda12-plugin", "0.4.35") +
                                            wheel("nvidia-cudnn-cu12", "9.1.0.70"))) == "jax 0.4.35 pypi brings");
  CHECK(frameworks_of(
            with(gpu_image(), wheel("jax", "0.4.13", "py3-none-any") + wheel("jaxlib", "0.4.13+cuda12.cudnn89"))) ==
        "jax 0.4.13+cuda12.cudnn89 pypi");
  CHECK(frameworks_of(with(gpu_image(), jax + wheel("libtpu", "0.0.5", "py3-none-manylinux_2_31_x86_64"))) ==
        "jax 0.4.35 pypi tpu");
}

TEST_CASE("whose wheels they are", "[image][gpu]") {
  const std::string asks = "Requires-Dist: nvidia-cudnn-cu12==8.9.4.25; extra == 'and-cuda'\n";
  const Files tensorflow = wheel("tensorflow", "2.15.1", "cp311-cp311-manylinux_2_17_x86_64", asks);
  const Files runtime = wheel("nvidia-cuda-runtime-cu12", "12.2.140");
  CHECK(frameworks_of(with(gpu_image(), tensorflow + runtime + wheel("nvidia-cudnn-cu12", "8.9.4.25"))) ==
        "tensorflow 2.15.1 pypi brings");
  // Another version, and the image has cuDNN of its own: somebody else's. Without one, there is nothing else to load.
  CHECK(frameworks_of(with(gpu_image(), tensorflow + runtime + wheel("nvidia-cudnn-cu12", "9.1.0.70"))) ==
        "tensorflow 2.15.1 pypi");
  CHECK(frameworks_of(with(healthy_worker(), tensorflow + runtime + wheel("nvidia-cudnn-cu12", "8.9.7.29"))) ==
        "tensorflow 2.15.1 pypi brings");
  CHECK(frameworks_of(with(healthy_worker(), tensorflow + runtime + wheel("nvidia-cudnn-cu12", "9.1.0.70"))) ==
        "tensorflow 2.15.1 pypi");
  // torch's wheels beside a plain tensorflow on an image without CUDA do not make that one's a GPU build.
  CHECK(frameworks_of(with(healthy_worker(),
                           tensorflow + runtime + wheel("nvidia-cudnn-cu12", "9.1.0.70") + wheel("torch", "2.4.1"))) ==
        "tensorflow 2.15.1 pypi; torch 2.4.1 pypi brings");
}

TEST_CASE("where the loader looks", "[image][gpu]") {
  FakeImage image = gpu_image();
  image.env("LD_LIBRARY_PATH",
            "/usr/local/nvidia/lib64:/usr/local/cuda/lib64/::$ORIGIN/x:/usr/local/cuda-11.0/lib64/:relative");
  image.layer({file("usr/local/cuda-12.2/compat/libcuda.so.535.104.05", "ELF"),
               soft_link("usr/local/cuda-12.2/compat/libcuda.so.1", "libcuda.so.535.104.05")});
  const FactsOf facts(image);
  const auto& folders = facts->library_folders().value();
  REQUIRE(folders.size() == 9);
  CHECK_FALSE(folders[0].exists);
  CHECK(folders[1].path == "/usr/local/cuda-12.2/targets/x86_64-linux/lib");
  CHECK(folders[2].written.empty());
  CHECK(folders[2].path == "/");
  CHECK(folders[3].path.empty());
  CHECK(folders[6].by == LibraryFolder::By::ld_so_conf);
  CHECK(folders[6].path == "/usr/local/cuda-12.2/targets/x86_64-linux/lib");
  CHECK(folders[8].path == "/usr/local/nvidia/lib64");
  CHECK(facts->missing_library_folders().value() == std::vector<std::string>{"/usr/local/cuda-11.0/lib64"});
  FakeImage compat = image;
  compat.env("LD_LIBRARY_PATH", "/usr/local/cuda/compat");
  CHECK(FactsOf(compat)->library_folders()->front().holds_libcuda);
}

TEST_CASE("ld.so.conf", "[image][gpu]") {
  const auto of = [](const std::string& text) {
    std::string all;
    for (const LoaderLine& line : parse_loader_conf(text)) all += (line.include ? "<" : "[") + line.text + "]";
    return all;
  };
  CHECK(of("# c\n /a # b\n/c:/d,/e\t/f=libc6\nhwcap 1 x\nrelative\ninclude x/*.conf\n") ==
        "[/a][/c][/d][/e][/f]<x/*.conf]");
  FakeImage circle;
  circle.layer({file("etc/ld.so.conf", "include ld.so.conf\ninclude a.conf\n"),
                file("etc/a.conf", "include a.conf\ninclude ld.so.conf\n/x\n")});
  const FactsOf facts(circle);
  REQUIRE(facts->library_folders()->size() == 1);
  CHECK(facts->library_folders()->front().path == "/x");
}

TEST_CASE("the driver's libraries", "[image][gpu]") {
  const auto of = [](const Files& files) {
    const FakeImage image = with(gpu_image(), files);
    const FactsOf facts(image);
    std::string all;
    for (const DriverLibrary& one : facts->driver_libraries().value()) all += one.path + " " + one.version + ";";
    return all;
  };
  const std::string real = debian_libraries + "/libcuda.so.535.104.05";
  CHECK(of({file(real, "ELF"), soft_link(debian_libraries + "/libcuda.so.1", "libcuda.so.535.104.05")}) ==
        "/usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05 535.104.05;");
  CHECK(of({file(real)}).empty());  // what a runtime's mount left behind
  CHECK(of({file("usr/local/cuda-12.2/compat/libcuda.so.535.104.05", "ELF")}).empty());
  CHECK(of({file("usr/local/cuda-12.2/compat.real/libcuda.so.535.104.05", "ELF")}).empty());
  CHECK(of({file("usr/local/cuda-12.2/lib64/stubs/libcuda.so", "ELF")}).empty());
  CHECK(of({file("usr/lib/libcuda.so.1", "ELF")}).empty());
}

TEST_CASE("ptxas", "[image][gpu]") {
  const auto has = [](const Files& files) {
    const FakeImage image = with(gpu_image(), files);
    return FactsOf(image)->ptxas().value();
  };
  CHECK_FALSE(has({}));
  CHECK(has({file("usr/local/cuda-12.2/bin/ptxas", "ELF", 0755)}));
  CHECK_FALSE(has({file("usr/local/cuda-12.2/bin/ptxas", "ELF", 0644)}));
  CHECK(has({file("usr/local/bin/ptxas", "ELF", 0755)}));
  CHECK(has({file(site + "/nvidia/cuda_nvcc/bin/ptxas", "ELF", 0755)}));
  CHECK_FALSE(has({file(site + "/triton/backends/nvidia/bin/ptxas", "ELF", 0755)}));
  CHECK_FALSE(has({file("opt/other/lib/python3.9/site-packages/nvidia/cuda_nvcc/bin/ptxas", "ELF", 0755)}));
}

TEST_CASE("libtpu", "[image][tpu]") {
  const auto has = [](const Files& files) {
    const FakeImage image = with(healthy_worker(), files);
    return FactsOf(image)->libtpu().value();
  };
  CHECK_FALSE(has({}));
  CHECK(has(wheel("libtpu-nightly", "0.1.dev20231018", "py3-none-any")));
  CHECK(has({file("lib/libtpu.so", "ELF")}));
  CHECK(has({file(site + "/torch_xla/lib/libtpu.so", "ELF")}));
  CHECK_FALSE(has({file("opt/elsewhere/libtpu.so", "ELF")}));
  FakeImage named = healthy_worker();
  named.layer({file("opt/tpu/libtpu.so", "ELF")});
  named.env("TPU_LIBRARY_PATH", "/opt/tpu/libtpu.so");
  CHECK(FactsOf(named)->tpu_library().value());
  CHECK(FactsOf(named)->libtpu().value());
  named.env("TPU_LIBRARY_PATH", "/opt/tpu/none.so");
  CHECK_FALSE(FactsOf(named)->tpu_library().value());
  CHECK(FactsOf(healthy_worker())->tpu_library().is_unknown());
}

TEST_CASE("by named paths alone, no layer is walked for GPU software", "[image][gpu]") {
  const FakeImage image = gpu_image();
  const FactsOf facts(image, Depth::contract);
  CHECK(facts->cuda().is_unknown());
  CHECK(facts->frameworks().is_unknown());
  CHECK(facts->missing_library_folders()->empty());
  // The folder of the driver is known from the one file of NVIDIA's that names it.
  CHECK(facts->library_folders()->back().path == "/usr/local/nvidia/lib64");
}
