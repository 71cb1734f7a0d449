#include "detector/collectives/slow_verdict.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "detector/wording.h"

namespace lockstep {
namespace {

// Host slow: the rank gets the CPU for less than this share of its own time, its peers for more than kServed, and it
// does not compute more than they do.
constexpr double kStarved = 0.70;
constexpr double kServed = 0.85;
constexpr double kSameWork = 1.15;
constexpr double kMoreWork = 1.10;
// Storage stall: in uninterruptible sleep in at least this share of the recent reports.
constexpr double kStalledShare = 0.5;
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
  if (peers.empty()) return use;
  const auto middle = peers.begin() + static_cast<int64_t>(peers.size() / 2);
  std::nth_element(peers.begin(), middle, peers.end());
  use.peers = *middle;
  return use;
}

void AddReason(const Roster& roster, const SlowRank& slow, double step_seconds, double since_seconds,
               Verdict* verdict) {
  const RankProcess& rank = roster.ranks()[static_cast<size_t>(slow.rank_slot)];
  const double stalled = StalledShare(rank);
  if (stalled >= kStalledShare) {
    verdict->verdict_class = VerdictClass::kStorageStall;
    verdict->evidence.push_back(
        {EvidenceKind::kCounter,
         absl::StrFormat("Its process waits for a device or a file system (state D) in %.0f %% of the recent reports.",
                         stalled * 100)});
    return;
  }
  const CpuUse use = CpuPerStep(roster, slow.rank_slot, step_seconds, since_seconds);
  if (use.own < 0 || use.peers < 0) return;
  const std::string numbers =
      absl::StrFormat("%s of CPU time per step; its peers use %s (median)", Duration(use.own), Duration(use.peers));
  const bool starved = use.own < kStarved * slow.own_seconds && use.own < kSameWork * use.peers &&
                       use.peers > kServed * slow.peer_seconds;
  if (starved) {
    verdict->verdict_class = VerdictClass::kHostSlow;
    verdict->evidence.push_back({EvidenceKind::kCounter, absl::StrCat("It does not compute more, it gets the CPU too "
                                                                      "rarely: it uses ",
                                                                      numbers, ".")});
  } else if (use.own > kMoreWork * use.peers) {
    verdict->evidence.push_back(
        {EvidenceKind::kCounter, absl::StrCat("It really computes more: it uses ", numbers, ".")});
  }
}

}  // namespace

Verdict BuildSlowVerdict(const Roster& roster, const SlowRank& slow, int64_t watermark_ns) {
  const double step = slow.step_seconds;
  const double saved = std::min(slow.saved_seconds, step);
  Verdict verdict;
  verdict.scope = VerdictScope::kMachine;
  verdict.verdict_class = VerdictClass::kComputeSlow;
  verdict.advice = Advice::kCordonAndReplace;
  verdict.first_step = slow.first_step;
  verdict.last_step = slow.last_step;
  const double since_seconds = static_cast<double>(slow.last_step - slow.first_step + 1) * step;
  verdict.first_seen_ns = watermark_ns - static_cast<int64_t>(since_seconds * kNanosPerSecond);
  const double doubt = std::exp(-slow.significance / 5.0);
  verdict.culprits = {CulpritOf(roster, slow.rank_slot, std::clamp(slow.share_of_blocks * (1 - doubt), 0.05, 0.99))};
  verdict.cost = {
      .slowdown_fraction = saved / step, .seconds_per_step = saved, .steps_affected_fraction = slow.share_of_blocks};

  const std::string name = FullRankName(roster, slow.rank_slot);
  verdict.evidence.push_back(
      {EvidenceKind::kLateness,
       absl::StrFormat("%s spends %s per step outside collectives; its %d peers spend %s (median).", name,
                       Duration(slow.own_seconds), slow.peers, Duration(slow.peer_seconds))});
  const BlockCulprit& entry = slow.newest;
  if (entry.communicator_slot >= 0) {
    const Communicator& communicator = roster.communicators()[static_cast<size_t>(entry.communicator_slot)];
    verdict.evidence.push_back(
        {EvidenceKind::kLateness,
         absl::StrFormat("It enters the %s on %s last in %d of %d steps; the others there wait %s for it.",
                         Name(entry.kind), CommunicatorName(communicator), slow.times_last, slow.steps,
                         Duration(slow.wait_seconds))});
    if (!entry.relays.empty()) {
      const bool one = entry.relays.size() == 1;
      verdict.evidence.push_back(
          {EvidenceKind::kLateness,
           absl::StrFormat("%s %s for rank %d inside %s and %s the delay on: %s.",
                           one ? "Rank " + RankList(roster, entry.relays).substr(5)
                               : "R" + RankList(roster, entry.relays).substr(1),
                           one ? "waits" : "wait", verdict.culprits.front().rank, CommunicatorName(communicator),
                           one ? "passes" : "pass", one ? "it is a victim" : "they are victims")});
    }
  }
  AddReason(roster, slow, step, since_seconds, &verdict);
  verdict.evidence.push_back(
      {EvidenceKind::kWhatIf, absl::StrFormat("Without the delay a step would take %s instead of %s (%.0f %%).",
                                              Duration(step - saved), Duration(step), 100 * saved / step)});
  return verdict;
}

}  // namespace lockstep
