// A flame graph as one SVG file: for pages and for people, without script, links or fonts of others.
//
// Each frame is a bar below the one that called it, as wide as the share of samples in which it was there. The names
// are hostile text and are escaped; a bar that is too narrow for its name shows it when a pointer rests on it. Pure.

#ifndef LOCKSTEP_DAEMON_FLAME_GRAPH_H_
#define LOCKSTEP_DAEMON_FLAME_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace lockstep {

// Plain value; thread-compatible.
struct FlameStack {
  std::vector<std::string> frames;  // outermost first
  uint64_t count = 0;
};

// Bars beyond that many, and those narrower than a third of a pixel, are left out.
inline constexpr size_t kMaxFlameBars = 5'000;
inline constexpr size_t kMaxFlameDepth = 200;

std::string FlameGraphSvg(const std::vector<FlameStack>& stacks, absl::string_view title);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_FLAME_GRAPH_H_
