// Keeps the ring directory as jobs need it while the agent runs: a folder of the agent's user with mode 1777, in which
// everybody may create and nobody removes another's ring.
//
// What is missing is made, a mode or owner is set, and what stands in its place is moved aside, to the same name with
// ".aside", where it replaces what was moved there before. A link of root's is an administrator's word and is followed.
// Most of that takes rights: in a sticky folder the place of another user can only be mended by root. What cannot be
// mended is said once, and stays in the metric until somebody has. A job that found the place wrong stays unrecorded.
//
// Costs one look at the file system per call while all is right. Not thread-safe.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_RING_PLACE_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_RING_PLACE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/told_error.h"

namespace lockstep {

enum class RingPlaceFault {
  kNone,
  kMissing,
  kNotAFolder,  // a file, or a link that is not root's
  kOwner,       // another user, who may remove all rings
  kMode,
  kDeleted,     // below a mount: jobs see another folder, or none
  kUnreachable  // nobody knows
};
inline constexpr std::array<const char*, 7> kRingPlaceFaultNames = {
    "none", "missing", "not_a_folder", "owner", "mode", "deleted", "unreachable"};  // by RingPlaceFault

class RingPlace {
 public:
  using Counts = std::array<uint64_t, kRingPlaceFaultNames.size()>;

  explicit RingPlace(std::string path) : path_(std::move(path)) {}

  // Looks, and mends what it can.
  void Keep();

  RingPlaceFault fault() const { return fault_; }   // as Keep has left it
  const Counts& mended() const { return mended_; }  // since the start, by RingPlaceFault

 private:
  RingPlaceFault Look() const;
  // The errno of what could not be done; 0 = it was.
  int Mend(RingPlaceFault fault) const;

  const std::string path_;
  RingPlaceFault fault_ = RingPlaceFault::kNone;
  Counts mended_ = {};
  ToldError told_error_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_RING_PLACE_H_
