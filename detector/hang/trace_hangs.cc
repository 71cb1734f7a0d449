#include "detector/hang/trace_hangs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "detector/hang/hang.h"
#include "detector/hang/hang_search.h"
#include "detector/hang/hang_verdict.h"
#include "detector/hardware/evidence_log.h"
#include "detector/model/trace.h"
#include "detector/verdict/confidence.h"
#include "detector/verdict/hang_reasons.h"
#include "detector/verdict/trace_names.h"

namespace lockstep {
namespace {

// Between the clock of the log and that of the recorder.
constexpr int64_t kEventSlackNs = kNanosPerSecond;

// The only rank that an event can be about; -1 = none, or several.
int32_t RankOf(const Trace& trace, const HostEvent& event) {
  int32_t found = -1;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const TraceRank& who = trace.ranks[rank];
    if (HostNameOf(trace, static_cast<int32_t>(rank)) != event.host) continue;
    const bool by_pid = event.event.pid != 0 && who.pid != 0;
    const bool same =
        by_pid ? event.event.pid == who.pid : who.gpu >= 0 && event.event.device == absl::StrCat("gpu", who.gpu);
    if (!same) continue;
    if (found >= 0) return -1;
    found = static_cast<int32_t>(rank);
  }
  return found;
}

bool FinishedLater(const Trace& trace, int32_t rank, int64_t host_ns) {
  const absl::Span<const TraceOperation> operations = trace.OperationsOf(static_cast<size_t>(rank));
  return std::any_of(operations.begin(), operations.end(), [host_ns](const TraceOperation& operation) {
    return operation.finished() && operation.end_ns > host_ns + kEventSlackNs;
  });
}

// By rank index: the kernel calls its GPU broken, and it has finished nothing since.
std::vector<char> BrokenGpus(const Trace& trace, absl::Span<const HostEvent> events) {
  std::vector<char> broken(trace.ranks.size(), 0);
  for (const HostEvent& event : events) {
    const int32_t rank = MeansBrokenGpu(event.event) ? RankOf(trace, event) : -1;
    if (rank >= 0 && !FinishedLater(trace, rank, event.event.host_ns)) broken[static_cast<size_t>(rank)] = 1;
  }
  return broken;
}

// Where waits alone do not tell a hang, the kernel's word about who is waited for does.
void BelieveTheKernel(const Trace& trace, absl::Span<const HostEvent> events, HangSearch* search) {
  if (search->end == RecordsEnd::kHung) return;
  const std::vector<char> broken = BrokenGpus(trace, events);
  std::vector<Hang> hangs = search->hangs;
  for (Hang& hang : hangs) {
    std::erase_if(hang.ranks, [&](int32_t rank) { return broken[static_cast<size_t>(rank)] == 0; });
  }
  std::erase_if(hangs, [](const Hang& hang) { return hang.ranks.empty(); });
  if (hangs.empty()) return;
  search->hangs = std::move(hangs);
  search->end = RecordsEnd::kHung;
}

// In a hang, GPUs that the kernel calls broken, that finished nothing since, and whom nobody waits for yet: behind a
// first one a second does not show.
void AddSilentlyBroken(const Trace& trace, absl::Span<const HostEvent> events, std::vector<Verdict>* verdicts) {
  std::set<std::string> hosts_named;
  for (const Verdict& verdict : *verdicts) {
    for (const Culprit& culprit : verdict.culprits) hosts_named.insert(culprit.host);
  }
  for (const HostEvent& event : events) {
    if (!MeansBrokenGpu(event.event) || hosts_named.contains(event.host)) continue;
    const int32_t rank = RankOf(trace, event);
    if (rank < 0 || FinishedLater(trace, rank, event.event.host_ns)) continue;
    hosts_named.insert(event.host);
    Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kGpuFault);
    verdict.cost = {.slowdown_fraction = 1, .seconds_per_step = 0, .steps_affected_fraction = 1};
    verdict.advice = Advice::kCordonAndReplace;
    verdict.culprits.push_back(TraceCulprit(trace, rank, kLikelyConfidence));
    verdict.evidence.push_back({EvidenceKind::kLog, LineOf(event.host, event.event)});
    verdict.evidence.push_back({EvidenceKind::kProgress, NothingFinishedSince{}});
    verdicts->push_back(std::move(verdict));
  }
}

// What everybody waits for, where nothing tells whether it will pass.
OpenWait OpenQuestion(const Trace& trace, const HangSearch& search) {
  if (search.hangs.empty()) {
    return {.waiting = std::max(search.standing_ranks, search.inside_ranks),
            .ranks = trace.ranks.size(),
            .since_ever = search.inside_ranks == 0};
  }
  const Hang& first = search.hangs.front();
  return {.waiting = static_cast<uint64_t>(first.victims),
          .ranks = trace.ranks.size(),
          .waited_for = NumbersOf(trace, first.ranks),
          .communicator = CommunicatorNameOf(trace, first.communicator),
          .other_causes = search.hangs.size() - 1};
}

}  // namespace

HangFindings FindHangs(const Frontier& frontier, absl::Span<const HostEvent> events, bool stalls_pass) {
  const Trace& trace = frontier.trace();
  HangSearch search = SearchHangs(frontier, stalls_pass);
  BelieveTheKernel(trace, events, &search);
  HangFindings findings;
  const bool hung = search.end == RecordsEnd::kHung;
  findings.verdicts = HangVerdicts(frontier, hung ? search : HangSearch{}, events);
  if (hung) AddSilentlyBroken(trace, events, &findings.verdicts);
  // A hang of which nobody is left to be accused is no health.
  if ((hung || search.end == RecordsEnd::kOpen) && findings.verdicts.empty()) {
    findings.open_question = OpenQuestion(trace, search);
  }
  return findings;
}

}  // namespace lockstep
