#include "detector/hang/operation_verdict.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/shares.h"
#include "detector/hang/hang_reason.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/verdict/abstention.h"
#include "detector/verdict/confidence.h"
#include "detector/verdict/hang_reasons.h"
#include "detector/verdict/trace_names.h"
#include "detector/verdict/wording.h"

namespace lockstep {

namespace {

// All of the job stands, whoever is to blame.
constexpr Cost kEverything = {.slowdown_fraction = 1, .seconds_per_step = 0, .steps_affected_fraction = 1};

}  // namespace

Verdict ObserveHang(VerdictClass verdict_class) {
  Verdict verdict = Verdict::Observation(verdict_class);
  verdict.cost = kEverything;
  return verdict;
}

Verdict BeginHang(VerdictScope scope, VerdictClass verdict_class, Advice advice) {
  Verdict verdict = Verdict::Accusation(scope, verdict_class);
  verdict.cost = kEverything;
  verdict.advice = advice;
  return verdict;
}

void SayOfHang(Reason reason, Verdict* verdict) {
  verdict->evidence.push_back({EvidenceKind::kProgress, std::move(reason)});
}

void SayVictims(const Frontier& frontier, const Hang& hang, Verdict* verdict) {
  if (frontier.watch() != nullptr) verdict->first_seen_ns = frontier.watch()->now_ns - hang.waited_ns;
  for (Reason& reason : AboutVictims(frontier, hang)) SayOfHang(std::move(reason), verdict);
}

Verdict OfUnrecorded(const Frontier& frontier, const Hang& hang) {
  const Trace& trace = frontier.trace();
  const size_t all = trace.ranks.size() + trace.missing_ranks.size();
  if (static_cast<double>(hang.unrecorded.size()) > kMainPart * static_cast<double>(all)) {
    // Most records were not handed in, whoever is to blame.
    Verdict verdict = ObserveHang(VerdictClass::kHangNotEntered);
    SayOfHang(MissingRanks{.missing = hang.unrecorded.size(), .all = all}, &verdict);
    SayVictims(frontier, hang, &verdict);
    return verdict;
  }
  Verdict verdict = BeginHang(VerdictScope::kMachine, VerdictClass::kHangNotEntered, Advice::kCordonAndReplace);
  for (const int32_t rank : hang.unrecorded) {
    Culprit culprit{.rank = rank, .confidence = kUnseenConfidence};
    for (const TraceRank& known : trace.ranks) {
      if (known.rank == rank && known.host >= 0) culprit.host = trace.hosts[static_cast<size_t>(known.host)];
    }
    verdict.culprits.push_back(std::move(culprit));
  }
  SayOfHang(MembersWithoutRecord{.ranks = hang.unrecorded, .operation = OperationOf(trace, hang)}, &verdict);
  SayVictims(frontier, hang, &verdict);
  return verdict;
}

Verdict OfStuckTransfer(const Frontier& frontier, const Hang& hang) {
  const Trace& trace = frontier.trace();
  Verdict verdict = BeginHang(VerdictScope::kNetwork, VerdictClass::kHangInCommunication, Advice::kCheckLink);
  const double share = kLikelyConfidence / static_cast<double>(std::max<size_t>(1, hang.ranks.size()));
  for (const int32_t rank : hang.ranks) verdict.culprits.push_back(TraceCulprit(trace, rank, share));
  if (IsPointToPoint(hang.operation) && hang.ranks.size() == 2) {
    verdict.culprits[0].peer_host = verdict.culprits[1].host;
    verdict.culprits[1].peer_host = verdict.culprits[0].host;
  }
  SayOfHang(StuckTransfer{.ranks = NumbersOf(trace, hang.ranks),
                          .operation = OperationOf(trace, hang),
                          .tuning = hang.tuning,
                          .sizes_known = hang.sizes_known},
            &verdict);
  SayVictims(frontier, hang, &verdict);
  return verdict;
}

Verdict OfUnknownHolder(const Frontier& frontier, const Hang& hang) {
  Verdict verdict = ObserveHang(VerdictClass::kHangInCommunication);
  SayOfHang(HolderUnknown{.operation = OperationOf(frontier.trace(), hang),
                          .inside = static_cast<uint64_t>(hang.waiting),
                          .unrecorded = hang.unrecorded,
                          .more_unrecorded = hang.more_unrecorded,
                          .begins_seen = hang.begins_seen,
                          .sizes_known = hang.sizes_known},
            &verdict);
  SayVictims(frontier, hang, &verdict);
  return verdict;
}

Verdict OfSoftware(const Frontier& frontier, const Hang& hang) {
  const Trace& trace = frontier.trace();
  const bool mismatch = hang.kind == HangKind::kMismatch;
  Verdict verdict =
      BeginHang(VerdictScope::kSoftware, mismatch ? VerdictClass::kCollectiveMismatch : VerdictClass::kDeadlock,
                Advice::kCheckSoftware);
  for (const int32_t rank : hang.ranks) verdict.culprits.push_back(TraceCulprit(trace, rank, kLikelyConfidence));
  std::vector<int32_t> ranks = NumbersOf(trace, hang.ranks);
  OperationName operation = OperationOf(trace, hang);
  if (mismatch && hang.other_tuning.has_value()) {
    SayOfHang(DifferentTuning{.ranks = std::move(ranks),
                              .operation = std::move(operation),
                              .theirs = *hang.other_tuning,
                              .usual = hang.tuning},
              &verdict);
  } else if (mismatch) {
    SayOfHang(DifferentCall{.ranks = std::move(ranks), .operation = std::move(operation)}, &verdict);
  } else {
    SayOfHang(DifferentOrder{.ranks = std::move(ranks), .operation = std::move(operation)}, &verdict);
  }
  SayVictims(frontier, hang, &verdict);
  return verdict;
}

}  // namespace lockstep
