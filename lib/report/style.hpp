// Colour for terminals, none for pipes.
#pragma once

#include <string>
#include <string_view>

namespace imgforge {

struct Palette {
  bool color = false;
  std::string red(std::string_view text) const { return paint("31;1", text); }
  std::string green(std::string_view text) const { return paint("32;1", text); }
  std::string yellow(std::string_view text) const { return paint("33;1", text); }
  std::string blue(std::string_view text) const { return paint("34;1", text); }
  std::string bold(std::string_view text) const { return paint("1", text); }
  std::string faint(std::string_view text) const { return paint("2", text); }

 private:
  std::string paint(std::string_view code, std::string_view text) const {
    return color ? "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m" : std::string(text);
  }
};

}  // namespace imgforge
