#include "dockerfile/flags.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string_view>

#include "base/text.hpp"
#include "dockerfile/text_file.hpp"

namespace imgforge::dockerfile {
namespace {

using Kind = Instruction::Kind;

struct KnownFlag {
  std::string_view name;
  enum class Type { boolean, text, texts } type;
};

constexpr KnownFlag from_flags[] = {{"platform", KnownFlag::Type::text}};
constexpr KnownFlag run_flags[] = {{"mount", KnownFlag::Type::texts},
                                   {"network", KnownFlag::Type::text},
                                   {"security", KnownFlag::Type::text},
                                   {"device", KnownFlag::Type::texts}};
constexpr KnownFlag copy_flags[] = {{"chown", KnownFlag::Type::text},    {"from", KnownFlag::Type::text},
                                    {"chmod", KnownFlag::Type::text},    {"link", KnownFlag::Type::boolean},
                                    {"exclude", KnownFlag::Type::texts}, {"parents", KnownFlag::Type::boolean}};
constexpr KnownFlag add_flags[] = {{"chown", KnownFlag::Type::text},    {"chmod", KnownFlag::Type::text},
                                   {"link", KnownFlag::Type::boolean},  {"keep-git-dir", KnownFlag::Type::boolean},
                                   {"checksum", KnownFlag::Type::text}, {"unpack", KnownFlag::Type::boolean},
                                   {"exclude", KnownFlag::Type::texts}};
constexpr KnownFlag healthcheck_flags[] = {{"interval", KnownFlag::Type::text},
                                           {"timeout", KnownFlag::Type::text},
                                           {"start-period", KnownFlag::Type::text},
                                           {"start-interval", KnownFlag::Type::text},
                                           {"retries", KnownFlag::Type::text}};

std::span<const KnownFlag> flags_of(Kind kind) {
  switch (kind) {
    case Kind::from: return from_flags;
    case Kind::run: return run_flags;
    case Kind::copy: return copy_flags;
    case Kind::add: return add_flags;
    case Kind::healthcheck: return healthcheck_flags;
    default: return {};
  }
}

std::string fault_of_type(const KnownFlag& known, const Flag& flag) {
  const std::string name = "--" + flag.name;
  if (known.type != KnownFlag::Type::boolean) return flag.value ? "" : "missing a value on flag: " + name;
  if (!flag.value) return {};
  if (flag.value->empty()) return "missing a value on flag: " + name;
  const std::string value = lower(*flag.value);
  return value == "true" || value == "false" ? ""
                                             : "expecting boolean value for flag " + name + ", not: " + *flag.value;
}

// RUN --mount: what can be told without knowing variables.
std::string fault_of_mount(const std::string& mount) {
  static const std::vector<std::string> types = {"bind", "cache", "tmpfs", "secret", "ssh"};
  static const std::vector<std::string> keys = {
      "type", "from", "source", "target", "readonly",    "id", "sharing", "required",  "size", "mode",
      "uid",  "gid",  "src",    "dst",    "destination", "ro", "rw",      "readwrite", "env"};
  static const std::set<std::string> keys_alone = {"readonly", "ro", "readwrite", "rw", "required"};
  if (mount.find('"') != std::string::npos) return {};  // CSV with quotes: rare enough to be let through
  for (const std::string_view field : split(mount, ',')) {
    const std::size_t sign = field.find('=');
    const std::string key = lower(field.substr(0, sign));
    if (sign == std::string_view::npos) {
      if (!keys_alone.contains(key)) return "invalid field '" + std::string(field) + "' must be a key=value pair";
      continue;
    }
    const std::string value(field.substr(sign + 1));
    const std::size_t variable = value.find('$');
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      return "unexpected key '" + key + "' in '" + std::string(field) + "'" + suggestion(key, keys);
    }
    if (key == "from" && variable != std::string::npos && variable + 1 != value.size()) {
      return "'from' doesn't support variable expansion, define alias stage instead";
    }
    if (key == "type" && variable == std::string::npos &&
        std::find(types.begin(), types.end(), lower(value)) == types.end()) {
      return "unsupported mount type " + quoted(value) + suggestion(value, types);
    }
  }
  return {};
}

// Go's time.ParseDuration; nothing but a sum of numbers with units.
struct Duration {
  std::string error;
  double seconds = 0;
};

Duration parse_duration(const std::string& text) {
  static constexpr std::array<std::pair<std::string_view, double>, 8> units = {
      {{"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"μs", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}}};
  const auto invalid = [&] { return Duration{"time: invalid duration " + quoted(text), 0}; };
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return {};
  if (rest.empty()) return invalid();
  Duration total;
  while (!rest.empty()) {
    double number = 0;
    double scale = 0;
    bool digits = false;
    for (; !rest.empty() && ((rest[0] >= '0' && rest[0] <= '9') || (rest[0] == '.' && scale == 0));
         rest.remove_prefix(1)) {
      if (rest[0] == '.') {
        scale = 1;
        continue;
      }
      digits = true;
      number = number * 10 + (rest[0] - '0');
      scale *= 10;
    }
    if (!digits) return invalid();
    if (number > 1e18) return invalid();
    const std::size_t end = std::min(rest.find_first_of("0123456789."), rest.size());
    const std::string_view unit = rest.substr(0, end);
    if (unit.empty()) return {"time: missing unit in duration " + quoted(text), 0};
    const auto known =
        std::find_if(units.begin(), units.end(), [&](const auto& candidate) { return candidate.first == unit; });
    if (known == units.end()) return {"time: unknown unit " + quoted(unit) + " in duration " + quoted(text), 0};
    total.seconds += number / (scale == 0 ? 1 : scale) * known->second;
    rest.remove_prefix(end);
  }
  if (negative) total.seconds = -total.seconds;
  return total;
}

std::string fault_of_retries(const std::string& value) {
  std::string_view digits = value;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return "strconv.ParseInt: parsing " + quoted(value) + ": invalid syntax";
  }
  const auto number = to_number(digits);
  if (!number || *number > 0x7FFFFFFF) return "strconv.ParseInt: parsing " + quoted(value) + ": value out of range";
  return negative && *number != 0 ? "--retries cannot be negative (-" + std::to_string(*number) + ")" : "";
}

std::string fault_of_value(Kind kind, const Flag& flag) {
  const std::string value = flag.value.value_or("");
  if (kind == Kind::run && flag.name == "mount") return fault_of_mount(value);
  if (kind == Kind::run && flag.name == "network") {
    return value == "default" || value == "none" || value == "host" ? "" : "invalid network mode " + quoted(value);
  }
  if (kind == Kind::run && flag.name == "security") {
    return value == "insecure" || value == "sandbox" ? "" : "security " + quoted(value) + " is not valid";
  }
  if (kind != Kind::healthcheck || value.empty()) return {};
  if (flag.name == "retries") return fault_of_retries(value);
  const Duration duration = parse_duration(value);
  if (!duration.error.empty()) return duration.error;
  if (duration.seconds != 0 && duration.seconds < 1e-3)
    return "Interval " + quoted(flag.name) + " cannot be less than 1ms";
  return {};
}

}  // namespace

std::optional<FlagFault> check_flags(const Instruction& instruction) {
  // These never look at their flags.
  if (instruction.kind == Kind::arg || instruction.kind == Kind::stopsignal) return std::nullopt;
  const std::span<const KnownFlag> known_flags = flags_of(instruction.kind);
  std::set<std::string_view> used;
  for (const Flag& flag : instruction.flags) {
    const auto known = std::find_if(known_flags.begin(), known_flags.end(),
                                    [&](const KnownFlag& candidate) { return candidate.name == flag.name; });
    if (known == known_flags.end()) {
      std::vector<std::string> names;
      for (const KnownFlag& candidate : known_flags) names.emplace_back(candidate.name);
      return FlagFault{flag.place, "unknown flag: --" + flag.name + suggestion(flag.name, names)};
    }
    if (!used.insert(flag.name).second && known->type != KnownFlag::Type::texts) {
      return FlagFault{flag.place, "duplicate flag specified: --" + flag.name};
    }
    std::string fault = fault_of_type(*known, flag);
    if (!fault.empty()) return FlagFault{flag.place, std::move(fault)};
  }
  // Values are looked at when all flags are known.
  for (const Flag& flag : instruction.flags) {
    std::string fault = fault_of_value(instruction.kind, flag);
    if (!fault.empty()) return FlagFault{flag.place, std::move(fault)};
  }
  return std::nullopt;
}

}  // namespace imgforge::dockerfile
