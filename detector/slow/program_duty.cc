#include "detector/slow/program_duty.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/shares.h"

namespace lockstep {
namespace {

// A level of tests in general: so often a duty stays away from the first steps by chance for as long as it may.
constexpr double kAwayByChance = 0.05;

// Steps that the rank did before its stretch, as far as is known.
size_t StepsBefore(const TraceAnalysis& analysis, const Suspect& suspect) {
  size_t before = 0;
  const absl::Span<const float> own = analysis.profile.Row(analysis.profile.own, static_cast<size_t>(suspect.rank));
  for (int32_t step = 0; step < suspect.earliest_step(); ++step) {
    const auto at = static_cast<size_t>(step);
    if (analysis.steps.usual[at] != 0 && !std::isnan(own[at])) ++before;
  }
  return before;
}

// Whether steps with what is shown in `share` of them at random may begin with so many that are without.
bool MayBeSinceTheStart(size_t before, double share) {
  if (before <= static_cast<size_t>(kSameOnsetSteps)) return true;
  return std::pow(1 - std::min(share, 1.0), static_cast<double>(before)) > kAwayByChance;
}

bool MayBeDuty(const TraceAnalysis& analysis, const SlowCause& cause) {
  if (cause.whole_host || cause.starved || cause.alone || cause.kind == SlowKind::kCompute) return false;
  const Suspect& suspect = cause.suspects.front();
  return MayBeSinceTheStart(StepsBefore(analysis, suspect), suspect.share_of_steps);
}

bool IsLast(const Trace& trace, int32_t number) {
  return std::all_of(trace.ranks.begin(), trace.ranks.end(),
                     [number](const TraceRank& other) { return other.rank <= number; });
}

// Those that have the place of a rank in their replicas, and how many of them have a cause of its kind.
DutyOfPlace AmongReplicas(const TraceAnalysis& analysis, absl::Span<const PlaceInJob> places,
                          const std::vector<SlowCause>& causes, const SlowCause& cause) {
  const std::vector<TraceRank>& ranks = analysis.trace->ranks;
  const auto own = static_cast<size_t>(cause.suspects.front().rank);
  const auto shares_place = [&](size_t rank) {
    return places[rank].stage == places[own].stage && places[rank].lane == places[own].lane;
  };
  DutyOfPlace duty{.place = DutyOfPlace::Place::kOfReplica};
  for (size_t rank = 0; rank < places.size(); ++rank) duty.of_ranks += shares_place(rank) ? 1 : 0;
  std::set<int32_t> hosts;
  for (const SlowCause& other : causes) {
    const auto rank = static_cast<size_t>(other.suspects.front().rank);
    if (other.kind != cause.kind || !shares_place(rank) || !MayBeDuty(analysis, other)) continue;
    ++duty.ranks;
    hosts.insert(ranks[rank].host);
  }
  duty.hosts = hosts.size();
  return duty;
}

}  // namespace

std::optional<DutyOfPlace> DutyOfEnds(const Trace& trace, int32_t rank) {
  const int32_t number = trace.ranks[static_cast<size_t>(rank)].rank;
  if (number == 0) return DutyOfPlace{.place = DutyOfPlace::Place::kFirst};
  if (IsLast(trace, number)) return DutyOfPlace{.place = DutyOfPlace::Place::kLast};
  return std::nullopt;
}

void BlameProgram(const DutyOfPlace& duty, Verdict* verdict) {
  verdict->scope = VerdictScope::kSoftware;
  verdict->advice = Advice::kCheckSoftware;
  verdict->evidence.push_back({EvidenceKind::kLateness, duty});
}

std::optional<DutyOfPlace> FindProgramDuty(const TraceAnalysis& analysis, absl::Span<const PlaceInJob> places,
                                           const std::vector<SlowCause>& causes, size_t which) {
  const SlowCause& cause = causes[which];
  if (!MayBeDuty(analysis, cause)) return std::nullopt;
  const int32_t rank = cause.suspects.front().rank;
  if (const std::optional<DutyOfPlace> duty = DutyOfEnds(*analysis.trace, rank)) return duty;
  if (static_cast<size_t>(rank) >= places.size()) return std::nullopt;
  const DutyOfPlace duty = AmongReplicas(analysis, places, causes, cause);
  const bool most = static_cast<double>(duty.ranks) > kMainPart * static_cast<double>(duty.of_ranks);
  if (!most || duty.hosts < 2) return std::nullopt;
  return duty;
}

}  // namespace lockstep
