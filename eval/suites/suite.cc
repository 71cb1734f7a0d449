#include "eval/suites/suite.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/fnv1a.h"

namespace lockstep {
namespace {

std::string Cut(const Parallelism& p) {
  std::string text = absl::StrCat("tp", p.tensor, " pp", p.pipeline, " dp", p.data);
  if (p.expert > 1) absl::StrAppend(&text, " ep", p.expert);
  if (p.context > 1) absl::StrAppend(&text, " cp", p.context);
  return text;
}

std::string FaultText(const FaultSpec& fault) {
  constexpr size_t kTargetsShown = 4;
  std::string text = absl::StrFormat("%s %.3g", InfoOf(fault.kind).name, fault.severity);
  if (!fault.targets.empty()) absl::StrAppend(&text, " on ");
  for (size_t i = 0; i < std::min(kTargetsShown, fault.targets.size()); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ",", fault.targets[i]);
  }
  if (fault.targets.size() > kTargetsShown) absl::StrAppend(&text, ",... (", fault.targets.size(), ")");
  absl::StrAppend(&text, " from step ", fault.onset_step);
  if (fault.duration_steps > 0) absl::StrAppend(&text, " for ", fault.duration_steps);
  return text;
}

}  // namespace

const Suite* FindSuite(absl::string_view name) {
  const auto suites = AllSuites();
  const auto found = std::find_if(suites.begin(), suites.end(), [&](const Suite& suite) { return suite.name == name; });
  return found == suites.end() ? nullptr : &*found;
}

Random EpisodeRandom(absl::string_view suite, uint64_t number) {
  // By name: a new suite does not change the episodes of the others.
  Random random(Fnv1a(suite) + number);
  return Random(random.Next());  // neighbouring numbers must not give neighbouring states
}

EpisodePlan PlanOf(const Suite& suite, uint64_t number) {
  Random random = EpisodeRandom(suite.name, number);
  EpisodePlan plan = suite.plan(number, random);
  plan.seed = random.Next();
  return plan;
}

std::string Describe(const EpisodePlan& plan) {
  std::string text = absl::StrCat(plan.job.parallelism.gpus(), " GPUs (", Cut(plan.job.parallelism), "), ",
                                  plan.job.schedule.steps, " steps: ");
  for (size_t i = 0; i < plan.faults.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : "; ", FaultText(plan.faults[i]));
  }
  if (plan.faults.empty()) absl::StrAppend(&text, "no fault");
  if (plan.job.recording.lost_share > 0)
    absl::StrAppendFormat(&text, ", %.0f %% lost", 100 * plan.job.recording.lost_share);
  if (plan.cut_share < 1) absl::StrAppendFormat(&text, ", cut at %.2f", plan.cut_share);
  if (plan.cut_share < 1 && plan.seen_by_agents) absl::StrAppend(&text, " by agents");
  return text;
}

}  // namespace lockstep
