#include "detector/patterns/rank_patterns.h"

#include <iterator>

namespace lockstep {
namespace {

constexpr const char* kNames[] = {"", "occupancy", "copy bandwidth", "message bandwidth"};
static_assert(std::size(kNames) == static_cast<size_t>(Utilisation::kMessageBandwidth) + 1);

constexpr size_t kFixedBytes = 178;       // keys, quotes, four numbers, the longest kind and group
constexpr size_t kUtilisationBytes = 64;  // its key and name, mu and sigma
constexpr size_t kEscapedBytes = 6;       // of a control character

}  // namespace

const char* Name(Utilisation utilisation) { return kNames[static_cast<size_t>(utilisation)]; }

size_t PatternBytes(const FunctionPattern& pattern) {
  size_t bytes = kFixedBytes + (pattern.utilisation == Utilisation::kNone ? 0 : kUtilisationBytes);
  for (const char c : pattern.name) {
    const auto byte = static_cast<unsigned char>(c);
    bytes += byte < ' ' ? kEscapedBytes : (c == '"' || c == '\\' ? 2 : 1);
  }
  return bytes;
}

}  // namespace lockstep
