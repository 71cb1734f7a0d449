// Why a rank or a host is held to be slow, and the sentences. Pure values.

#ifndef LOCKSTEP_DETECTOR_VERDICT_SLOW_REASONS_H_
#define LOCKSTEP_DETECTOR_VERDICT_SLOW_REASONS_H_

#include <cstdint>
#include <string>

#include "detector/verdict/wording.h"

namespace lockstep {

enum class SlowKind : uint8_t { kCompute, kHost, kInput };

// What the rank works longer than its peers, per step.
struct OwnTimeExcess {
  RankName rank;
  uint64_t host_ranks = 0;  // as slow ranks of a host that is slow as a whole; 0 = the rank alone
  double own_seconds = 0;
  int32_t peers = 0;
  double peer_seconds = 0;
  double excess_seconds = 0;
  double share_of_steps = 0;
  int32_t first_step = 0;
  int32_t last_step = 0;
  double significance = 0;  // in standard errors
  bool operator==(const OwnTimeExcess&) const = default;
};

// What the rank works longer than it did before, while the others work as long as before.
struct GrewAlone {
  RankName rank;
  uint64_t host_ranks = 0;  // as OwnTimeExcess
  double before_seconds = 0;
  double own_seconds = 0;
  int32_t first_step = 0;
  double share_of_steps = 1;  // since then; in the others it spends what it did before
  double significance = 0;    // in standard errors
  bool operator==(const GrewAlone&) const = default;
};

struct HostWaitLeftOut {
  bool operator==(const HostWaitLeftOut&) const = default;
};

// Peers do part of their work unseen: what of its own work a healthy rank would need, by what is seen of both.
struct HiddenPeerWork {
  double needed_seconds = 0;
  double own_seconds = 0;
  bool operator==(const HiddenPeerWork&) const = default;
};

struct ExcessPlace {
  SlowKind kind = SlowKind::kCompute;
  bool operator==(const ExcessPlace&) const = default;
};

// The program gives the rank to do what its peers have not: see slow/program_duty.h.
struct DutyOfPlace {
  enum class Place : uint8_t { kFirst, kLast, kOfReplica };
  Place place = Place::kFirst;
  uint64_t ranks = 0;     // kOfReplica: that stall alike,
  uint64_t of_ranks = 0;  // of those that have this place in their replicas,
  uint64_t hosts = 0;     // on so many hosts
  bool operator==(const DutyOfPlace&) const = default;
};

// The host comes back last from the pauses of the job: see slow/late_return.h.
struct LateReturn {
  std::string host;
  uint64_t late = 0;    // pauses from which it did, of
  uint64_t pauses = 0;  // since the first of these
  int32_t first_step = 0;
  double later_seconds = 0;  // than the second latest, in the middle one
  bool operator==(const LateReturn&) const = default;
};

struct LateLaunches {
  bool operator==(const LateLaunches&) const = default;
};

// Those in which it is not slow.
struct OtherSteps {
  double seconds = 0;
  bool operator==(const OtherSteps&) const = default;
};

struct CriticalPathShare {
  double share = 0;
  bool of_host = false;  // else of one rank
  bool operator==(const CriticalPathShare&) const = default;
};

// What an affected step would take with the own time of its peers.
struct CounterfactualOwnTime {
  bool replayed = false;  // else against its own past
  double seconds = 0;     // less
  double step_seconds = 0;
  bool operator==(const CounterfactualOwnTime&) const = default;
};

// Others became slow in the same way at the same step.
struct SameEvent {
  uint64_t causes = 0;  // this one included
  double share = 0;     // of the step that all that seem cheap cost together
  bool operator==(const SameEvent&) const = default;
};

// Causes that hide behind one another cost less together than their sum. Shares are of the step time.
struct SharedCost {
  double now_share = 0;     // what removing it gives back while the others are there
  double beside_share = 0;  // what it gives back when what it hides behind is gone
  double part_share = 0;    // its part of what all have cost together
  bool operator==(const SharedCost&) const = default;
};

std::string Sentence(const OwnTimeExcess& reason);
std::string Sentence(const GrewAlone& reason);
std::string Sentence(const HostWaitLeftOut& reason);
std::string Sentence(const HiddenPeerWork& reason);
std::string Sentence(const ExcessPlace& reason);
std::string Sentence(const DutyOfPlace& reason);
std::string Sentence(const LateReturn& reason);
std::string Sentence(const LateLaunches& reason);
std::string Sentence(const OtherSteps& reason);
std::string Sentence(const CriticalPathShare& reason);
std::string Sentence(const CounterfactualOwnTime& reason);
std::string Sentence(const SameEvent& reason);
std::string Sentence(const SharedCost& reason);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_SLOW_REASONS_H_
