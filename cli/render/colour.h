// Colours for terminals: what is wrong in red, what is known in yellow, what is over in grey. Pure.

#ifndef LOCKSTEP_CLI_RENDER_COLOUR_H_
#define LOCKSTEP_CLI_RENDER_COLOUR_H_

#include <string>

#include "absl/strings/string_view.h"

namespace lockstep {

enum class Colour { kNone, kRed, kYellow, kGreen, kGrey };

// `text` with the sequences that colour it and end that; as it is for kNone.
std::string Coloured(const std::string& text, Colour colour);

// Of the states of jobs, incidents and hosts; kNone for other words.
Colour StateColour(absl::string_view state);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_COLOUR_H_
