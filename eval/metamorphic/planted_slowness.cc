#include "eval/metamorphic/planted_slowness.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/shuffle.h"
#include "detector/model/roles.h"
#include "detector/steps/own_profile.h"
#include "detector/steps/step_finder.h"
#include "detector/steps/trace_analysis.h"
#include "eval/scoring/confidence_interval.h"

namespace lockstep {
namespace {

constexpr size_t kTried = 4;            // ranks, until one is dear enough
constexpr size_t kMinPeers = 4;         // of a rank that can be told from them
constexpr int32_t kMinPlantSteps = 12;  // of a recording with room for a time before and after
constexpr double kSlowShare = 0.5;      // of the usual excess: a step in which the fault was there

// In most usual steps.
bool OwnTimesKnown(const TraceAnalysis& analysis, size_t rank) {
  size_t usual = 0, known = 0;
  for (size_t step = 0; step < analysis.profile.steps; ++step) {
    if (analysis.steps.usual[step] == 0) continue;
    ++usual;
    known += std::isnan(analysis.profile.own[rank * analysis.profile.steps + step]) ? 0 : 1;
  }
  return 2 * known > usual;
}

std::vector<size_t> RanksToPlantAt(const TraceAnalysis& analysis, const std::set<std::string>& avoided_hosts) {
  const Trace& trace = *analysis.trace;
  std::vector<size_t> known;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    if (OwnTimesKnown(analysis, rank)) known.push_back(rank);
  }
  std::vector<size_t> ranks;
  for (const size_t rank : known) {
    const int32_t host = trace.ranks[rank].host;
    if (host >= 0 && avoided_hosts.contains(trace.hosts[static_cast<size_t>(host)])) continue;
    const std::vector<int32_t>& peers = analysis.roles.PeersOf(rank);
    const auto with_times = std::count_if(peers.begin(), peers.end(), [&](int32_t peer) {
      return std::binary_search(known.begin(), known.end(), static_cast<size_t>(peer));
    });
    if (static_cast<size_t>(with_times) > kMinPeers) ranks.push_back(rank);
  }
  return ranks;
}

// Of all steps since then, usual ones and others.
struct StepLengths {
  double recorded_seconds = 0;
  double longer_seconds = 0;  // than in the recording
};

StepLengths LengthsSince(const StepTable& steps, const PlayedRecording& played, int32_t first_step) {
  StepLengths lengths;
  for (auto step = static_cast<size_t>(std::max(0, first_step)); step < static_cast<size_t>(steps.steps); ++step) {
    if (!(steps.step_seconds[step] > 0)) continue;
    lengths.recorded_seconds += steps.step_seconds[step];
    lengths.longer_seconds += played.longer_seconds[step];
  }
  return lengths;
}

std::vector<size_t> BlamedForTheirWork(const Trace& trace, const Verdict& verdict) {
  constexpr VerdictClass kOwnWork[] = {VerdictClass::kComputeSlow, VerdictClass::kHostSlow,
                                       VerdictClass::kClockThrottled};
  std::vector<size_t> ranks;
  if (verdict.type() != FindingType::kAccusation ||
      std::find(std::begin(kOwnWork), std::end(kOwnWork), verdict.verdict_class) == std::end(kOwnWork)) {
    return ranks;
  }
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const TraceRank& traced = trace.ranks[rank];
    if (traced.host < 0) continue;
    const std::string& host = trace.hosts[static_cast<size_t>(traced.host)];
    const auto blames = [&](const Culprit& culprit) {
      return culprit.rank >= 0 ? culprit.rank == traced.rank : culprit.host == host;
    };
    if (std::any_of(verdict.culprits.begin(), verdict.culprits.end(), blames)) ranks.push_back(rank);
  }
  return ranks;
}

// What the own times of one rank have to be multiplied by to be its peers', by step and one step more. Work that
// routing deals out tells nothing about that.
std::vector<double> HealingFactors(const OwnProfile& profile, size_t rank, int32_t first_step, int32_t last_step) {
  std::vector<double> factors(profile.steps + 1, 1);
  std::vector<double> excesses, usual;
  const auto first = static_cast<size_t>(std::max(0, first_step - 1));
  const size_t last = last_step < 0 ? profile.steps : std::min(profile.steps, static_cast<size_t>(last_step) + 2);
  const auto known = [&](size_t step) {
    const size_t at = rank * profile.steps + step;
    return !std::isnan(profile.excess[at]) && profile.shared[at] > 0;
  };
  for (size_t step = first; step < last; ++step) {
    if (known(step)) excesses.push_back(static_cast<double>(profile.excess[rank * profile.steps + step]));
  }
  const double least = kSlowShare * Percentile(std::move(excesses), 0.5);
  for (size_t step = first; step < last; ++step) {
    if (!known(step)) continue;
    const size_t at = rank * profile.steps + step;
    const auto excess = static_cast<double>(profile.excess[at]);
    if (excess <= 0 || excess < least) continue;
    factors[step] = 1 - excess / static_cast<double>(profile.shared[at]);
    usual.push_back(factors[step]);
  }
  if (usual.empty()) return factors;
  const double factor = Percentile(std::move(usual), 0.5);
  for (size_t step = first; step < last; ++step) {
    if (!known(step)) factors[step] = factor;
  }
  if (last == profile.steps) factors[profile.steps] = factor;
  return factors;
}

std::optional<PlayedRecording> Healed(const RecordingReplay& replay, const Verdict& verdict) {
  const TraceAnalysis& analysis = replay.analysis();
  std::vector<std::vector<double>> factors(analysis.trace->ranks.size());
  const std::vector<size_t> blamed = BlamedForTheirWork(*analysis.trace, verdict);
  if (blamed.empty()) return std::nullopt;
  for (const size_t rank : blamed) {
    factors[rank] = HealingFactors(analysis.profile, rank, static_cast<int32_t>(verdict.first_step),
                                   static_cast<int32_t>(verdict.last_step));
  }
  PlayedRecording played = replay.Play([&factors](size_t rank, int32_t step) {
    return factors[rank].empty() || step < 0 ? 1 : factors[rank][static_cast<size_t>(step)];
  });
  if (!played.complete) return std::nullopt;
  return played;
}

}  // namespace

std::optional<PlantedSlowness> PlantSlowness(const RecordingReplay& replay, const std::set<std::string>& avoided_hosts,
                                             double min_cost, Random& random) {
  const TraceAnalysis& analysis = replay.analysis();
  if (analysis.steps.steps < kMinPlantSteps) return std::nullopt;
  std::vector<size_t> ranks = RanksToPlantAt(analysis, avoided_hosts);
  Shuffle(random, &ranks);
  PlantedSlowness planted{.first_step = analysis.steps.steps / 3};
  for (size_t i = 0; i < std::min(kTried, ranks.size()); ++i) {
    planted.rank = ranks[i];
    PlayedRecording played = replay.Play([&planted](size_t rank, int32_t step) {
      return rank == planted.rank && step >= planted.first_step ? kPlantedFactor : 1;
    });
    if (!played.complete) return std::nullopt;
    const StepLengths lengths = LengthsSince(analysis.steps, played, planted.first_step);
    const double seconds = lengths.recorded_seconds + lengths.longer_seconds;
    planted.slowdown_fraction = seconds > 0 ? lengths.longer_seconds / seconds : 0;
    if (planted.slowdown_fraction < min_cost) continue;
    planted.trace = std::move(played.trace);
    return planted;
  }
  return std::nullopt;
}

std::optional<double> CostOfDelayOf(const RecordingReplay& replay, const Verdict& verdict) {
  const std::optional<PlayedRecording> healed = Healed(replay, verdict);
  if (!healed.has_value()) return std::nullopt;
  const StepLengths lengths = LengthsSince(replay.analysis().steps, *healed, static_cast<int32_t>(verdict.first_step));
  return lengths.recorded_seconds > 0 ? -lengths.longer_seconds / lengths.recorded_seconds : 0;
}

std::optional<Trace> WithoutDelayOf(const RecordingReplay& replay, const Verdict& verdict) {
  std::optional<PlayedRecording> healed = Healed(replay, verdict);
  if (!healed.has_value()) return std::nullopt;
  return std::move(healed->trace);
}

}  // namespace lockstep
