// Where the machines of a fleet stand, and what they run: what several of them share may be at fault instead of them.
//
// Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_MODEL_PLACE_TABLE_H_
#define LOCKSTEP_DETECTOR_MODEL_PLACE_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace lockstep {

// Kinds of place. From narrow to wide where they nest: of places with the same machines the first is named first.
enum class PlaceKind : uint8_t {
  kRack,
  kLeaf,   // the switch next to the machines
  kPower,  // a feed, a busway, a power domain
  kImage,  // of the software that was installed
};
inline constexpr size_t kPlaceKinds = 4;  // of PlaceKind

// "rack", "leaf", "power feed", "image".
const char* Name(PlaceKind kind);

// Names of the places of one machine, by kind; "" = not known.
using Places = std::array<std::string, kPlaceKinds>;

// False when no place of the machine is known.
bool AnyKnown(const Places& places);

inline constexpr size_t kMaxPlacedHosts = 200'000;  // of one table; whoever fills it refuses more

struct PlaceTable {
  std::map<std::string, Places> of_host;  // a machine that is not here has no known place

  bool empty() const { return of_host.empty(); }
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_PLACE_TABLE_H_
