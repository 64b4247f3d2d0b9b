// The images that a Dockerfile names: FROM, COPY --from, RUN --mount=from.
#include <fmt/format.h>

#include <map>

#include "base/text.hpp"
#include "facts/build_reader.hpp"
#include "facts/commands.hpp"

namespace imgforge {

using dockerfile::Expansion;

ImageUse BuildReader::image_use(ImageUse::Role role, const Instruction& instruction, const std::string& written,
                                const Place& place) {
  ImageUse use;
  use.role = role;
  use.at = step_at(place, instruction);
  use.written = written;
  return use;
}

void BuildReader::judge_reference(ImageUse& use) const {
  std::string why;
  use.reference = Reference::parse(use.expanded, &why);
  if (!use.reference) {
    use.wrong = why;
    return;
  }
  const std::string tag = !use.reference->tag().empty() || use.reference->digest() ? use.reference->tag() : "latest";
  use.row = knowledge_.base_image(use.reference->host() + "/" + use.reference->repository(), tag);
}

const BuildState& BuildReader::image_state(const std::string& written, const std::string& expanded,
                                           const std::string& not_known, const Evidence& evidence) {
  const std::string key = expanded.empty() ? "?" + written : expanded;
  if (const auto known = images_.find(key); known != images_.end()) return known->second;
  if (images_.size() > 200) return images_.begin()->second;
  return images_.emplace(key, base_state(written, expanded, not_known, evidence, knowledge_)).first->second;
}

BuildState BuildReader::from(const Instruction& instruction, std::size_t index) {
  const Word word = instruction.words.empty() ? Word{"", instruction.place} : instruction.words.front();
  const Expansion name = expand(word, instruction, nullptr);
  if (name.text) {
    if (const auto stage = stage_named(*name.text, index)) {
      base_stage_[index] = stage;
      BuildState state = states_[*stage];
      state.arguments.clear();
      state.cmd_set = false;
      return state;
    }
  }
  ImageUse use = image_use(ImageUse::Role::base, instruction, word.text, word.place);
  use.expanded = name.text.value_or("");
  if (!name.text) {
    std::vector<std::string> names = name.unknown;
    use.not_known = !name.error.empty() ? name.error
                    : names.empty()     ? "its name is not known"
                                        : fmt::format("{} has no value", escape_for_display(join_words(names)));
  }
  if (!use.expanded.empty() && use.expanded != "scratch") judge_reference(use);
  if (name.text && name.text->empty() && use.wrong.empty())
    use.wrong = "base name (" + use.written + ") should not be blank";
  BuildState state = base_state(word.text, use.expanded, use.not_known, Evidence::at(word.place), knowledge_);
  build_->images.push_back(std::move(use));
  return state;
}

std::optional<std::size_t> BuildReader::copied_stage(const std::string& written) const {
  if (const auto stage = stage_named(written, current_)) return stage;
  if (written.empty() || written.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  const auto number = to_number(written);
  return number && *number < current_ ? std::optional(static_cast<std::size_t>(*number)) : std::nullopt;
}

std::vector<std::string> BuildReader::mount(const Instruction& instruction, BuildState& state) {
  std::vector<std::string> mounted;
  for (const auto& flag : instruction.flags) {
    if (flag.name != "mount" || !flag.value) continue;
    std::map<std::string, std::string, std::less<>> options;
    for (const std::string_view part : split(*flag.value, ',')) {
      const std::size_t equals = part.find('=');
      std::string key = lower(trim(part.substr(0, equals)));
      if (key == "target" || key == "dst") key = "destination";
      if (key == "src") key = "source";
      options[key] = equals == std::string_view::npos ? "" : std::string(part.substr(equals + 1));
    }
    const std::string type = options.contains("type") ? options["type"] : "bind";
    if (type != "bind") continue;
    const std::string source = options["source"];
    const std::string target =
        options.contains("destination") ? absolute_path(options["destination"], state.folder()) : state.folder();
    if (options.contains("from")) {
      const std::string& written = options["from"];
      const auto stage = copied_stage(written);
      if (!stage && build_->images.size() < max_uses) {
        ImageUse use = image_use(ImageUse::Role::mount, instruction, written, flag.place);
        use.has_variable = written.find('$') != std::string::npos;
        if (!use.has_variable) {
          use.expanded = written;
          judge_reference(use);
        }
        build_->images.push_back(std::move(use));
      }
      const BuildState* other = stage ? &states_[*stage]
                                      : &image_state(written, written.find('$') == std::string::npos ? written : "", "",
                                                     Evidence::at(flag.place));
      const BuildFiles& files = other->files;
      state.files.copy_from(files, source.empty() ? "/" : absolute_path(source, "/"), target, Evidence::at(flag.place));
      mounted.push_back(target);
    } else {
      const bool was_there = state.files.look(target).seen == BuildFiles::Seen::yes;
      copy_context(source.empty() ? "." : source, target, false, true, state, Evidence::at(flag.place));
      if (!was_there) mounted.push_back(target);
    }
  }
  return mounted;
}

}  // namespace imgforge
