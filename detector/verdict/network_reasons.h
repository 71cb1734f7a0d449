// Why paths of the network are held to be slow, or not; and the sentences. Pure values.

#ifndef LOCKSTEP_DETECTOR_VERDICT_NETWORK_REASONS_H_
#define LOCKSTEP_DETECTOR_VERDICT_NETWORK_REASONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/verdict/wording.h"

namespace lockstep {

enum class PathCauseKind : uint8_t {
  kSend,     // the sending side of the adapter of ranks[...], all on host hosts[0]
  kReceive,  // its receiving side
  kNic,      // the adapter, the side unknown
  kHost,     // all paths of host hosts[0]
  kLink,     // between hosts[0] and hosts[1]
  kFabric,   // between hosts[...], a part of the network, and the others
  kGroup,    // somewhere between ranks[...]
  kHosts,    // somewhere between hosts[...]: each of them, and each link between them, would explain it
  kInside,   // between the GPUs of host hosts[0]
  kWithin,   // somewhere between ranks[...] of host hosts[0], where other transfers of the same GPUs are quick
};

// What slow paths have in common.
struct PathPlace {
  PathCauseKind kind = PathCauseKind::kGroup;
  std::vector<int32_t> ranks;
  std::vector<std::string> hosts;
  bool operator==(const PathPlace&) const = default;
};

struct SlowPathTransfers {
  PathPlace place;
  double times = 0;           // as long
  bool against_past = false;  // else against the same transfers elsewhere
  bool in_some_steps = false;
  int64_t slow_steps = 0;  // if in some
  int64_t first_step = 0;
  int64_t last_step = 0;
  uint64_t paths = 0;
  int32_t predicted = 0;  // paths that this place has in common
  uint64_t compared = 0;
  bool may_be_built_so = false;  // nobody is to blame then
  bool operator==(const SlowPathTransfers&) const = default;
};

struct StalledTransfers {
  int64_t steps = 0;
  int64_t first_step = 0;
  int64_t last_step = 0;
  uint64_t stalled_paths = 0;
  uint64_t compared_paths = 0;
  double seconds = 0;
  double usual_step_seconds = 0;
  bool told_apart = false;  // all of the paths touch one side
  uint64_t hosts = 0;
  std::vector<std::string> named_hosts;  // the first of them
  bool operator==(const StalledTransfers&) const = default;
};

// What usual transfers would give back.
struct CounterfactualTransfers {
  bool replayed = false;  // else estimated by the excess
  double seconds_per_step = 0;
  double share = 0;
  bool operator==(const CounterfactualTransfers&) const = default;
};

// Of transfers that recorders watched.
struct LongerWaits {
  PathPlace place;
  double times = 0;  // as long
  double watched_seconds = 0;
  uint64_t flows = 0;
  int32_t predicted = 0;
  uint64_t compared = 0;
  double limit = 0;  // from so many times on a flow counts as slow
  bool operator==(const LongerWaits&) const = default;
};

// What a step would take at the usual waits.
struct UsualWaitsStep {
  double step_seconds = 0;
  double lost_seconds = 0;
  double saved_seconds = 0;
  bool operator==(const UsualWaitsStep&) const = default;
};

// Data that had arrived waited for the GPU.
struct LateGpu {
  int32_t rank = -1;
  double times = 0;  // as long as for others
  uint64_t flows = 0;
  double limit = 0;
  bool operator==(const LateGpu&) const = default;
};

struct NetworkClear {
  uint64_t flows = 0;
  double watched_seconds = 0;
  double limit = 0;
  bool operator==(const NetworkClear&) const = default;
};

std::string Sentence(const SlowPathTransfers& reason);
std::string Sentence(const StalledTransfers& reason);
std::string Sentence(const CounterfactualTransfers& reason);
std::string Sentence(const LongerWaits& reason);
std::string Sentence(const UsualWaitsStep& reason);
std::string Sentence(const LateGpu& reason);
std::string Sentence(const NetworkClear& reason);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_NETWORK_REASONS_H_
