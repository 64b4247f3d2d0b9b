// docs/rules.md: every rule as Markdown, with its examples.
#pragma once

#include <string>

namespace imgforge {

std::string rules_page();

}  // namespace imgforge
