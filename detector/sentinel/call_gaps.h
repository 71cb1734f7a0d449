// How seldom the rarest recurring communicator of a job is used: how long one must look to see every kind of call.
//
// A step makes all of its kinds of calls. A window in which some are missing looks as if the job had shorter steps: its
// micro-batches. Calls come in bursts (all gradients at the end of a step), so that their mean distance tells nothing;
// the long gaps between bursts do. A communicator's period is the longest gap that has come twice, but at most the
// length of gap in which half of its time passes: neither the wait before its first step nor a checkpoint now and then
// is a period. Of all communicators the longest period counts, about a step or more. What has been silent for two of
// its periods while others were not is over (initialisation, another phase).
//
// Counted are collectives of one member of each communicator, its witness, by the clock of that member's host: that of
// the collector runs otherwise when a recording is played. Gaps come from the ends of reported operations, or, where
// reports list none, from the counter of finished ones. Pure; not thread-safe. Memory: about 800 bytes per
// communicator; O(1) per record of a witness, nothing for others.

#ifndef LOCKSTEP_DETECTOR_SENTINEL_CALL_GAPS_H_
#define LOCKSTEP_DETECTOR_SENTINEL_CALL_GAPS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/model/input.h"

namespace lockstep {

struct RarestCalls {
  double period_seconds = 0;
  double seen_seconds = 0;  // so many periods were seen: what came before was another phase of the job
};

class CallGaps {
 public:
  // One communicator, by its slot in the roster, as one rank of a report sees it. `host_ns`: of the report.
  void Observe(int32_t communicator_slot, int32_t rank, const CommunicatorView& view, int64_t host_ns,
               int64_t received_ns);

  // Of the communicator that is used least; zeros = none has recurred. O(communicators).
  RarestCalls Rarest();
  // Of the hosts' clocks, since counting began: the most that any communicator has been watched.
  double watched_seconds() const { return watched_seconds_; }

  void Clear() { *this = CallGaps(); }

 private:
  // Gaps from kLeastSeconds up, four bins per octave: a period is known to a fifth.
  static constexpr double kBinsPerOctave = 4;
  static constexpr double kLeastSeconds = 1e-5;
  static constexpr size_t kBins = 112;  // up to 2,600 s

  struct Witness {
    int32_t rank = -1;
    int64_t first_host_ns = 0;
    int64_t host_ns = 0;      // of its newest report
    int64_t received_ns = 0;  // of the same, by the collector's clock
    uint64_t sequence = 0;    // of the newest call
    int64_t end_ns = 0;       // of the same; 0 = none yet
    double seconds = 0;       // in all bins
    std::array<float, kBins> bin_seconds = {};
  };

  static size_t BinOf(double seconds);
  static double SecondsOf(size_t bin);
  static void Feed(uint64_t sequence, int64_t end_ns, Witness* witness);
  static void Forget(double kept_seconds, Witness* witness);
  static RarestCalls CallsOf(const Witness& witness);
  static double SilenceOf(const Witness& witness);
  double LeastSilence() const;  // while the whole job pauses, nothing in it is over

  std::vector<Witness> witnesses_;  // by communicator slot
  double watched_seconds_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SENTINEL_CALL_GAPS_H_
