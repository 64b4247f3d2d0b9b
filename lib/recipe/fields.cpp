#include "recipe/fields.hpp"

#include <algorithm>
#include <type_traits>

#include "base/text.hpp"

namespace imgforge {

namespace {

using Texts = std::vector<std::string>;

Texts one(const std::string& text) { return text.empty() ? Texts{} : Texts{text}; }

template <typename Value>
Texts spelled(const std::optional<Value>& value) {
  if (!value) return {};
  if constexpr (std::is_same_v<Value, bool>)
    return {*value ? "true" : "false"};
  else if constexpr (std::is_same_v<Value, unsigned>)
    return {std::to_string(*value)};
  else if constexpr (requires { value->to_string(); })
    return {value->to_string()};
  else
    return {to_string(*value)};
}

/// The enumerator whose word this is; the grammar has accepted it already.
template <typename Enum>
Enum chosen(const std::string& text, std::initializer_list<Enum> all) {
  return *std::find_if(all.begin(), all.end() - 1, [&](Enum value) { return to_string(value) == text; });
}

PythonFrom python_from(const std::string& text) {
  using enum PythonFrom;
  return chosen(text, {base, apt, deadsnakes, conda, uv});
}
CudaFrom cuda_from(const std::string& text) {
  using enum CudaFrom;
  return chosen(text, {base, wheels, apt, runfile});
}
CudnnFrom cudnn_from(const std::string& text) {
  using enum CudnnFrom;
  return chosen(text, {base, wheels, apt, archive});
}

GpuSpec& gpu(Recipe& recipe) {
  if (!recipe.gpu) recipe.gpu.emplace();
  return *recipe.gpu;
}
TpuSpec& tpu(Recipe& recipe) {
  if (!recipe.tpu) recipe.tpu.emplace();
  return *recipe.tpu;
}

// Short names for the two arguments that every row spells out.
using R = Recipe&;
using C = const Recipe&;
using T = const std::string&;

std::vector<Field> make_fields() {
  using enum Field::Kind;
  return {
      {.path = "apiVersion",
       .doc = "The version of the recipe format: imgforge/v1.",
       .grammar = &api_version_grammar,
       .required = true,
       .set = [](R, T) {},
       .get = [](C) { return Texts{"imgforge/v1"}; }},
      {.path = "name",
       .doc = "What the image is called in messages and build files.",
       .grammar = &name_grammar,
       .required = true,
       .set = [](R r, T t) { r.name = t; },
       .get = [](C r) { return one(r.name); }},

      {.path = "target", .kind = object, .doc = "Where the image will run.", .required = true},
      {.path = "target.runner",
       .doc = "The service that runs it: Dataflow, a Dataflow Flex Template, Spark serverless, or any portable runner.",
       .grammar = &runner_grammar,
       .required = true,
       .set = [](R r, T t) { r.target.runner = *parse_runner(t); },
       .get = [](C r) { return Texts{to_string(r.target.runner)}; }},
      {.path = "target.role",
       .doc = "What the container does there (default: worker).",
       .grammar = &role_grammar,
       .set =
           [](R r, T t) {
             r.target.role = chosen(t, {Role::worker, Role::launcher, Role::both});
           },
       .get = [](C r) { return Texts{to_string(r.target.role)}; }},
      {.path = "target.launch",
       .kind = object,
       .doc = "The environment that submits the job; worker and launcher have to agree."},
      {.path = "target.launch.python",
       .doc = "Its Python minor version, in quotes.",
       .grammar = &python_minor_grammar,
       .set = [](R r, T t) { r.target.launch.python = PythonMinor::parse(t); },
       .get = [](C r) { return spelled(r.target.launch.python); }},
      {.path = "target.launch.beam",
       .doc = "Its Apache Beam version.",
       .grammar = &version_grammar,
       .set = [](R r, T t) { r.target.launch.beam = Version::parse(t); },
       .get = [](C r) { return spelled(r.target.launch.beam); }},
      {.path = "target.machine_type",
       .doc = "The machine type of the workers, as n1-standard-4.",
       .grammar = &resource_name_grammar,
       .set = [](R r, T t) { r.target.machine_type = t; },
       .get = [](C r) { return one(r.target.machine_type); }},
      {.path = "target.region",
       .doc = "The region that the job runs in, as europe-west4.",
       .grammar = &resource_name_grammar,
       .set = [](R r, T t) { r.target.region = t; },
       .get = [](C r) { return one(r.target.region); }},
      {.path = "target.zone",
       .doc = "The zone of the workers; better left to the service.",
       .grammar = &resource_name_grammar,
       .set = [](R r, T t) { r.target.zone = t; },
       .get = [](C r) { return one(r.target.zone); }},
      {.path = "target.streaming",
       .kind = boolean,
       .doc = "Whether the job streams.",
       .set = [](R r, T t) { r.target.streaming = t == "true"; },
       .get = [](C r) { return spelled(r.target.streaming); }},
      {.path = "target.disk_size_gb",
       .kind = number,
       .doc = "The boot disk of a worker, in GB.",
       .most = 65536,
       .set = [](R r, T t) { r.target.disk_size_gb = static_cast<unsigned>(*to_number(t)); },
       .get = [](C r) { return spelled(r.target.disk_size_gb); }},
      {.path = "target.num_workers",
       .kind = number,
       .doc = "Workers to start with.",
       .most = 100000,
       .set = [](R r, T t) { r.target.num_workers = static_cast<unsigned>(*to_number(t)); },
       .get = [](C r) { return spelled(r.target.num_workers); }},
      {.path = "target.harness_threads",
       .kind = number,
       .doc = "Threads of an SDK process (number_of_worker_harness_threads).",
       .most = 100000,
       .set = [](R r, T t) { r.target.harness_threads = static_cast<unsigned>(*to_number(t)); },
       .get = [](C r) { return spelled(r.target.harness_threads); }},
      {.path = "target.single_process",
       .kind = boolean,
       .doc = "One SDK process a worker, not one a core (no_use_multiple_sdk_containers).",
       .set = [](R r, T t) { r.target.single_process = t == "true"; },
       .get = [](C r) { return spelled(r.target.single_process); }},
      {.path = "target.prime",
       .kind = boolean,
       .doc = "Dataflow Prime, where accelerators are asked for by resource hints.",
       .set = [](R r, T t) { r.target.prime = t == "true"; },
       .get = [](C r) { return spelled(r.target.prime); }},
      {.path = "target.provisioning",
       .doc = "How workers are provisioned.",
       .grammar = &provisioning_grammar,
       .set =
           [](R r, T t) {
             r.target.provisioning = chosen(t, {Provisioning::standard, Provisioning::flex_start});
           },
       .get = [](C r) { return spelled(r.target.provisioning); }},
      {.path = "target.options",
       .kind = option_map,
       .doc = "Any other pipeline option, by its Python name; a text or a list.",
       .grammar = &value_grammar,
       .key_grammar = &option_name_grammar},
      {.path = "target.runtime_version",
       .doc = "The version of the Spark runtime, in quotes.",
       .grammar = &runtime_version_grammar,
       .set = [](R r, T t) { r.target.runtime_version = Version::parse(t); },
       .get = [](C r) { return spelled(r.target.runtime_version); }},
      {.path = "target.properties",
       .kind = text_map,
       .doc = "Spark properties.",
       .grammar = &value_grammar,
       .key_grammar = &property_name_grammar,
       .add_pair = [](R r, T name, T t) { r.target.properties.emplace_back(name, t); },
       .pairs = [](C r) -> const TextPairs& { return r.target.properties; }},

      {.path = "base", .kind = object, .doc = "The image to build on.", .derivable = true},
      {.path = "base.image",
       .doc = "Its reference, best with a digest. Left out: the Beam SDK image of the Python and Beam versions.",
       .grammar = &image_reference_grammar,
       .derivable = true,
       .nullable = true,
       .set = [](R r, T t) { r.base_image = Reference::parse(t); },
       .get = [](C r) { return spelled(r.base_image); }},

      {.path = "python", .kind = object, .doc = "The interpreter that runs the pipeline.", .derivable = true},
      {.path = "python.version",
       .doc = "Its minor version, in quotes: YAML reads 3.10 as the number 3.1.",
       .grammar = &python_minor_grammar,
       .derivable = true,
       .set = [](R r, T t) { r.python_version = PythonMinor::parse(t); },
       .get = [](C r) { return spelled(r.python_version); }},
      {.path = "python.from",
       .doc = "Where it comes from: the base image, the distribution, the deadsnakes archive, Miniforge, or uv.",
       .grammar = &python_from_grammar,
       .derivable = true,
       .set = [](R r, T t) { r.python_from = python_from(t); },
       .get = [](C r) { return spelled(r.python_from); }},

      {.path = "beam", .kind = object, .doc = "The Apache Beam SDK.", .derivable = true},
      {.path = "beam.version",
       .doc = "The version of apache-beam, and of the SDK image that boot comes from.",
       .grammar = &version_grammar,
       .derivable = true,
       .set = [](R r, T t) { r.beam_version = Version::parse(t); },
       .get = [](C r) { return spelled(r.beam_version); }},
      {.path = "beam.extras",
       .kind = text_list,
       .doc = "Extras of apache-beam, as gcp.",
       .grammar = &extra_grammar,
       .set = [](R r, T t) { r.beam_extras.push_back(t); },
       .get = [](C r) { return r.beam_extras; }},
      {.path = "beam.boot",
       .doc = "How the boot program gets in: copied from the SDK image (default), or inherited from the base.",
       .grammar = &boot_from_grammar,
       .set = [](R r, T t) { r.boot = t == "inherit" ? BootFrom::inherit : BootFrom::copy; },
       .get = [](C r) { return Texts{to_string(r.boot)}; }},

      {.path = "accelerator", .kind = object, .doc = "The accelerator of the workers: a GPU or a TPU, not both."},
      {.path = "accelerator.gpu", .kind = object, .doc = "NVIDIA GPUs.", .set = [](R r, T) { gpu(r); }},
      {.path = "accelerator.gpu.type",
       .doc = "As the platform calls it: nvidia-tesla-t4, nvidia-l4.",
       .grammar = &accelerator_type_grammar,
       .set = [](R r, T t) { gpu(r).type = t; },
       .get = [](C r) { return r.gpu ? one(r.gpu->type) : Texts{}; }},
      {.path = "accelerator.gpu.count",
       .kind = number,
       .doc = "GPUs of a worker (default: 1).",
       .set = [](R r, T t) { gpu(r).count = static_cast<unsigned>(*to_number(t)); },
       .get = [](C r) { return r.gpu ? Texts{std::to_string(r.gpu->count)} : Texts{}; }},
      {.path = "accelerator.gpu.cuda", .kind = object, .doc = "The CUDA libraries.", .derivable = true},
      {.path = "accelerator.gpu.cuda.version",
       .doc = "Their version, as \"12.2\" or 12.2.2.",
       .grammar = &release_grammar,
       .derivable = true,
       .set = [](R r, T t) { gpu(r).cuda.version = Version::parse(t); },
       .get = [](C r) { return r.gpu ? spelled(r.gpu->cuda.version) : Texts{}; }},
      {.path = "accelerator.gpu.cuda.from",
       .doc =
           "Where they come from: the base image, wheels of PyPI, NVIDIA's apt repository, or its runfile installer.",
       .grammar = &cuda_from_grammar,
       .derivable = true,
       .set = [](R r, T t) { gpu(r).cuda.from = cuda_from(t); },
       .get = [](C r) { return r.gpu ? spelled(r.gpu->cuda.from) : Texts{}; }},
      {.path = "accelerator.gpu.cuda.url",
       .doc = "The runfile, with from: runfile.",
       .grammar = &url_grammar,
       .set = [](R r, T t) { gpu(r).cuda.url = t; },
       .get = [](C r) { return r.gpu ? one(r.gpu->cuda.url) : Texts{}; }},
      {.path = "accelerator.gpu.cuda.sha256",
       .doc = "The SHA-256 sum of the runfile.",
       .grammar = &sha256_grammar,
       .set = [](R r, T t) { gpu(r).cuda.sha256 = t; },
       .get = [](C r) { return r.gpu ? one(r.gpu->cuda.sha256) : Texts{}; }},
      {.path = "accelerator.gpu.cudnn", .kind = object, .doc = "The cuDNN libraries.", .derivable = true},
      {.path = "accelerator.gpu.cudnn.version",
       .doc = "Their version, as \"8.9\" or 8.9.7.",
       .grammar = &release_grammar,
       .derivable = true,
       .set = [](R r, T t) { gpu(r).cudnn.version = Version::parse(t); },
       .get = [](C r) { return r.gpu ? spelled(r.gpu->cudnn.version) : Texts{}; }},
      {.path = "accelerator.gpu.cudnn.from",
       .doc = "Where they come from: the base image, wheels of PyPI, NVIDIA's apt repository, or an archive.",
       .grammar = &cudnn_from_grammar,
       .derivable = true,
       .set = [](R r, T t) { gpu(r).cudnn.from = cudnn_from(t); },
       .get = [](C r) { return r.gpu ? spelled(r.gpu->cudnn.from) : Texts{}; }},
      {.path = "accelerator.gpu.cudnn.file",
       .doc = "The archive in the build context, with from: archive.",
       .grammar = &context_path_grammar,
       .set = [](R r, T t) { gpu(r).cudnn.file = t; },
       .get = [](C r) { return r.gpu ? one(r.gpu->cudnn.file) : Texts{}; }},
      {.path = "accelerator.gpu.cudnn.url",
       .doc = "The archive elsewhere, with from: archive.",
       .grammar = &url_grammar,
       .set = [](R r, T t) { gpu(r).cudnn.url = t; },
       .get = [](C r) { return r.gpu ? one(r.gpu->cudnn.url) : Texts{}; }},
      {.path = "accelerator.gpu.cudnn.sha256",
       .doc = "The SHA-256 sum of the archive.",
       .grammar = &sha256_grammar,
       .set = [](R r, T t) { gpu(r).cudnn.sha256 = t; },
       .get = [](C r) { return r.gpu ? one(r.gpu->cudnn.sha256) : Texts{}; }},
      {.path = "accelerator.gpu.driver",
       .doc = "The driver that is installed on the workers.",
       .grammar = &driver_grammar,
       .set = [](R r, T t) { gpu(r).driver = t; },
       .get = [](C r) { return r.gpu ? one(r.gpu->driver) : Texts{}; }},
      {.path = "accelerator.gpu.mps",
       .kind = boolean,
       .doc = "Whether the processes of a worker share the GPU by MPS.",
       .set = [](R r, T t) { gpu(r).mps = t == "true"; },
       .get = [](C r) { return r.gpu ? spelled(r.gpu->mps) : Texts{}; }},
      {.path = "accelerator.tpu", .kind = object, .doc = "A TPU slice.", .set = [](R r, T) { tpu(r); }},
      {.path = "accelerator.tpu.type",
       .doc = "As the platform calls it: tpu-v5-lite-podslice.",
       .grammar = &accelerator_type_grammar,
       .required = true,
       .set = [](R r, T t) { tpu(r).type = t; },
       .get = [](C r) { return r.tpu ? one(r.tpu->type) : Texts{}; }},
      {.path = "accelerator.tpu.topology",
       .doc = "The shape of the slice: 1x1, 2x2, 2x4.",
       .grammar = &topology_grammar,
       .required = true,
       .set = [](R r, T t) { tpu(r).topology = t; },
       .get = [](C r) { return r.tpu ? one(r.tpu->topology) : Texts{}; }},

      {.path = "frameworks", .kind = object, .doc = "Frameworks to install, each with its version."},
      {.path = "frameworks.tensorflow",
       .doc = "The version of tensorflow.",
       .grammar = &version_grammar,
       .set = [](R r, T t) { r.frameworks.tensorflow = Version::parse(t); },
       .get = [](C r) { return spelled(r.frameworks.tensorflow); }},
      {.path = "frameworks.torch",
       .doc = "The version of torch.",
       .grammar = &version_grammar,
       .set = [](R r, T t) { r.frameworks.torch = Version::parse(t); },
       .get = [](C r) { return spelled(r.frameworks.torch); }},
      {.path = "frameworks.jax",
       .doc = "The version of jax.",
       .grammar = &version_grammar,
       .set = [](R r, T t) { r.frameworks.jax = Version::parse(t); },
       .get = [](C r) { return spelled(r.frameworks.jax); }},

      {.path = "packages", .kind = object, .doc = "What else is installed."},
      {.path = "packages.apt",
       .kind = text_list,
       .doc = "Debian packages, each name or name=version.",
       .grammar = &apt_package_grammar,
       .set = [](R r, T t) { r.packages.apt.push_back(t); },
       .get = [](C r) { return r.packages.apt; }},
      {.path = "packages.pip",
       .kind = text_list,
       .doc = "Python packages, each a requirement of PEP 508.",
       .grammar = &requirement_grammar,
       .set = [](R r, T t) { r.packages.pip.push_back(*Requirement::parse(t)); },
       .get =
           [](C r) {
             Texts texts;
             for (const Requirement& requirement : r.packages.pip) texts.push_back(requirement.to_string());
             return texts;
           }},
      {.path = "packages.requirements",
       .doc = "A requirements file in the build context.",
       .grammar = &context_path_grammar,
       .nullable = true,
       .set = [](R r, T t) { r.packages.requirements = t; },
       .get = [](C r) { return one(r.packages.requirements); }},
      {.path = "packages.constraints",
       .doc = "A constraints file in the build context.",
       .grammar = &context_path_grammar,
       .nullable = true,
       .set = [](R r, T t) { r.packages.constraints = t; },
       .get = [](C r) { return one(r.packages.constraints); }},
      {.path = "packages.indexes",
       .kind = text_list,
       .doc = "Package indexes beside PyPI.",
       .grammar = &url_grammar,
       .set = [](R r, T t) { r.packages.indexes.push_back(t); },
       .get = [](C r) { return r.packages.indexes; }},
      {.path = "packages.find_links",
       .kind = text_list,
       .doc = "Pages that link to packages, as libtpu's.",
       .grammar = &url_grammar,
       .set = [](R r, T t) { r.packages.find_links.push_back(t); },
       .get = [](C r) { return r.packages.find_links; }},

      {.path = "files",
       .kind = object_list,
       .doc = "Files to copy into the image.",
       .set = [](R r, T) { r.files.emplace_back(); }},
      {.path = "files[].from",
       .doc = "A file or folder in the build context.",
       .grammar = &context_path_grammar,
       .required = true,
       .set = [](R r, T t) { r.files.back().from = t; }},
      {.path = "files[].to",
       .doc = "Where it goes; with a slash at the end into that folder.",
       .grammar = &absolute_path_grammar,
       .required = true,
       .set = [](R r, T t) { r.files.back().to = t; }},

      {.path = "env",
       .kind = text_map,
       .doc = "Environment variables of the image.",
       .grammar = &value_grammar,
       .key_grammar = &variable_name_grammar,
       .add_pair = [](R r, T name, T t) { r.env.emplace_back(name, t); },
       .pairs = [](C r) -> const TextPairs& { return r.env; }},
      {.path = "labels",
       .kind = text_map,
       .doc = "Labels of the image.",
       .grammar = &value_grammar,
       .key_grammar = &label_key_grammar,
       .add_pair = [](R r, T name, T t) { r.labels.emplace_back(name, t); },
       .pairs = [](C r) -> const TextPairs& { return r.labels; }},
      {.path = "workdir",
       .doc = "The folder that the container starts in.",
       .grammar = &absolute_path_grammar,
       .nullable = true,
       .set = [](R r, T t) { r.workdir = t; },
       .get = [](C r) { return one(r.workdir); }},

      {.path = "flex", .kind = object, .doc = "What a Flex Template's launcher starts."},
      {.path = "flex.launcher_image",
       .doc = "The launcher image that the template is built on.",
       .grammar = &image_reference_grammar,
       .set = [](R r, T t) { r.flex.launcher_image = Reference::parse(t); },
       .get = [](C r) { return spelled(r.flex.launcher_image); }},
      {.path = "flex.py_file",
       .doc = "The pipeline's main file in the image (FLEX_TEMPLATE_PYTHON_PY_FILE).",
       .grammar = &absolute_path_grammar,
       .set = [](R r, T t) { r.flex.py_file = t; },
       .get = [](C r) { return one(r.flex.py_file); }},
      {.path = "flex.requirements_file",
       .doc = "Its requirements file in the image (FLEX_TEMPLATE_PYTHON_REQUIREMENTS_FILE).",
       .grammar = &absolute_path_grammar,
       .set = [](R r, T t) { r.flex.requirements_file = t; },
       .get = [](C r) { return one(r.flex.requirements_file); }},
      {.path = "flex.setup_file",
       .doc = "Its setup.py in the image (FLEX_TEMPLATE_PYTHON_SETUP_FILE).",
       .grammar = &absolute_path_grammar,
       .set = [](R r, T t) { r.flex.setup_file = t; },
       .get = [](C r) { return one(r.flex.setup_file); }},

      {.path = "matrix",
       .kind = object,
       .doc = "Variants of the recipe: every cell is a recipe of its own.",
       .nullable = true,
       .in_label = false},
      {.path = "matrix.axes",
       .kind = axes,
       .doc = "Keys of the recipe by their paths, each with the values that it takes.",
       .in_label = false},
      {.path = "matrix.include",
       .kind = cells,
       .doc = "Values to add to the cells that they fit, or cells of their own.",
       .in_label = false,
       .cells = [](R r) -> std::vector<Matrix::Values>& { return r.matrix.include; }},
      {.path = "matrix.exclude",
       .kind = cells,
       .doc = "Values whose cells are left out.",
       .in_label = false,
       .cells = [](R r) -> std::vector<Matrix::Values>& { return r.matrix.exclude; }},

      {.path = "checks", .kind = object, .doc = "What is asked of recipe and image."},
      {.path = "checks.ignore",
       .kind = object_list,
       .doc = "Rules whose findings are waived.",
       .in_label = false,
       .set = [](R r, T) { r.checks.ignore.emplace_back(); }},
      {.path = "checks.ignore[].rule",
       .doc = "The id of the rule.",
       .grammar = &rule_grammar,
       .required = true,
       .in_label = false,
       .set = [](R r, T t) { r.checks.ignore.back().rule = t; }},
      {.path = "checks.ignore[].reason",
       .doc = "Why; one without a reason is reported.",
       .grammar = &value_grammar,
       .in_label = false,
       .set = [](R r, T t) { r.checks.ignore.back().reason = t; }},
      {.path = "checks.ignore[].until",
       .doc = "The last day on which it counts; left out: for ever.",
       .grammar = &date_grammar,
       .nullable = true,
       .in_label = false,
       .set = [](R r, T t) { r.checks.ignore.back().until = Date::parse(t); }},
      {.path = "checks.max_size",
       .doc = "How large the image may be, compressed, as 12GB.",
       .grammar = &size_grammar,
       .nullable = true,
       .set = [](R r, T t) { r.checks.max_size = parse_size(t); },
       .get = [](C r) { return r.checks.max_size ? Texts{spell_size(*r.checks.max_size)} : Texts{}; }},

      {.path = "push", .kind = object, .doc = "Where the image goes.", .in_label = false},
      {.path = "push.repository",
       .doc = "The repository, without tag.",
       .grammar = &repository_grammar,
       .required = true,
       .in_label = false,
       .set = [](R r, T t) { r.push.repository = t; },
       .get = [](C r) { return one(r.push.repository); }},
      {.path = "push.tags",
       .kind = text_list,
       .doc = "Its tags; {{beam.version}} stands for the value of that key, {{digest12}} for the image's digest.",
       .grammar = &tag_template_grammar,
       .in_label = false,
       .set = [](R r, T t) { r.push.tags.push_back(t); },
       .get = [](C r) { return r.push.tags; }},
  };
}

}  // namespace

std::string_view Field::key() const noexcept {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

std::string_view Field::parent() const noexcept {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

const std::vector<Field>& recipe_fields() {
  static const std::vector<Field> fields = make_fields();
  return fields;
}

const Field* find_recipe_field(std::string_view path) {
  const std::vector<Field>& fields = recipe_fields();
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const Field& field) { return field.path == path; });
  return found == fields.end() ? nullptr : &*found;
}

std::vector<const Field*> recipe_fields_of(std::string_view parent) {
  std::vector<const Field*> result;
  for (const Field& field : recipe_fields()) {
    if (field.parent() == parent) result.push_back(&field);
  }
  return result;
}

RecipePath find_recipe_path(std::string_view path) {
  if (path.find('[') == std::string_view::npos) {
    if (const Field* field = find_recipe_field(path)) return {field, {}};
  }
  for (const Field& field : recipe_fields()) {
    if (field.kind != Field::Kind::text_map && field.kind != Field::Kind::option_map) continue;
    if (path.size() > field.path.size() + 1 && path.starts_with(field.path) && path[field.path.size()] == '.')
      return {&field, path.substr(field.path.size() + 1)};
  }
  return {};
}

}  // namespace imgforge
