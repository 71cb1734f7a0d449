// What goes wrong in one run, and when: drawn from a seed. Pure values; thread-compatible.

#ifndef LOCKSTEP_TESTS_FAULTS_TROUBLE_H_
#define LOCKSTEP_TESTS_FAULTS_TROUBLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/random.h"

namespace lockstep::faults {

enum class TroubleKind : uint8_t {
  kKillCollector,     // kill -9, and a start some seconds later
  kPowerLoss,         // of the collector's machine
  kRestartCollector,  // in order, as by SIGTERM
  kStopCollector,     // SIGSTOP, and SIGCONT after `length_ns`
  kKillAgent,
  kAgentPowerLoss,  // of the agent's machine
  kStopAgent,
  kDriverHangs,  // a source of the agent does not come back for `length_ns`
  kBreakStream,  // one end learns of it before the other
  kPartition,
  kDelay,  // messages take up to `size` seconds
  kDiskFull,
  kDiskFails,
  kSyncFails,
  kDiskSlow,
  kDiskHangs,
  kDiskLies,        // says that it synced
  kDiskCorrupts,    // flips a bit of a file
  kClockJump,       // of the collector's wall clock, by `size` seconds
  kAgentClockJump,  // likewise, of an agent's
  kSpoolFull,       // of an agent, and so on
  kSpoolFails,
  kSpoolSyncFails,
  kSpoolSlow,
  kReceiverSlow,
  kReceiverFails,
  kReceiverRefuses,
  kReceiverLosesAnswer,
  kReceiverHangs,
};

// What is known of a kind.
struct TroubleInfo {
  TroubleKind kind;
  const char* name;
  int64_t longest_seconds;  // 0 = it is over at once
  double most_size;         // 0 = it has none
  bool hits_agent;
  // So long after its begin somebody may still wait for an end that is gone.
  int64_t late_seconds;
  // After both, nothing is seen for so long: starts and pauses of agents; -1 = it blinds nobody.
  int64_t blinds_seconds;
  bool goes_both_ways = false;  // the size is up to half of `most_size`, or less than 0 by as much
};

absl::Span<const TroubleInfo> TroubleTable();
const TroubleInfo& InfoOf(TroubleKind kind);

struct Trouble {
  TroubleKind kind = TroubleKind::kKillCollector;
  int64_t at_ns = 0;  // world
  int64_t length_ns = 0;
  double size = 0;
  int32_t agent = 0;   // index; of kinds that hit one
  uint64_t locks = 0;  // more than 0: not at its time, but when the machine is at so many locks of its work after it
};

std::string ToText(const Trouble& trouble);

// The longest time between `from_ns` and `to_ns` in which no trouble keeps the collector from seeing all agents.
int64_t LongestUndisturbed(absl::Span<const Trouble> troubles, int64_t from_ns, int64_t to_ns);

// By rising time. Each run draws which kinds it has at all: all of them together would hide each other.
std::vector<Trouble> DrawTroubles(Random& random, int32_t agents, int64_t from_ns, int64_t to_ns);

}  // namespace lockstep::faults

#endif  // LOCKSTEP_TESTS_FAULTS_TROUBLE_H_
