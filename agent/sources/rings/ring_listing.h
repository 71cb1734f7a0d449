// The names in a ring directory that may be rings.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_RING_LISTING_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_RING_LISTING_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lockstep {

// Thread-compatible.
struct RingListing {
  std::vector<std::string> names;  // sorted
  bool is_complete = true;         // false: there are more, whoever made them
};

// Names listed at once, 2 MiB; a directory that somebody fills with files costs the agent no more.
inline constexpr size_t kMaxListedRings = 16'384;
// Entries looked at while listing, whatever their names: about 10 ms.
inline constexpr size_t kMaxListedEntries = 65'536;
// A recorder's names have up to 50 bytes; longer ones are none of ours.
inline constexpr size_t kMaxRingNameBytes = 96;

// Of the directory that `directory` has open. Names that end as rings do and do not begin with a dot, for those are
// rings in the making.
absl::StatusOr<RingListing> ListRings(int directory);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_RING_LISTING_H_
