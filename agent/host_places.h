// Where this machine stands, and what it runs, as its owner says: what several machines share may be at fault instead
// of them.
//
// Pure value; thread-compatible.

#ifndef LOCKSTEP_AGENT_HOST_PLACES_H_
#define LOCKSTEP_AGENT_HOST_PLACES_H_

#include <cstddef>
#include <string>

namespace lockstep {

inline constexpr size_t kMaxPlaceNameBytes = 128;

// Names that mean the same place on every machine of it; "" = not known.
struct HostPlaces {
  std::string rack;
  std::string leaf;   // the switch next to the machine
  std::string power;  // a feed, a busway, a power domain
  std::string image;  // of the software that was installed
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_HOST_PLACES_H_
