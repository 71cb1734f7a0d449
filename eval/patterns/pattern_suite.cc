#include "eval/patterns/pattern_suite.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/fnv1a.h"
#include "base/random.h"
#include "eval/suites/ordered_work.h"
#include "sim/patterns/pattern_kinds.h"

namespace lockstep {
namespace {

constexpr size_t kAnswersShown = 4;
constexpr size_t kRanksShown = 6;

constexpr PatternSuite kSuites[] = {
    {"faults", "80 kinds of faults in turn, on some workers or on all, 4 to 1,024 workers", 2000, 160, 10, true},
    {"healthy", "the same jobs without a fault", 500, 80, 10, false},
};

std::string AnswerText(const PatternFleet& fleet, const std::vector<PatternAnswer>& answers) {
  if (answers.empty()) return "silence";
  std::string text;
  for (size_t i = 0; i < std::min(kAnswersShown, answers.size()); ++i) {
    const PatternAnswer& answer = answers[i];
    absl::StrAppend(&text, i == 0 ? "" : "; ", Name(answer.pattern_class));
    if (answer.function >= 0) {
      absl::StrAppend(&text, " (", fleet.functions()[static_cast<size_t>(answer.function)].name, ")");
    }
    const std::vector<int32_t> first(
        answer.ranks.begin(),
        answer.ranks.begin() + static_cast<std::ptrdiff_t>(std::min(kRanksShown, answer.ranks.size())));
    absl::StrAppend(&text, " on ", answer.of_all ? "all" : absl::StrJoin(first, ", "),
                    answer.ranks.size() > kRanksShown ? ", ..." : "");
  }
  if (answers.size() > kAnswersShown) absl::StrAppend(&text, "; ... (", answers.size(), " answers)");
  return text;
}

bool NamesFunction(const PatternJobSpec& spec, const PatternFleet& fleet, const PatternAnswer& answer) {
  if (answer.function < 0) return false;
  const FleetFunction& function = fleet.functions()[static_cast<size_t>(answer.function)];
  if (spec.fault->effect == PatternEffect::kSlowGpu) return function.kind == FunctionKind::kGpuCompute;
  if (spec.fault->effect == PatternEffect::kSlowHost) return IsOfHost(function.kind);
  return function.kind == spec.fault->kind && function.name == spec.fault->function;
}

}  // namespace

absl::Span<const PatternSuite> AllPatternSuites() { return kSuites; }

PatternJobSpec PatternPlanOf(const PatternSuite& suite, uint64_t number) {
  Random random(Fnv1a(absl::StrCat("patterns ", suite.name)) + number);
  random = Random(random.Next());  // neighbouring numbers must not give neighbouring states
  const absl::Span<const PatternKind> kinds = AllPatternKinds();
  return DrawPatternJob(suite.has_faults ? &kinds[number % kinds.size()] : nullptr, random);
}

PatternScore ScorePatterns(const PatternJobSpec& spec, const PatternFleet& fleet,
                           const std::vector<PatternAnswer>& answers) {
  PatternScore score;
  score.asked = true;
  const std::vector<int32_t> faulty(spec.faulty.begin(), spec.faulty.end());
  bool function_right = false;
  for (const PatternAnswer& answer : answers) {
    if (spec.fault == nullptr) {
      ++score.innocent_answers;
      continue;
    }
    std::vector<int32_t> ranks = answer.ranks;
    std::sort(ranks.begin(), ranks.end());
    const bool of_class = answer.pattern_class == spec.fault->pattern_class;
    const bool workers = answer.of_all == spec.fault->of_all && (answer.of_all || ranks == faulty);
    if (!spec.fault->of_all && !std::includes(faulty.begin(), faulty.end(), ranks.begin(), ranks.end())) {
      ++score.innocent_answers;
    } else if (answer.of_all && !spec.fault->of_all) {
      ++score.innocent_answers;
    }
    score.class_right |= of_class;
    score.workers_right |= of_class && workers;
    function_right |= of_class && workers && NamesFunction(spec, fleet, answer);
  }
  score.right = spec.fault == nullptr ? answers.empty() : function_right && answers.size() == 1;
  score.answer = AnswerText(fleet, answers);
  return score;
}

PatternOutcome RunPatternEpisode(const PatternSuite& suite, uint64_t number, absl::Span<const PatternMethod> methods,
                                 const Clock& clock) {
  const PatternJobSpec spec = PatternPlanOf(suite, number);
  PatternOutcome outcome;
  outcome.number = number;
  outcome.description = Describe(spec);
  outcome.row = "healthy";
  if (spec.fault != nullptr) {
    outcome.row = absl::StrCat(Name(spec.fault->pattern_class), spec.fault->of_all ? ", on all" : ", on some");
  }
  const PatternFleet fleet = SimulatePatterns(spec);
  const bool baselines = number % static_cast<uint64_t>(suite.baseline_every) == 0;
  for (size_t i = 0; i < methods.size(); ++i) {
    PatternScore& score = outcome.methods.emplace_back();
    if (i > 0 && !baselines) continue;
    const int64_t start_ns = clock.MonotonicNanos();
    const std::vector<PatternAnswer> answers = methods[i].judge(fleet);
    const int64_t end_ns = clock.MonotonicNanos();
    score = ScorePatterns(spec, fleet, answers);
    score.seconds = static_cast<double>(end_ns - start_ns) / kNanosPerSecond;
  }
  return outcome;
}

std::vector<PatternOutcome> RunPatternSuite(const PatternSuite& suite, uint64_t first_number, int32_t episodes,
                                            int32_t threads, absl::Span<const PatternMethod> methods,
                                            const Clock& clock, const std::function<void(int32_t done)>& on_done) {
  return OrderedWork<PatternOutcome>::Run(
      episodes, threads, [&](size_t place) { return RunPatternEpisode(suite, first_number + place, methods, clock); },
      on_done);
}

}  // namespace lockstep
