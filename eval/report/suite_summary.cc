#include "eval/report/suite_summary.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/clock.h"
#include "eval/baselines/baseline.h"
#include "eval/scoring/episode_score.h"
#include "sim/fault_spec.h"

namespace lockstep {
namespace {

// Why an episode counts as failed; empty if it does not.
std::string Failure(const Suite& suite, const EpisodeOutcome& outcome) {
  if (!outcome.score.accused_wrongly.empty()) return "accuses " + outcome.score.accused_wrongly.front();
  for (const CauseScore& cause : outcome.score.causes) {
    const std::string kind(InfoOf(cause.kind).name);
    if (cause.accusable && !cause.named) return "does not name " + kind;
    if (cause.accusable && outcome.score.causes.size() == 1 && !cause.top1) return "somebody else first: " + kind;
    if (cause.accusable && InfoOf(cause.kind).hang && !cause.exact_set) return "culprit set: " + kind;
    const bool has_class = cause.accusable || (cause.culprits == 0 && suite.scores_classes);
    if (has_class && !cause.class_right) return "class of " + kind;
  }
  if (suite.procedure == Procedure::kPrefixes && outcome.score.causes.front().accusable &&
      (outcome.steps_to_verdict == 0 || outcome.steps_to_verdict > kSoonSteps)) {
    return "slow to name it";
  }
  if (suite.procedure == Procedure::kHangCuts && outcome.hang_seconds < 0) return "not within 10 s";
  return "";
}

class Summarizer {
 public:
  explicit Summarizer(const Suite& suite) : suite_(suite) {
    summary_.name = std::string(suite.name);
    summary_.what = std::string(suite.what);
  }

  void Add(const EpisodeOutcome& outcome) {
    ++summary_.episodes;
    const EpisodeScore& score = outcome.score;
    summary_.accuses_innocents.Add(!score.accused_wrongly.empty());
    summary_.state_right.Add(score.state_right);
    diagnose_seconds_.push_back(static_cast<double>(outcome.diagnose_ns) / kNanosPerSecond);
    simulate_seconds_.push_back(static_cast<double>(outcome.simulate_ns) / kNanosPerSecond);
    records_.push_back(static_cast<double>(outcome.records));
    if (suite_.procedure == Procedure::kPulls) pulled_bytes_.push_back(static_cast<double>(outcome.pulled_bytes));
    if (score.causes.empty()) AddHealthy(outcome);
    for (const CauseScore& cause : score.causes) AddCause(cause, outcome);
    AddTogether(score);
    AddTimes(outcome);
    AddBaselines(outcome);
    if (const std::string why = Failure(suite_, outcome); !why.empty()) {
      summary_.failures.Add({outcome.number, why, outcome.description, outcome.answer});
    }
  }

  SuiteSummary Finish() {
    summary_.diagnose_seconds = SpreadOf(diagnose_seconds_);
    summary_.simulate_seconds = SpreadOf(simulate_seconds_);
    summary_.records = SpreadOf(records_);
    summary_.pulled_bytes = SpreadOf(pulled_bytes_);
    summary_.steps_to_verdict = SpreadOf(steps_);
    summary_.hang_seconds = SpreadOf(hang_seconds_);
    summary_.recall = MeanOf({recalls_});
    summary_.cost_error = MeanOf({cost_errors_});
    std::vector<std::vector<double>> rows;
    for (auto& [row, values] : class_by_row_) rows.push_back(std::move(values));
    summary_.macro_class = MeanOf(rows);
    for (size_t i = 0; i < summary_.baselines.size(); ++i) {
      summary_.baselines[i].recall = MeanOf({baseline_recalls_[i]});
    }
    return std::move(summary_);
  }

 private:
  void AddHealthy(const EpisodeOutcome& outcome) {
    KindRow& row = summary_.kinds["healthy"];
    ++row.episodes;
    row.state_right.Add(outcome.score.state_right);
    row.class_right.Add(outcome.score.hosts_accused == 0);
    row.episodes_accusing_innocents += outcome.score.accused_wrongly.empty() ? 0 : 1;
  }

  void AddCause(const CauseScore& cause, const EpisodeOutcome& outcome) {
    const FaultInfo& info = InfoOf(cause.kind);
    KindRow& row = summary_.kinds[std::string(info.name)];
    ++row.episodes;
    row.episodes_accusing_innocents += outcome.score.accused_wrongly.empty() ? 0 : 1;
    if (cause.culprits > 0 && !cause.accusable) {
      ++row.too_cheap;
      ++summary_.too_cheap;
      return;
    }
    row.state_right.Add(outcome.score.state_right);
    ++row.predicted[cause.predicted];
    row.class_right.Add(cause.class_right);
    summary_.class_right.Add(cause.class_right);
    class_by_row_[info.table_row].push_back(cause.class_right ? 1 : 0);
    if (!cause.accusable) return;
    for (Rate* rate : {&row.top1, &summary_.top1}) rate->Add(cause.top1);
    for (Rate* rate : {&row.top3, &summary_.top3}) rate->Add(cause.top3);
    for (Rate* rate : {&row.exact_set, &summary_.exact_set}) rate->Add(cause.exact_set);
    summary_.top1_host.Add(cause.top1_host);
    recalls_.push_back(static_cast<double>(cause.culprits_named) / static_cast<double>(cause.culprits));
    if (cause.named && !info.hang) cost_errors_.push_back(std::abs(cause.claimed_cost - cause.marginal_cost));
  }

  void AddTogether(const EpisodeScore& score) {
    const bool all_accusable =
        std::all_of(score.causes.begin(), score.causes.end(), [](const CauseScore& cause) { return cause.accusable; });
    if (score.causes.empty() || !all_accusable) return;
    summary_.all_named.Add(
        std::all_of(score.causes.begin(), score.causes.end(), [](const CauseScore& cause) { return cause.named; }));
  }

  void AddTimes(const EpisodeOutcome& outcome) {
    if (outcome.score.causes.empty() || !outcome.score.causes.front().accusable) return;
    if (suite_.procedure == Procedure::kPrefixes) {
      const int64_t steps = outcome.steps_to_verdict;
      summary_.soon_enough.Add(steps > 0 && steps <= kSoonSteps);
      steps_.push_back(static_cast<double>(steps > 0 ? steps : kMostStepsToVerdict + 1));
    }
    if (suite_.procedure == Procedure::kHangCuts) {
      const double thinking = static_cast<double>(outcome.diagnose_ns) / kNanosPerSecond;
      const bool found = outcome.hang_seconds >= 0;
      summary_.exact_when_looked.Add(found);
      summary_.soon_enough.Add(found && outcome.hang_seconds + thinking <= kSoonHangSeconds);
      if (found) hang_seconds_.push_back(outcome.hang_seconds + thinking);
    }
  }

  void AddBaselines(const EpisodeOutcome& outcome) {
    if (summary_.baselines.empty() && !outcome.baselines.empty()) {
      for (const Baseline& baseline : AllBaselines()) {
        summary_.baselines.emplace_back();
        summary_.baselines.back().name = baseline.name;
        summary_.baselines.back().accuses = baseline.accuses;
      }
      baseline_recalls_.resize(summary_.baselines.size());
    }
    const bool counts = !outcome.score.causes.empty() && outcome.score.causes.front().accusable;
    for (size_t i = 0; i < outcome.baselines.size(); ++i) {
      const RankingScore& score = outcome.baselines[i];
      BaselineRow& row = summary_.baselines[i];
      if (row.accuses) row.accuses_innocents.Add(score.accused_wrongly > 0);
      if (!counts || InfoOf(outcome.score.causes.front().kind).hang) continue;
      row.top1.Add(score.top1);
      row.top1_host.Add(score.top1_host);
      row.top3.Add(score.top3);
      baseline_recalls_[i].push_back(score.recall);
    }
  }

  const Suite& suite_;
  SuiteSummary summary_;
  std::vector<double> diagnose_seconds_, simulate_seconds_, records_, steps_, hang_seconds_, recalls_, cost_errors_,
      pulled_bytes_;
  std::map<int32_t, std::vector<double>> class_by_row_;
  std::vector<std::vector<double>> baseline_recalls_;
};

}  // namespace

SuiteSummary Summarize(const Suite& suite, const std::vector<EpisodeOutcome>& outcomes) {
  Summarizer summarizer(suite);
  for (const EpisodeOutcome& outcome : outcomes) summarizer.Add(outcome);
  return summarizer.Finish();
}

}  // namespace lockstep
