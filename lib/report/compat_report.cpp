#include "report/compat_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace imgforge {

namespace {

using Json = nlohmann::ordered_json;

/// Sources by number, each told once.
class Sources {
 public:
  std::string mark(const std::string& source, bool unverified) {
    auto found = std::find(all_.begin(), all_.end(), source);
    if (found == all_.end()) found = all_.insert(all_.end(), source);
    return fmt::format("[{}]{}", found - all_.begin() + 1, unverified ? " unverified" : "");
  }
  std::string text(const Palette& palette) const {
    std::string text;
    for (std::size_t index = 0; index < all_.size(); ++index)
      text += fmt::format("  [{}] {}\n", index + 1, display_safe(all_[index]));
    return text.empty() ? "" : fmt::format("\n{}\n{}", palette.bold("sources"), text);
  }

 private:
  std::vector<std::string> all_;
};

std::string text_of(const CompatCell& cell) {
  return cell.values.empty() ? "-" : display_safe(join(cell.values, ", "));
}

constexpr std::size_t cell_width = 56;

/// A cell in lines of at most cell_width where its words allow it.
std::vector<std::string> wrapped(std::string_view text) {
  std::vector<std::string> made;
  while (text.size() > cell_width) {
    std::size_t space = text.rfind(' ', cell_width);
    if (space == std::string_view::npos || space == 0) space = text.find(' ', cell_width);
    if (space == std::string_view::npos) break;
    made.emplace_back(text.substr(0, space));
    text.remove_prefix(space + 1);
  }
  made.emplace_back(text);
  return made;
}

/// Columns to the widest line. Widths are bytes: the tables are ASCII, but for a folder's.
std::string table_text(const std::vector<std::vector<std::string>>& rows, const Palette& palette) {
  std::vector<std::size_t> widths;
  std::vector<std::vector<std::vector<std::string>>> cells;
  for (const auto& row : rows) {
    auto& lines_of = cells.emplace_back();
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t index = 0; index < row.size(); ++index) {
      lines_of.push_back(wrapped(row[index]));
      for (const std::string& line : lines_of.back()) widths[index] = std::max(widths[index], line.size());
    }
  }
  std::string text;
  for (const auto& row : cells) {
    std::size_t height = 0;
    for (const auto& cell : row) height = std::max(height, cell.size());
    for (std::size_t at = 0; at < height; ++at) {
      std::string line;
      for (std::size_t index = 0; index < row.size(); ++index)
        line += fmt::format("  {:<{}}", at < row[index].size() ? row[index][at] : "", widths[index]);
      line.erase(line.find_last_not_of(' ') + 1);
      text += (&row == &cells.front() ? palette.faint(line) : line) + "\n";
    }
  }
  return text;
}

Json cell_json(const CompatCell& cell) {
  if (cell.is_list) {
    Json list = Json::array();
    for (const std::string& value : cell.values) list.push_back(to_utf8(value));
    return list;
  }
  return cell.values.empty() ? Json(nullptr) : Json(to_utf8(cell.values.front()));
}

std::string dump(const Json& json) { return json.dump(2, ' ', true) + "\n"; }

std::string cuda_words(const ChosenFramework& one) {
  std::string text = one.cuda->cuda.to_string();
  if (one.cuda->cudnn) text += ", cuDNN " + one.cuda->cudnn->to_string();
  return text + (one.origin == CudaOrigin::wheels ? ", as wheels" : ", of the base image");
}

/// "name value" pairs of what was chosen.
std::vector<std::pair<std::string, std::string>> chosen(const Solution& solution) {
  std::vector<std::pair<std::string, std::string>> all;
  const VersionSet& set = solution.set;
  if (set.beam != nullptr) all.emplace_back("Beam", set.beam->version.to_string());
  if (set.python) all.emplace_back("Python", set.python->to_string());
  for (const ChosenFramework& one : set.frameworks) {
    all.emplace_back(framework_title(one.build->framework), one.build->version.to_string());
    if (one.cuda != nullptr) all.emplace_back("  CUDA", cuda_words(one));
  }
  if (set.gpu != nullptr)
    all.emplace_back("GPU", fmt::format("{} ({}, {})", set.gpu->type, set.gpu->model, set.gpu->compute));
  if (set.tpu != nullptr)
    all.emplace_back("TPU", fmt::format("{} {} ({})", set.tpu->type, set.tpu->topology, set.tpu->machine_type));
  if (!solution.image.empty()) all.emplace_back("base image", solution.image);
  for (const std::string& requirement : solution.pip) all.emplace_back("pip install", requirement);
  for (const std::string& link : solution.find_links) all.emplace_back("  --find-links", link);
  return all;
}

/// What was judged, a line each, with the marks of its rows.
std::string judgements_text(const std::vector<Judgement>& judgements, Sources& sources, const Palette& palette) {
  std::string text;
  for (const Judgement& one : judgements) {
    std::string marks;
    for (const UsedRow& row : one.rows) marks += " " + sources.mark(row.source, row.unverified);
    const std::string sign = one.fits == Fits::no        ? palette.red("no     ")
                             : one.fits == Fits::unknown ? palette.yellow("unknown")
                             : one.warning               ? palette.yellow("warning")
                                                         : palette.green("yes    ");
    text += fmt::format("  {}  {}{}\n", sign, display_safe(one.why), marks);
  }
  return text;
}

Json judgement_json(const Judgement& one) {
  Json rows = Json::array();
  for (const UsedRow& row : one.rows)
    rows.push_back({{"what", to_utf8(row.what)}, {"source", to_utf8(row.source)}, {"unverified", row.unverified}});
  return {
      {"fits", std::string(to_string(one.fits))}, {"warning", one.warning}, {"why", to_utf8(one.why)}, {"rows", rows}};
}

Json judgements_json(const std::vector<Judgement>& all) {
  Json list = Json::array();
  for (const Judgement& one : all) list.push_back(judgement_json(one));
  return list;
}

Json framework_json(const ChosenFramework& one) {
  Json json = {{"framework", to_utf8(one.build->framework)}, {"version", one.build->version.to_string()}};
  if (one.cuda != nullptr) {
    json["cuda"] = one.cuda->cuda.to_string();
    json["cudnn"] = one.cuda->cudnn ? Json(one.cuda->cudnn->to_string()) : Json(nullptr);
    json["cuda_from"] = one.origin == CudaOrigin::wheels ? "wheels" : "base";
  }
  return json;
}

Json solution_json(const Solution& solution) {
  const VersionSet& set = solution.set;
  Json json;
  json["certain"] = solution.certain;
  json["beam"] = set.beam == nullptr ? Json(nullptr) : Json(set.beam->version.to_string());
  json["python"] = set.python ? Json(set.python->to_string()) : Json(nullptr);
  json["frameworks"] = Json::array();
  for (const ChosenFramework& one : set.frameworks) json["frameworks"].push_back(framework_json(one));
  json["gpu"] = set.gpu == nullptr ? Json(nullptr) : Json(to_utf8(set.gpu->type));
  json["tpu"] = set.tpu == nullptr ? Json(nullptr)
                                   : Json({{"type", to_utf8(set.tpu->type)}, {"topology", to_utf8(set.tpu->topology)}});
  json["image"] = solution.image.empty() ? Json(nullptr) : Json(to_utf8(solution.image));
  json["pip"] = solution.pip;
  json["find_links"] = solution.find_links;
  json["judgements"] = judgements_json(solution.judgements);
  return json;
}

}  // namespace

std::string compat_text(const CompatPage& page, const Palette& palette) {
  std::string text;
  Sources sources;
  for (const CompatTable& table : page.tables) {
    if (!text.empty()) text += '\n';
    if (!table.title.empty()) text += palette.bold(display_safe(table.title)) + "\n";
    if (table.rows.empty()) {
      text += "  " + table.empty + "\n";
      continue;
    }
    std::vector<std::vector<std::string>> rows(1);
    for (const std::string& column : table.columns) {
      rows.front().push_back(column);
      std::replace(rows.front().back().begin(), rows.front().back().end(), '_', ' ');
    }
    rows.front().emplace_back("source");
    for (const CompatRow& row : table.rows) {
      std::vector<std::string> words;
      for (const CompatCell& cell : row.cells) words.push_back(text_of(cell));
      words.push_back(sources.mark(row.source, row.unverified));
      rows.push_back(std::move(words));
    }
    text += table_text(rows, palette);
  }
  return text + sources.text(palette);
}

std::string compat_json(const CompatPage& page, const Knowledge& knowledge) {
  Json json;
  json["schema"] = "imgforge.compat/v1";
  json["knowledge"] = {{"version", to_utf8(knowledge.version())}};
  json["subject"] = to_utf8(page.subject);
  json["tables"] = Json::array();
  for (const CompatTable& table : page.tables) {
    Json rows = Json::array();
    for (const CompatRow& row : table.rows) {
      Json cells = Json::object();
      for (std::size_t index = 0; index < row.cells.size(); ++index)
        cells[table.columns[index]] = cell_json(row.cells[index]);
      cells["source"] = to_utf8(row.source);
      cells["unverified"] = row.unverified;
      rows.push_back(std::move(cells));
    }
    json["tables"].push_back({{"title", to_utf8(table.title)}, {"rows", std::move(rows)}});
  }
  return dump(json);
}

std::string solve_text(const SolveResult& result, const std::vector<std::string>& asked, const Palette& palette) {
  Sources sources;
  std::string text;
  if (result.solution) {
    text = palette.bold(result.solution->certain
                            ? "the newest that goes together"
                            : "nothing is sure to go together; the newest that no row speaks against") +
           "\n";
    for (const auto& [name, value] : chosen(*result.solution))
      text += fmt::format("  {:<14} {}\n", name, display_safe(value));
    text += fmt::format("\n{}\n", palette.bold("because"));
    text += judgements_text(result.solution->judgements, sources, palette);
    return text + sources.text(palette);
  }
  const Contradiction& contradiction = result.contradiction;
  text = fmt::format("{} of {}\n", palette.bold("nothing fits all"), display_safe(join(asked, " ")));
  std::vector<std::string> words;
  for (const std::string& one : contradiction.constraints) words.push_back(display_safe(one));
  if (words.size() == 1) {
    text += fmt::format("  {} alone cannot be had\n", words.front());
  } else {
    text += fmt::format("  {} exclude {}\n", join_words(words), words.size() == 2 ? "each other" : "one another");
  }
  if (!contradiction.reasons.empty()) text += fmt::format("\n{}\n", palette.bold("because"));
  text += judgements_text(contradiction.reasons, sources, palette);
  return text + sources.text(palette);
}

std::string solve_json(const SolveResult& result, const std::vector<std::string>& asked, const Knowledge& knowledge) {
  Json json;
  json["schema"] = "imgforge.compat-solve/v1";
  json["knowledge"] = {{"version", to_utf8(knowledge.version())}};
  json["asked"] = Json::array();
  for (const std::string& word : asked) json["asked"].push_back(to_utf8(word));
  json["solution"] = result.solution ? solution_json(*result.solution) : Json(nullptr);
  json["contradiction"] = nullptr;
  if (!result.solution) {
    json["contradiction"] = {{"constraints", Json::array()},
                             {"reasons", judgements_json(result.contradiction.reasons)}};
    for (const std::string& one : result.contradiction.constraints)
      json["contradiction"]["constraints"].push_back(to_utf8(one));
  }
  return dump(json);
}

}  // namespace imgforge
