#include "eval/live/live_summary.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/clock.h"
#include "eval/scoring/confidence_interval.h"
#include "eval/scoring/episode_score.h"
#include "sim/fault_spec.h"

namespace lockstep {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kMachines = 1000;

double Seconds(int64_t nanos) { return static_cast<double>(nanos) / kNanosPerSecond; }

bool IsWithin(const LiveCauseScore& cause, double seconds) {
  return cause.named_seconds >= 0 && cause.named_seconds <= kSoonLiveSteps * cause.step_seconds + seconds;
}

bool IsExactInTime(const LiveCauseScore& cause) {
  return cause.exact_seconds >= 0 && cause.exact_seconds <= kHangLiveSeconds;
}

// Why an episode counts as failed; empty if it does not.
std::string Failure(const LiveOutcome& outcome) {
  if (!outcome.score.accused_wrongly.empty()) return "accuses " + outcome.score.accused_wrongly.front();
  for (const LiveCauseScore& cause : outcome.score.causes) {
    if (!cause.at_end.accusable) continue;
    const std::string kind(InfoOf(cause.at_end.kind).name);
    if (cause.named_seconds < 0) return "never names " + kind;
    if (cause.stops_job && !IsExactInTime(cause)) return "no exact set in time: " + kind;
    if (!cause.stops_job && !IsWithin(cause, kP95LiveSeconds)) return "slow to name " + kind;
    if (!cause.at_end.named) return "names it no more at the end: " + kind;
    if (!cause.at_end.class_right) return "class of " + kind;
  }
  return "";
}

class LiveSummarizer {
 public:
  explicit LiveSummarizer(const LiveSuite& suite) {
    summary_.name = std::string(suite.name);
    summary_.what = std::string(suite.what);
  }

  void Add(const LiveOutcome& outcome) {
    ++summary_.episodes;
    AddAccusations(outcome);
    AddEffort(outcome);
    if (outcome.score.causes.empty()) AddHealthy(outcome);
    for (size_t i = 0; i < outcome.score.causes.size(); ++i) AddCause(outcome, i);
    AddTogether(outcome.score);
    if (const std::string why = Failure(outcome); !why.empty()) {
      summary_.failures.Add({outcome.number, why, outcome.description, outcome.answer});
    }
    if (!outcome.judged_as_file) return;
    summary_.agrees_with_file.Add(outcome.parity.agrees);
    if (outcome.parity.agrees) return;
    summary_.disagreements.Add({outcome.number, outcome.parity.difference, outcome.description,
                                "live: " + outcome.answer + "; as a file: " + outcome.file_answer});
  }

  LiveSummary Finish() {
    summary_.named_seconds = SpreadOf(named_seconds_);
    summary_.named_steps = SpreadOf(named_steps_);
    summary_.exact_seconds = SpreadOf(exact_seconds_);
    summary_.recall = MeanOf({recalls_});
    summary_.cost_error = MeanOf({cost_errors_});
    summary_.unknown_share = MeanOf({unknown_shares_});
    summary_.pulled_bytes = MeanOf({pulled_bytes_});
    summary_.report_bytes = MeanOf({report_bytes_});
    summary_.cores_per_1000 = SpreadOf(cores_);
    summary_.play_seconds = SpreadOf(play_seconds_);
    summary_.simulate_seconds = SpreadOf(simulate_seconds_);
    summary_.operations = SpreadOf(operations_);
    for (auto& [name, seconds] : kind_seconds_) summary_.kinds[name].named_seconds = SpreadOf(seconds);
    return std::move(summary_);
  }

 private:
  void AddAccusations(const LiveOutcome& outcome) {
    const auto wrong = static_cast<int64_t>(outcome.score.accused_wrongly.size());
    summary_.innocents.accused += wrong;
    summary_.innocents.episodes += wrong > 0 ? 1 : 0;
    summary_.innocents.false_incidents += outcome.score.false_incidents;
    summary_.innocents.job_hours += outcome.play.seconds / kSecondsPerHour;
    for (int64_t i = 0; i < outcome.score.hosts_accused; ++i) summary_.accused_rightly.Add(i >= wrong);
    summary_.state_right.Add(outcome.score.state_right);
  }

  void AddEffort(const LiveOutcome& outcome) {
    const LivePlay& play = outcome.play;
    const double machine_seconds = std::max(1.0, play.seconds * outcome.hosts);
    pulled_bytes_.push_back(static_cast<double>(play.pulled_bytes) / machine_seconds);
    report_bytes_.push_back(static_cast<double>(play.report_bytes) / machine_seconds);
    cores_.push_back(kMachines * Seconds(play.engine_cpu_ns) / machine_seconds);
    play_seconds_.push_back(Seconds(outcome.play_cpu_ns - play.engine_cpu_ns));
    simulate_seconds_.push_back(Seconds(outcome.simulate_ns));
    operations_.push_back(static_cast<double>(play.operations));
    if (outcome.score.looks_with_records == 0) return;
    unknown_shares_.push_back(static_cast<double>(outcome.score.unknown_looks) /
                              static_cast<double>(outcome.score.looks_with_records));
  }

  void AddHealthy(const LiveOutcome& outcome) {
    LiveKindRow& row = summary_.kinds["healthy"];
    ++row.episodes;
    row.class_right.Add(outcome.score.hosts_accused == 0);
    row.episodes_accusing_innocents += outcome.score.accused_wrongly.empty() ? 0 : 1;
  }

  void AddCause(const LiveOutcome& outcome, size_t index) {
    const LiveCauseScore& cause = outcome.score.causes[index];
    const FaultInfo& info = InfoOf(cause.at_end.kind);
    const std::string name(info.name);
    LiveKindRow& row = summary_.kinds[name];
    ++row.episodes;
    row.episodes_accusing_innocents += outcome.score.accused_wrongly.empty() ? 0 : 1;
    if (cause.at_end.culprits > 0 && !cause.at_end.accusable) {
      ++row.too_cheap;
      ++summary_.too_cheap;
      return;
    }
    ++row.predicted[cause.at_end.predicted];
    for (Rate* rate : {&row.class_right, &summary_.class_right}) rate->Add(cause.at_end.class_right);
    if (!cause.at_end.accusable) return;
    for (Rate* rate : {&row.top1, &summary_.top1}) rate->Add(cause.at_end.top1);
    for (Rate* rate : {&row.named, &summary_.named}) rate->Add(cause.named_seconds >= 0);
    if (outcome.judged_as_file) summary_.file_top1.Add(outcome.file_score.causes[index].top1);
    recalls_.push_back(static_cast<double>(cause.at_end.culprits_named) / static_cast<double>(cause.at_end.culprits));
    const bool named = cause.named_seconds >= 0;
    kind_seconds_[name].push_back(named ? cause.named_seconds : cause.left_seconds);
    cause.stops_job ? AddHang(cause) : AddSlow(cause);
  }

  void AddHang(const LiveCauseScore& cause) {
    summary_.hang_in_time.Add(IsExactInTime(cause));
    exact_seconds_.push_back(cause.exact_seconds >= 0 ? cause.exact_seconds : cause.left_seconds);
  }

  void AddSlow(const LiveCauseScore& cause) {
    const bool named = cause.named_seconds >= 0;
    summary_.within_median.Add(IsWithin(cause, kMedianLiveSeconds));
    summary_.within_p95.Add(IsWithin(cause, kP95LiveSeconds));
    named_seconds_.push_back(named ? cause.named_seconds : cause.left_seconds);
    named_steps_.push_back(named ? cause.named_steps : cause.left_steps);
    if (cause.at_end.named) cost_errors_.push_back(std::abs(cause.at_end.claimed_cost - cause.at_end.marginal_cost));
  }

  void AddTogether(const LiveScore& score) {
    const auto all = [&](auto&& holds) { return std::all_of(score.causes.begin(), score.causes.end(), holds); };
    if (score.causes.empty() || !all([](const LiveCauseScore& cause) { return cause.at_end.accusable; })) return;
    summary_.all_named.Add(all([](const LiveCauseScore& cause) { return cause.at_end.named; }));
  }

  LiveSummary summary_;
  std::vector<double> named_seconds_, named_steps_, exact_seconds_, recalls_, cost_errors_, unknown_shares_,
      pulled_bytes_, report_bytes_, cores_, play_seconds_, simulate_seconds_, operations_;
  std::map<std::string, std::vector<double>> kind_seconds_;
};

}  // namespace

double InnocentRate::upper_per_job_hour() const { return job_hours > 0 ? PoissonUpperBound(episodes) / job_hours : 0; }

LiveSummary SummarizeLive(const LiveSuite& suite, const std::vector<LiveOutcome>& outcomes) {
  LiveSummarizer summarizer(suite);
  for (const LiveOutcome& outcome : outcomes) summarizer.Add(outcome);
  return summarizer.Finish();
}

}  // namespace lockstep
