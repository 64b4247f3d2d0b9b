// What `imgforge compat` prints: tables for people, with the source of each row below, and JSON for programs.
//
// Rows may come from a folder of --knowledge: text is made safe for a terminal, the JSON is ASCII.
#pragma once

#include <string>

#include "check/compat_pages.hpp"
#include "check/solve.hpp"
#include "report/style.hpp"

namespace imgforge {

std::string compat_text(const CompatPage& page, const Palette& palette);

/// {"schema": "imgforge.compat/v1", "knowledge": ..., "subject": ..., "tables": [{"title", "rows": [{COLUMN: string,
/// list or null, "source", "unverified"}]}]}, indented by two.
std::string compat_json(const CompatPage& page, const Knowledge& knowledge);

/// `asked` are the words of the command line.
std::string solve_text(const SolveResult& result, const std::vector<std::string>& asked, const Palette& palette);

/// {"schema": "imgforge.compat-solve/v1", "knowledge", "asked", "solution": {...} or null, "contradiction": {...} or
/// null}
std::string solve_json(const SolveResult& result, const std::vector<std::string>& asked, const Knowledge& knowledge);

}  // namespace imgforge
