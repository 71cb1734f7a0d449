#include "detector/hang/rank_verdict.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "detector/hang/hang_reason.h"
#include "detector/hang/operation_verdict.h"
#include "detector/hardware/evidence_log.h"
#include "detector/verdict/confidence.h"
#include "detector/verdict/hang_reasons.h"
#include "detector/verdict/trace_names.h"

namespace lockstep {
namespace {

// As evidence_log.cc quotes.
constexpr size_t kMaxQuotedEvents = 3;

}  // namespace

std::vector<const HostEvent*> BrokenGpuEvents(const Trace& trace, absl::Span<const HostEvent> events,
                                              int32_t rank_index) {
  std::vector<const HostEvent*> found;
  const std::string host = HostNameOf(trace, rank_index);
  const int32_t pid = trace.ranks[static_cast<size_t>(rank_index)].pid;
  for (const HostEvent& event : events) {
    if (event.host != host || !MeansBrokenGpu(event.event)) continue;
    if (event.event.pid != 0 && pid != 0 && event.event.pid != pid) continue;
    if (found.size() < kMaxQuotedEvents) found.push_back(&event);
  }
  return found;
}

VerdictClass ClassOf(const Hang& hang) {
  if (HasStoppedCalling(hang)) return VerdictClass::kProcessDead;
  return hang.kind == HangKind::kNotEntered ? VerdictClass::kHangNotEntered : VerdictClass::kHangInCommunication;
}

Verdict OfRanks(const Frontier& frontier, absl::Span<const HostEvent> events, const Hang& hang,
                const std::vector<int32_t>& ranks, VerdictClass verdict_class) {
  const Trace& trace = frontier.trace();
  const bool software = HasStoppedCalling(hang) || std::all_of(ranks.begin(), ranks.end(), [&](int32_t rank) {
                          return IsGone(trace.ranks[static_cast<size_t>(rank)]);
                        });
  Verdict verdict =
      BeginHang(VerdictScope::kMachine, verdict_class, software ? Advice::kCheckSoftware : Advice::kCordonAndReplace);
  const bool likely = hang.kind == HangKind::kNotFinished || HasStoppedCalling(hang);
  const double confidence = likely ? kLikelyConfidence : kPlainConfidence;
  for (const int32_t rank : ranks) verdict.culprits.push_back(TraceCulprit(trace, rank, confidence));
  SayOfHang(WhatTheyDo(trace, hang, ranks), &verdict);
  for (const int32_t rank : ranks) {
    if (const std::optional<ProcessCannotRun> state = StateOf(trace, rank)) SayOfHang(*state, &verdict);
    for (const HostEvent* const event : BrokenGpuEvents(trace, events, rank)) {
      verdict.evidence.push_back({EvidenceKind::kLog, LineOf(event->host, event->event)});
    }
  }
  SayVictims(frontier, hang, &verdict);
  return verdict;
}

}  // namespace lockstep
