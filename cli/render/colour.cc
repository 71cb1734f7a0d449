#include "cli/render/colour.h"

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

constexpr const char* kCodes[] = {"", "\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[90m"};
constexpr char kEnd[] = "\x1b[0m";

struct Row {
  absl::string_view state;
  Colour colour;
};

constexpr Row kRows[] = {
    {"open", Colour::kRed},
    {"flapping", Colour::kRed},
    {"hung", Colour::kRed},
    {"failed", Colour::kRed},
    {"missing", Colour::kRed},
    {"slow", Colour::kYellow},
    {"irregular", Colour::kYellow},
    {"suspected", Colour::kYellow},
    {"acknowledged", Colour::kYellow},
    {"not connected", Colour::kYellow},
    {"healthy", Colour::kGreen},
    {"reports", Colour::kGreen},
    {"resolved", Colour::kGrey},
    {"silenced", Colour::kGrey},
    {"in maintenance", Colour::kGrey},
    {"folded", Colour::kGrey},
    {"ended", Colour::kGrey},
    {"stopped", Colour::kGrey},
};

}  // namespace

std::string Coloured(const std::string& text, Colour colour) {
  if (colour == Colour::kNone) return text;
  return absl::StrCat(kCodes[static_cast<size_t>(colour)], text, kEnd);
}

Colour StateColour(absl::string_view state) {
  for (const Row& row : kRows) {
    if (row.state == state) return row.colour;
  }
  return Colour::kNone;
}

}  // namespace lockstep
