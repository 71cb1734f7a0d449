#include "eval/metamorphic/metamorphic_run.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eval/scoring/answer_text.h"
#include "eval/suites/ordered_work.h"

namespace lockstep {
namespace {

void RunRelation(const Relation& relation, const RecordingSource& source, const MetamorphicPlan& plan, Subject& subject,
                 SourceOutcome* outcome) {
  RelationCount& count = outcome->by_relation[std::string(relation.name)];
  const uint64_t trials = relation.random ? plan.trials : 1;
  for (uint64_t number = plan.first_trial; number < plan.first_trial + trials; ++number) {
    Trial trial = RunTrial(relation, number, subject);
    if (trial.result == TrialResult::kNotApplicable) {
      ++count.not_applicable;
      ++count.why_not[trial.what];
      continue;
    }
    ++count.trials;
    if (trial.result == TrialResult::kHolds) continue;
    ++count.contradictions;
    outcome->contradictions.push_back(
        {.relation = std::string(relation.name),
         .trial = number,
         .job = subject.recording().job,
         .what = std::move(trial.what),
         .answer = AnswerText(subject.report()),
         .arguments = absl::StrCat(source.arguments, " --relation ", relation.name, " --trial ", number)});
  }
}

}  // namespace

SourceOutcome RunSource(const RecordingSource& source, const MetamorphicPlan& plan, const FileJudge& judge) {
  SourceOutcome outcome;
  outcome.source = source.name;
  absl::StatusOr<std::vector<JobEvidence>> recordings = source.read();
  if (!recordings.ok()) {
    outcome.unreadable = std::string(recordings.status().message());
    return outcome;
  }
  for (JobEvidence& recording : *recordings) {
    Subject subject(std::move(recording), judge);
    outcome.answers.push_back(AnswerText(subject.report()));
    for (const Relation* relation : plan.relations) RunRelation(*relation, source, plan, subject, &outcome);
  }
  return outcome;
}

std::vector<SourceOutcome> RunSources(const std::vector<RecordingSource>& sources, const MetamorphicPlan& plan,
                                      const FileJudge& judge, int32_t threads,
                                      const std::function<void(int32_t done)>& on_done) {
  return OrderedWork<SourceOutcome>::Run(
      static_cast<int32_t>(sources.size()), threads, [&](size_t i) { return RunSource(sources[i], plan, judge); },
      on_done);
}

std::map<std::string, RelationCount> Totals(const std::vector<SourceOutcome>& outcomes) {
  std::map<std::string, RelationCount> totals;
  for (const SourceOutcome& outcome : outcomes) {
    for (const auto& [relation, count] : outcome.by_relation) {
      RelationCount& total = totals[relation];
      total.trials += count.trials;
      total.contradictions += count.contradictions;
      total.not_applicable += count.not_applicable;
      for (const auto& [reason, times] : count.why_not) total.why_not[reason] += times;
    }
  }
  return totals;
}

}  // namespace lockstep
