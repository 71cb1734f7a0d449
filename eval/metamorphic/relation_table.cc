// The relations. Each says which recordings it can be tried on.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "detector/model/job_evidence.h"
#include "detector/model/trace.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "eval/metamorphic/alterations.h"
#include "eval/metamorphic/planted_slowness.h"
#include "eval/metamorphic/recording_replay.h"
#include "eval/metamorphic/relation.h"
#include "eval/metamorphic/renaming.h"
#include "eval/metamorphic/report_comparison.h"
#include "eval/metamorphic/reread.h"
#include "eval/suites/suite.h"

namespace lockstep {
namespace {

constexpr int64_t kUnitFactor = 10;
constexpr double kLostShare = 0.02;
constexpr int kDoubled = 2;
// Of the cost of what was planted: the larger of the two. A third of a threshold that is asked for to a tenth.
constexpr double kCostOff = 0.01;
constexpr double kCostOffShare = 0.25;
constexpr int32_t kMinHalfSteps = 8;
// Steps by which an onset may be missed in a whole recording.
constexpr int32_t kOnsetOff = 2;

Trial NotApplicable(std::string why) { return {TrialResult::kNotApplicable, std::move(why)}; }
Trial Outcome(std::string contradiction) {
  return {contradiction.empty() ? TrialResult::kHolds : TrialResult::kContradicts, std::move(contradiction)};
}

Trial Again(Subject& subject, Random&) {
  return Outcome(Difference(subject.report(), subject.Judge(Reread(subject.recording()))));
}

Trial Rows(Subject& subject, Random& random) {
  return Outcome(Difference(subject.report(), subject.Judge(RereadShuffled(subject.recording(), kDoubled, random))));
}

Trial Files(Subject& subject, Random&) {
  if (subject.recording().trace.operations.empty()) return NotApplicable("no operations");
  const absl::StatusOr<JobEvidence> whole = RereadAsFiles(subject.recording(), /*one_per_host=*/false);
  const absl::StatusOr<JobEvidence> split = RereadAsFiles(subject.recording(), /*one_per_host=*/true);
  if (!whole.ok()) return Outcome(absl::StrCat("cannot be read: ", whole.status().message()));
  if (!split.ok()) return Outcome(absl::StrCat("cannot be read when split: ", split.status().message()));
  return Outcome(Difference(subject.Judge(*whole), subject.Judge(*split)));
}

Trial Names(Subject& subject, Random&) {
  const Renaming renaming = RenamingInOrder(subject.recording());
  const JobReport report = subject.Judge(Renamed(subject.recording(), renaming));
  return Outcome(Difference(NamedBack(subject.report(), {}), NamedBack(report, renaming)));
}

Trial Ranks(Subject& subject, Random& random) {
  const Renaming renaming = RandomRenaming(subject.recording(), random);
  const JobReport report = subject.Judge(Renamed(subject.recording(), renaming));
  return Outcome(DifferenceInAnyOrder(NamedBack(subject.report(), {}), NamedBack(report, renaming)));
}

Trial Clocks(Subject& subject, Random& random) {
  if (subject.recording().trace.operations.empty()) return NotApplicable("no operations");
  return Outcome(Difference(subject.report(), subject.Judge(WithOtherClocks(subject.recording(), random))));
}

bool IsHung(const JobReport& report) { return report.state == JobState::kHung; }

// Patience is in seconds, so that what has not finished may count as stuck when all takes ten times as long, and
// nothing else may change: what was stuck for long enough stays so.
Trial Units(Subject& subject, Random&) {
  const JobEvidence& recording = subject.recording();
  if (recording.trace.operations.empty()) return NotApplicable("no operations");
  if (!recording.metrics.series.empty()) return NotApplicable("counters are sampled by the second");
  const JobReport report = subject.Judge(WithOtherUnits(recording, kUnitFactor));
  const bool waits = std::any_of(recording.trace.operations.begin(), recording.trace.operations.end(),
                                 [](const TraceOperation& operation) { return !operation.finished(); });
  if (waits && !IsHung(subject.report()) && IsHung(report)) return NotApplicable("what waits has waited for longer");
  return Outcome(DifferenceInUnits(subject.report(), report, static_cast<double>(kUnitFactor)));
}

Trial Losses(Subject& subject, Random& random) {
  if (subject.recording().trace.operations.empty()) return NotApplicable("no operations");
  const JobReport report = subject.Judge(WithLosses(subject.recording(), kLostShare, random));
  return Outcome(Strengthened(subject.named_hosts(), subject.nearly_told(), report));
}

bool IsClean(const JobReport& report) {
  return report.state == JobState::kHealthy &&
         std::none_of(report.verdicts.begin(), report.verdicts.end(),
                      [](const Verdict& verdict) { return verdict.type() == FindingType::kAccusation; });
}

// What two causes cost together may be told of either: at least what this one adds, at most what both cost.
std::string CostOff(const Verdict& verdict, double added, double others) {
  const double off = std::max(kCostOff, kCostOffShare * added);
  const double told = verdict.cost.slowdown_fraction;
  if (told >= added - off && told <= added + others + off) return "";
  return absl::StrFormat("%s at %.1f %%, planted %.1f %%, others %.1f %%", Name(verdict.verdict_class), 100 * told,
                         100 * added, 100 * others);
}

// That the planted rank is accused, at its cost.
std::string MissesPlanted(const Trace& trace, const PlantedSlowness& planted, double others, const JobReport& report) {
  const TraceRank& rank = trace.ranks[planted.rank];
  for (const Verdict& verdict : report.verdicts) {
    if (!BlamesSomebody(verdict)) continue;
    for (const Culprit& culprit : verdict.culprits) {
      if (culprit.rank == rank.rank) return CostOff(verdict, planted.slowdown_fraction, others);
    }
  }
  return absl::StrFormat("rank %d (%s), slow from step %d on, %.1f %%, is not named: %s, %d findings", rank.rank,
                         rank.host < 0 ? "" : trace.hosts[static_cast<size_t>(rank.host)], planted.first_step,
                         100 * planted.slowdown_fraction, Name(report.state), report.verdicts.size());
}

JobEvidence WithTrace(const JobEvidence& recording, Trace trace) {
  JobEvidence changed = recording;
  changed.trace = std::move(trace);
  return Reread(changed);
}

// Whom a report may accuse besides those of `before`: the planted rank's host.
std::set<std::string> WithHostOf(std::set<std::string> before, const Trace& trace, size_t rank) {
  const int32_t host = trace.ranks[rank].host;
  if (host >= 0) before.insert(trace.hosts[static_cast<size_t>(host)]);
  return before;
}

std::string AnotherIsAccused(const std::set<std::string>& allowed, const JobReport& report) {
  for (const std::string& host : AccusedHosts(report)) {
    if (!allowed.contains(host)) return absl::StrCat(host, " is accused besides");
  }
  return "";
}

Trial Planted(Subject& subject, Random& random) {
  if (!IsClean(subject.report())) return NotApplicable("not healthy");
  const std::optional<PlantedSlowness> planted = PlantSlowness(subject.replay(), {}, kSurelyMinCost, random);
  if (!planted.has_value()) return NotApplicable("no rank to plant it at that costs enough");
  const Trace& trace = subject.recording().trace;
  const JobReport report = subject.Judge(WithTrace(subject.recording(), planted->trace));
  const std::string missed = MissesPlanted(trace, *planted, subject.nearly_told_cost(), report);
  if (!missed.empty()) return Outcome(missed);
  return Outcome(AnotherIsAccused(WithHostOf(subject.named_hosts(), trace, planted->rank), report));
}

bool SurelyCosts(const Verdict& verdict) {
  return verdict.type() == FindingType::kAccusation && verdict.cost.slowdown_fraction >= kSurelyMinCost;
}

// Each finding that surely costs enough is still there: on one of its hosts, or of its class where it names none. Who
// is no longer found may be hidden behind another: what its delay costs in the `changed` recording counts.
std::string Forgotten(const JobReport& before, const JobReport& after, const Trace& changed) {
  for (const Verdict& verdict : before.verdicts) {
    if (!SurelyCosts(verdict)) continue;
    const auto is_the_same = [&verdict](const Verdict& other) {
      if (other.type() != FindingType::kAccusation) return false;
      if (verdict.culprits.empty()) return other.verdict_class == verdict.verdict_class;
      return std::any_of(other.culprits.begin(), other.culprits.end(), [&verdict](const Culprit& culprit) {
        return std::any_of(verdict.culprits.begin(), verdict.culprits.end(),
                           [&culprit](const Culprit& earlier) { return earlier.host == culprit.host; });
      });
    };
    if (std::any_of(after.verdicts.begin(), after.verdicts.end(), is_the_same)) continue;
    if (CostOfDelayOf(RecordingReplay(changed), verdict).value_or(kSurelyMinCost) < kSurelyMinCost) continue;
    return absl::StrFormat("%s %s at %.1f %% is no longer found", Name(verdict.verdict_class),
                           verdict.culprits.empty() ? "" : verdict.culprits.front().host,
                           100 * verdict.cost.slowdown_fraction);
  }
  return "";
}

Trial Beside(Subject& subject, Random& random) {
  const JobReport& before = subject.report();
  if (IsHung(before) || std::none_of(before.verdicts.begin(), before.verdicts.end(), SurelyCosts)) {
    return NotApplicable("no slowness that surely costs enough");
  }
  const std::optional<PlantedSlowness> planted =
      PlantSlowness(subject.replay(), NamedHosts(before), kSurelyMinCost, random);
  if (!planted.has_value()) return NotApplicable("no rank to plant it at that costs enough");
  const Trace& trace = subject.recording().trace;
  const JobReport report = subject.Judge(WithTrace(subject.recording(), planted->trace));
  std::string wrong = MissesPlanted(trace, *planted, subject.nearly_told_cost(), report);
  if (wrong.empty()) wrong = Forgotten(before, report, planted->trace);
  if (wrong.empty()) wrong = AnotherIsAccused(WithHostOf(subject.named_hosts(), trace, planted->rank), report);
  return Outcome(std::move(wrong));
}

template <typename Condition>
bool AnyAgainst(const JobReport& report, const std::string& host, Condition condition) {
  return std::any_of(report.verdicts.begin(), report.verdicts.end(), [&](const Verdict& verdict) {
    return condition(verdict) &&
           std::any_of(verdict.culprits.begin(), verdict.culprits.end(),
                       [&host](const Culprit& culprit) { return culprit.host == host || culprit.peer_host == host; });
  });
}

// That somebody whom `removed` named is accused afterwards of that, or of something new. What else it was accused of
// `before` is still there.
std::string StillAccused(const Verdict& removed, const JobReport& before, const JobReport& after) {
  for (const Verdict& left : after.verdicts) {
    if (!BlamesSomebody(left)) continue;
    for (const Culprit& culprit : left.culprits) {
      const auto was = [&culprit](const Culprit& earlier) {
        return earlier.host == culprit.host && (earlier.rank < 0 || earlier.rank == culprit.rank);
      };
      if (std::none_of(removed.culprits.begin(), removed.culprits.end(), was)) continue;
      const bool other = left.verdict_class != removed.verdict_class &&
                         AnyAgainst(before, culprit.host, [&left](const Verdict& earlier) {
                           return earlier.verdict_class == left.verdict_class;
                         });
      if (other) continue;
      return absl::StrFormat("%s is still accused of %s at %.1f %%, without its %s at %.1f %%", culprit.host,
                             Name(left.verdict_class), 100 * left.cost.slowdown_fraction, Name(removed.verdict_class),
                             100 * removed.cost.slowdown_fraction);
    }
  }
  return "";
}

Trial RemovedIsGone(Subject& subject, Random&) {
  for (const Verdict& verdict : subject.report().verdicts) {
    if (!BlamesSomebody(verdict) || verdict.cost.slowdown_fraction < kMinCost) continue;
    std::optional<Trace> removed = WithoutDelayOf(subject.replay(), verdict);
    if (!removed.has_value()) continue;
    const JobReport report = subject.Judge(WithTrace(subject.recording(), *std::move(removed)));
    std::string wrong = StillAccused(verdict, subject.report(), report);
    if (wrong.empty()) wrong = AnotherIsAccused(subject.named_hosts(), report);
    return Outcome(std::move(wrong));
  }
  return NotApplicable("nobody is accused of slow work");
}

// Those of `one` whom `other` does not accuse, nor nearly, and whose absence `explained` does not explain.
template <typename Explained>
std::vector<std::string> Absent(const JobReport& one, const std::set<std::string>& other, Explained explained) {
  std::vector<std::string> absent;
  for (const std::string& host : AccusedHosts(one)) {
    if (!other.contains(host) && !explained(host)) absent.push_back(host);
  }
  return absent;
}

Trial Halves(Subject& subject, Random&) {
  const StepTable& steps = subject.replay().analysis().steps;
  const int32_t middle = steps.steps / 2;
  if (middle < kMinHalfSteps) return NotApplicable("too few steps");
  const JobEvidence first = StepsBefore(subject.recording(), steps, middle);
  const JobEvidence second = StepsFrom(subject.recording(), steps, middle);
  const JobReport before = subject.Judge(first), after = subject.Judge(second);
  if (AccusedHosts(before).empty() || AccusedHosts(after).empty()) return Outcome("");
  const auto ended = [&](const std::string& host) {
    return AnyAgainst(subject.report(), host, [middle](const Verdict& verdict) {
      return verdict.last_step >= 0 && verdict.last_step < middle + kOnsetOff;
    });
  };
  const auto began = [&](const std::string& host) {
    return AnyAgainst(subject.report(), host, [middle](const Verdict& verdict) {
      return verdict.first_step >= middle - kOnsetOff || IsHang(verdict.verdict_class);
    });
  };
  const std::vector<std::string> gone = Absent(before, NamedHosts(subject.Judge(second, kNearlyMinCost)), ended);
  const std::vector<std::string> come = Absent(after, NamedHosts(subject.Judge(first, kNearlyMinCost)), began);
  if (gone.empty() || come.empty()) return Outcome("");
  return Outcome(absl::StrCat(gone.front(), " is accused in the first half alone, ", come.front(), " in the second"));
}

constexpr Relation kRelations[] = {
    {"again", "read again row by row: the same bytes", false, Again},
    {"rows", "rows in another order, each twice: the same bytes", true, Rows},
    {"files", "one file per host instead of one: the same bytes", false, Files},
    {"names", "hosts, communicators and job under other names of the same order: the same bytes", false, Names},
    {"ranks", "names in another order and ranks dealt out anew: the same but for order, numbers to 0.5 %", true, Ranks},
    {"clocks", "host clocks apart by up to an hour: the same bytes", true, Clocks},
    {"units", "everything takes ten times as long: the same findings and shares", false, Units},
    {"losses", "2 % of the operations lost: nobody else accused, not more findings", true, Losses},
    {"planted", "one rank's work times 1.2 in a healthy recording: named, at its cost, nobody else", true, Planted},
    {"beside", "the same beside a fault: both named, nobody else", true, Beside},
    {"removed", "the delay of the costliest slow rank or host removed: gone, nobody else", false, RemovedIsGone},
    {"halves", "first and second half by themselves: do not accuse one each", false, Halves},
};

}  // namespace

absl::Span<const Relation> AllRelations() { return kRelations; }

const Relation* FindRelation(absl::string_view name) {
  const auto* found = std::find_if(std::begin(kRelations), std::end(kRelations),
                                   [name](const Relation& relation) { return relation.name == name; });
  return found == std::end(kRelations) ? nullptr : found;
}

Trial RunTrial(const Relation& relation, uint64_t number, Subject& subject) {
  Random random = EpisodeRandom(relation.name, number);
  return relation.run(subject, random);
}

}  // namespace lockstep
