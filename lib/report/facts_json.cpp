#include "report/facts_json.hpp"

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "facts/secrets.hpp"

namespace imgforge {

using nlohmann::json;

namespace {

json strings(const std::vector<std::string>& list) {
  json result = json::array();
  for (const std::string& item : list) result.push_back(to_utf8(item));
  return result;
}

/// Words of a command, secrets left out.
json command(const std::vector<std::string>& words) {
  json result = json::array();
  for (const std::string& word : words) result.push_back(to_utf8(without_secrets(word)));
  return result;
}

json value_of(const Platform& platform) { return platform.to_string(); }
json value_of(const Version& version) { return version.to_string(); }

json value_of(const OsRelease& os) {
  return {{"id", to_utf8(os.id)}, {"version_id", to_utf8(os.version_id)}, {"code_name", to_utf8(os.code_name)}, {"pretty_name", to_utf8(os.pretty_name)}};
}

json value_of(const Libc& libc) { return {{"family", libc.family == Libc::Family::musl ? "musl" : "glibc"}, {"version", to_utf8(libc.version)}}; }

json value_of(const std::vector<std::pair<std::string, std::string>>& pairs) {
  json result = json::object();
  for (const auto& [name, value] : pairs) put_bytes(result, to_utf8(name), shown_setting(name, value));
  return result;
}

json value_of(const std::map<std::string, std::string>& map) {
  json result = json::object();
  for (const auto& [name, value] : map) put_bytes(result, to_utf8(name), shown_setting(name, value));
  return result;
}

json value_of(const User& user) {
  return {{"written", to_utf8(user.written)}, {"uid", user.uid}, {"gid", user.gid}, {"home", to_utf8(user.home)}};
}

json value_of(const WorkingDirectory& workdir) {
  json result = {{"exists", workdir.exists}, {"is_directory", workdir.is_directory}, {"writable", workdir.writable}};
  put_bytes(result, "path", workdir.path);
  return result;
}

std::string_view name_of(Program program) {
  switch (program) {
    case Program::boot: return "boot";
    case Program::launcher: return "launcher";
    case Program::other: return "other";
    case Program::missing: return "missing";
  }
  return "other";
}

json value_of(const Entrypoint& entrypoint) {
  return {{"entrypoint", command(entrypoint.entrypoint)}, {"cmd", command(entrypoint.cmd)}, {"chain", strings(entrypoint.chain)},
          {"ends_in", name_of(entrypoint.ends_in)}, {"last", to_utf8(entrypoint.last)}, {"arguments_dropped", entrypoint.arguments_dropped},
          {"boot_in_cmd_only", entrypoint.boot_in_cmd_only}};
}

json value_of(const Boot& boot) {
  json result = {{"regular", boot.regular}, {"executable", boot.executable}, {"elf", boot.elf}, {"dynamic", boot.dynamic}};
  put_bytes(result, "path", boot.path);
  if (!boot.broken_link.empty()) put_bytes(result, "broken_link", boot.broken_link);
  if (boot.elf) result["machine"] = elf_machine_name(boot.machine);
  if (boot.dynamic) {
    put_bytes(result, "interpreter", boot.interpreter);
    result["interpreter_found"] = boot.interpreter_found;
    result["glibc_versions"] = strings(boot.glibc_versions);
    result["missing_versions"] = strings(boot.missing_versions);
  }
  return result;
}

json value_of(const std::vector<Interpreter>& interpreters) {
  json result = json::array();
  for (const Interpreter& interpreter : interpreters) {
    json item = {{"minor", interpreter.minor.to_string()}, {"kind", to_string(interpreter.kind)}, {"on_path_as", strings(interpreter.on_path_as)},
                 {"site_packages", strings(interpreter.site_packages)}, {"has_venv", interpreter.has_venv}, {"has_ensurepip", interpreter.has_ensurepip},
                 {"externally_managed", interpreter.externally_managed}};
    put_bytes(item, "path", interpreter.path);
    put_bytes(item, "prefix", interpreter.prefix);
    item["version"] = interpreter.version ? json(interpreter.version->to_string()) : json(nullptr);
    item["pip"] = interpreter.pip ? json(interpreter.pip->to_string()) : json(nullptr);
    if (!interpreter.home.empty()) put_bytes(item, "home", interpreter.home);
    item["evidence"] = json::array();
    for (const Evidence& evidence : interpreter.evidence) item["evidence"].push_back(to_json(evidence));
    result.push_back(std::move(item));
  }
  return result;
}

json value_of(const Distribution& distribution) {
  json item = {{"name", to_utf8(distribution.name)}, {"version", to_utf8(distribution.version_text)}, {"installer", to_utf8(distribution.installer)},
               {"requires_python", to_utf8(distribution.requires_python)}};
  put_bytes(item, "site", distribution.site);
  put_bytes(item, "metadata_path", distribution.metadata_path);
  return item;
}

json value_of(const std::vector<Distribution>& distributions) {
  json result = json::array();
  for (const Distribution& distribution : distributions) result.push_back(value_of(distribution));
  return result;
}

json value_of(const Command& command) {
  json item = {{"dangles", command.dangles}, {"executable", command.executable}};
  put_bytes(item, "found_at", command.found_at);
  put_bytes(item, "canonical", command.canonical);
  return item;
}

json value_of(const std::map<std::string, Command>& commands) {
  json result = json::object();
  for (const auto& [name, command] : commands) result[to_utf8(name)] = value_of(command);
  return result;
}

json value_of(const WorkerPython& python) { return {{"interpreter", python.interpreter}, {"by", to_utf8(python.by)}}; }

json value_of(const SiteMachines& machines) {
  json result = json::object();
  for (const auto& [machine, count] : machines.files) result[elf_machine_name(machine)] = count;
  return result;
}

class Writer {
 public:
  Writer(json& values, json& evidence) : values_(values), evidence_(evidence) {}

  template <class T>
  void put(const char* name, const LazyFact<T>& lazy) {
    const Fact<T>& fact = lazy();
    json proof = json::object();
    if (fact.is_known()) {
      values_[name] = value_of(fact.value());
      proof["state"] = "known";
    } else if (fact.is_absent()) {
      proof["state"] = "absent";
    } else {
      proof["state"] = "unknown";
      proof["reason"] = to_utf8(fact.reason());
    }
    if (!fact.evidence().empty()) {
      proof["evidence"] = json::array();
      for (const Evidence& item : fact.evidence()) proof["evidence"].push_back(to_json(item));
    }
    evidence_[name] = std::move(proof);
  }

 private:
  json& values_;
  json& evidence_;
};

}  // namespace

void put_bytes(json& object, std::string_view key, std::string_view bytes) {
  const std::string name(key);
  object[name] = to_utf8(bytes);
  if (!is_utf8(bytes)) object[name + "_base64"] = base64_encode(bytes);
}

json to_json(const Evidence& evidence) {
  json item = json::object();
  if (!evidence.layer.empty()) item["layer"] = evidence.layer;
  if (!evidence.path.empty()) put_bytes(item, "path", evidence.path);
  if (!evidence.config.empty()) put_bytes(item, "config", evidence.config);
  if (!evidence.label.empty()) put_bytes(item, "label", evidence.label);
  if (!evidence.place.file.empty()) put_bytes(item, "file", evidence.place.file);
  if (evidence.place.line != 0) item["line"] = evidence.place.line;
  if (evidence.place.column != 0) item["column"] = evidence.place.column;
  return item;
}

void facts_to_json(const Facts& facts, json& values, json& evidence) {
  values = json::object();
  evidence = json::object();
  Writer writer(values, evidence);
  writer.put("platform", facts.platform);
  writer.put("os_release", facts.os_release);
  writer.put("libc", facts.libc);
  writer.put("env", facts.env);
  writer.put("labels", facts.labels);
  writer.put("user", facts.user);
  writer.put("workdir", facts.workdir);
  writer.put("entrypoint", facts.entrypoint);
  writer.put("boot", facts.boot);
  writer.put("boot_version", facts.boot_version);
  writer.put("beam_version", facts.beam_version);
  writer.put("interpreters", facts.interpreters);
  writer.put("worker_python", facts.worker_python);
  writer.put("distributions", facts.distributions);
  writer.put("commands", facts.commands);
  writer.put("site_machines", facts.site_machines);
}

}  // namespace imgforge
