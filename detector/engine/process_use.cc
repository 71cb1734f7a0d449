#include "detector/engine/process_use.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/median.h"
#include "base/shares.h"
#include "detector/verdict/host_reasons.h"
#include "detector/verdict/slow_reasons.h"

namespace lockstep {
namespace {

// Host slow: the rank gets the CPU for less than this share of its own time, its peers for more than kServed, and it
// does not compute more than they do. By judgement, not measured.
constexpr double kStarved = 0.70;
constexpr double kServed = 0.85;
constexpr double kSameWork = 1.15;
constexpr double kMoreWork = 1.10;
// Storage stall: in uninterruptible sleep in at least this share of the recent reports.
constexpr double kStalledShare = kMainPart;
// By judgement, not measured.
constexpr size_t kMinCpuSamples = 4;
// CPU time comes in ticks of 10 ms, and reports come at their own time within a step: below this it is too coarse.
constexpr double kMinCpuSeconds = 1.5;

// CPU seconds per second of wall time since `seconds` ago, so that time before the fault does not dilute it; negative =
// unknown.
double CpuShare(const RankProcess& rank, double seconds) {
  if (rank.cpu.size() < kMinCpuSamples) return -1;
  const CpuSample& last = rank.cpu.back();
  const auto window_ns = static_cast<int64_t>(std::max(seconds, kMinCpuSeconds) * kNanosPerSecond);
  // The oldest report within the window, or the one before it where the window holds none that is far enough back.
  auto begin = std::find_if(rank.cpu.begin(), rank.cpu.end(),
                            [&](const CpuSample& sample) { return last.host_ns - sample.host_ns <= window_ns; });
  const auto least_ns = static_cast<int64_t>(kMinCpuSeconds * kNanosPerSecond);
  while (begin != rank.cpu.begin() && last.host_ns - begin->host_ns < least_ns) --begin;
  const CpuSample& first = *begin;
  if (first.cpu_ns <= 0 || last.host_ns <= first.host_ns || last.cpu_ns < first.cpu_ns) return -1;
  return static_cast<double>(last.cpu_ns - first.cpu_ns) / static_cast<double>(last.host_ns - first.host_ns);
}

double StalledShare(const RankProcess& rank) {
  if (rank.cpu.size() < kMinCpuSamples) return 0;
  const auto stalled =
      std::count_if(rank.cpu.begin(), rank.cpu.end(), [](const CpuSample& s) { return s.uninterruptible; });
  return static_cast<double>(stalled) / static_cast<double>(rank.cpu.size());
}

struct CpuUse {
  double own = -1;    // CPU seconds per step of the rank; negative = unknown
  double peers = -1;  // median of the others
};

CpuUse CpuPerStep(const Roster& roster, int32_t rank_slot, double step_seconds, double since_seconds) {
  CpuUse use;
  std::vector<double> peers;
  for (size_t slot = 0; slot < roster.ranks().size(); ++slot) {
    const double share = CpuShare(roster.ranks()[slot], since_seconds);
    if (share < 0) continue;
    if (static_cast<int32_t>(slot) == rank_slot) {
      use.own = share * step_seconds;
    } else {
      peers.push_back(share * step_seconds);
    }
  }
  if (!peers.empty()) use.peers = UpperMedian(&peers);
  return use;
}

// More CPU time than its peers, for most of what it takes longer: who waits for input uses none.
bool WorksInstead(const CpuUse& use, const RankWork& rank) {
  return use.own - use.peers > kMainPart * (rank.own_seconds - rank.peer_seconds);
}

void TakeForComputing(Verdict* verdict) {
  verdict->verdict_class = VerdictClass::kComputeSlow;
  std::erase_if(verdict->evidence,
                [](const Evidence& evidence) { return evidence.reason.As<ExcessPlace>() != nullptr; });
}

}  // namespace

void AddProcessUse(const Roster& roster, absl::Span<const RankWork> work, double step_seconds, double since_seconds,
                   Verdict* verdict) {
  const bool slow_rank =
      verdict->culprits.size() == 1 && verdict->culprits[0].rank >= 0 &&
      (verdict->verdict_class == VerdictClass::kComputeSlow || verdict->verdict_class == VerdictClass::kHostSlow ||
       verdict->verdict_class == VerdictClass::kStorageStall);
  if (!slow_rank) return;
  const int32_t slot = roster.SlotOfRank(verdict->culprits[0].rank);
  if (slot < 0) return;
  const double stalled = StalledShare(roster.ranks()[static_cast<size_t>(slot)]);
  if (stalled >= kStalledShare) {
    verdict->verdict_class = VerdictClass::kStorageStall;
    verdict->evidence.push_back({EvidenceKind::kCounter, WaitsForDevice{.share = stalled}});
    return;
  }
  const auto known = std::find_if(work.begin(), work.end(),
                                  [&](const RankWork& rank) { return rank.rank == verdict->culprits[0].rank; });
  const CpuUse use = CpuPerStep(roster, slot, step_seconds, since_seconds);
  if (known == work.end() || use.own < 0 || use.peers < 0) return;
  if (verdict->verdict_class == VerdictClass::kStorageStall) {
    if (!WorksInstead(use, *known)) return;
    TakeForComputing(verdict);
  }
  const bool starved = use.own < kStarved * known->own_seconds && use.own < kSameWork * use.peers &&
                       use.peers > kServed * known->peer_seconds;
  if (starved) verdict->verdict_class = VerdictClass::kHostSlow;
  if (!starved && use.own <= kMoreWork * use.peers) return;
  // It may have more to do: then another machine would not help.
  if (!starved) verdict->advice = Advice::kCheckSoftware;
  verdict->evidence.push_back(
      {EvidenceKind::kCounter, CpuTime{.seconds = use.own, .peer_seconds = use.peers, .starved = starved}});
}

}  // namespace lockstep
