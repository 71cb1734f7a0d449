// Ranks that tell of themselves what a test says, and what is concluded from it. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_HANG_LIVE_HANGS_FIXTURE_H_
#define LOCKSTEP_DETECTOR_HANG_LIVE_HANGS_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "detector/hang/live_hangs.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"
#include "detector/model/tuning.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

inline constexpr int64_t kSecond = kNanosPerSecond;
inline constexpr int64_t kNow = 100 * kSecond;  // later than all that is told

// A rank in communicators: inside operation `sequence` of one of them for `age_ns`, or outside.
struct ToldPlace {
  CommunicatorId id;
  int32_t size, member;
  uint64_t enqueued, finished;
  int64_t age_ns = 0;  // 0 = outside
  OperationKind kind = OperationKind::kAllReduce;
  uint64_t bytes = 8;
  int32_t peer = -1;
  bool begun = true;
  Tuning tuning = {};
};

class LiveHangsFixture : public ::testing::Test {
 protected:
  void Rank(int32_t rank, std::vector<ToldPlace> places, ProcessState state = ProcessState::kRunning,
            bool finalized = false, int64_t received_ns = kNow, bool unsized = false) {
    RankView view{.rank = rank, .pid = 10 + rank, .process_state = state, .finalized = finalized};
    for (const ToldPlace& place : places) {
      CommunicatorView at{.id = place.id, .size = place.size, .communicator_rank = place.member};
      at.enqueued = at.started = place.enqueued;
      at.finished = place.finished;
      at.idle_ns = 6 * kSecond;
      if (place.age_ns > 0) {
        at.oldest_in_flight = InFlightOperation{.kind = place.kind,
                                                .tuning = place.tuning,
                                                .sequence = place.finished + 1,
                                                .started = place.begun,
                                                .age_ns = place.age_ns,
                                                .inside_ns = place.begun ? place.age_ns : 0,
                                                .bytes = place.bytes,
                                                .peer = place.peer};
      }
      view.communicators.push_back(at);
    }
    const int32_t host = roster_.TouchHost("h" + std::to_string(rank), received_ns);
    roster_.Update(host, view, received_ns, 0)->unsized = unsized;
    for (const CommunicatorView& at : view.communicators) roster_.Join(roster_.SlotOfRank(rank), at);
  }

  // All that a rank has in flight in one communicator of `size` members, the oldest first.
  struct Called {
    OperationKind kind = OperationKind::kAllReduce;
    uint64_t sequence = 0;
    bool begun = false;
    int32_t peer = -1;
  };
  struct Place {
    CommunicatorId id;
    int32_t size, member;
    std::vector<Called> called;
    uint64_t enqueued = 4;  // of collectives; all before those that are called have finished
  };
  // Everything was called `age_ns` ago, one after the other, and what has begun did so then or `inside_ns` ago, when
  // the counters changed last.
  void TellAll(int32_t rank, const std::vector<Place>& places, int64_t age_ns = 5 * kSecond, int64_t inside_ns = -1,
               int64_t received_ns = kNow, ProcessState state = ProcessState::kRunning) {
    RankView view{.rank = rank, .pid = 10 + rank, .process_state = state};
    view.operations_enqueued = 100;
    view.operations_lost = lost_of_hundred_;
    for (const Place& place : places) {
      CommunicatorView at{.id = place.id, .size = place.size, .communicator_rank = place.member};
      at.enqueued = at.finished = place.enqueued;
      at.idle_ns = inside_ns < 0 ? age_ns : inside_ns;
      for (const Called& called : place.called) {
        const bool counted = called.kind != OperationKind::kSend && called.kind != OperationKind::kRecv;
        if (counted) at.enqueued = std::max(at.enqueued, called.sequence);
        if (counted) at.finished = std::min(at.finished, called.sequence - 1);
        const InFlightOperation operation{.kind = called.kind,
                                          .sequence = called.sequence,
                                          .started = called.begun,
                                          .age_ns = age_ns--,
                                          .inside_ns = !called.begun   ? 0
                                                       : inside_ns < 0 ? age_ns
                                                                       : inside_ns,
                                          .bytes = 8,
                                          .peer = called.peer};
        if (!at.oldest_in_flight.has_value()) {
          at.oldest_in_flight = operation;
          at.further_in_flight.emplace();
        } else {
          at.further_in_flight->operations.push_back(operation);
        }
      }
      view.communicators.push_back(at);
    }
    roster_.Update(roster_.TouchHost("h" + std::to_string(rank), received_ns), view, received_ns, 0);
    for (const CommunicatorView& at : view.communicators) roster_.Join(roster_.SlotOfRank(rank), at);
  }

  static std::vector<int32_t> RanksOf(const Verdict& verdict) {
    std::vector<int32_t> ranks;
    for (const Culprit& culprit : verdict.culprits) ranks.push_back(culprit.rank);
    std::sort(ranks.begin(), ranks.end());
    return ranks;
  }

  LiveHangs Judge() const { return JudgeLiveHangs(roster_, {.watermark_ns = kNow, .longest_usual_step_seconds = 0.1}); }
  std::vector<Verdict> Verdicts() const { return Judge().verdicts; }

  Roster roster_{RosterLimits{}};
  uint64_t lost_of_hundred_ = 0;  // of the calls of each rank that TellAll tells of
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_LIVE_HANGS_FIXTURE_H_
