#include "facts/facts.hpp"

#include <algorithm>
#include <set>

namespace imgforge {

std::string to_string(Interpreter::Kind kind) {
  switch (kind) {
    case Interpreter::Kind::system: return "system";
    case Interpreter::Kind::conda: return "conda";
    case Interpreter::Kind::venv: return "venv";
    case Interpreter::Kind::standalone: return "standalone";
  }
  return "system";
}

std::optional<std::string> Facts::variable(std::string_view name) const {
  const auto& fact = env();
  if (!fact.is_known()) return std::nullopt;
  const auto& pairs = fact.value();
  const auto last = std::find_if(pairs.rbegin(), pairs.rend(), [&](const auto& pair) { return pair.first == name; });
  if (last == pairs.rend()) return std::nullopt;
  return last->second;
}

Evidence Facts::variable_evidence(std::string_view name) const {
  const auto found = env_places.find(name);
  return found == env_places.end() ? Evidence::in_config("Env." + std::string(name)) : found->second;
}

const Interpreter* Facts::worker_interpreter() const {
  const auto& worker = worker_python();
  if (!worker.is_known()) return nullptr;
  const auto& all = interpreters();
  if (!all.is_known() || worker->interpreter >= all->size()) return nullptr;
  return &all.value()[worker->interpreter];
}

std::vector<const Distribution*> Facts::worker_distributions() const {
  std::vector<const Distribution*> found;
  const Interpreter* interpreter = worker_interpreter();
  if (interpreter == nullptr || !distributions().is_known()) return found;
  std::set<std::string_view> nearer;  // names that an earlier folder has: they hide later ones
  for (const std::string& site : interpreter->site_packages) {
    const std::size_t first = found.size();
    for (const Distribution& distribution : distributions().value()) {
      if (distribution.site == site && !nearer.contains(distribution.name)) found.push_back(&distribution);
    }
    for (std::size_t i = first; i < found.size(); ++i) nearer.insert(found[i]->name);
  }
  return found;
}

}  // namespace imgforge
