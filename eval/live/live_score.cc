#include "eval/live/live_score.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "detector/verdict/verdict.h"
#include "eval/scoring/confidence_interval.h"
#include "eval/scoring/culprit_match.h"
#include "sim/fault_spec.h"

namespace lockstep {
namespace {

double Seconds(int64_t nanos) { return static_cast<double>(nanos) / kNanosPerSecond; }

bool StopsTheJob(const TrueCause& cause, const Truth& truth) {
  return truth.state == JobState::kHung && InfoOf(cause.kind).hang;
}

// A hang strikes at a moment, not with a step.
int64_t OnsetOf(const TrueCause& cause, const Truth& truth) {
  return StopsTheJob(cause, truth) ? truth.hang_ns : cause.onset_ns;
}

double MedianStepSeconds(const Truth& truth, int32_t first_step) {
  const size_t begin = std::min(static_cast<size_t>(std::max(0, first_step)), truth.step_ns.size());
  return Percentile({truth.step_ns.begin() + static_cast<ptrdiff_t>(begin), truth.step_ns.end()}, 0.5) /
         kNanosPerSecond;
}

void AddAccusedHosts(const JobReport& report, std::set<std::string>* hosts) {
  for (const Verdict& verdict : report.verdicts) {
    if (!AccusesNode(verdict)) continue;
    for (const Culprit& culprit : verdict.culprits) {
      for (const std::string& host : {culprit.host, culprit.peer_host}) {
        if (!host.empty()) hosts->insert(host);
      }
    }
  }
}

}  // namespace

JobReport ReportOf(const JobEngine::Conclusion& conclusion, const JobSummary& summary) {
  JobReport report;
  report.state = summary.state;
  report.steps = summary.steps;
  report.step_seconds_median = summary.step_seconds_median;
  report.verdicts = conclusion.verdicts;
  std::stable_sort(report.verdicts.begin(), report.verdicts.end(), [](const Verdict& a, const Verdict& b) {
    if (IsHang(a.verdict_class) != IsHang(b.verdict_class)) return IsHang(a.verdict_class);
    return a.cost.slowdown_fraction > b.cost.slowdown_fraction;
  });
  return report;
}

double StepsIn(double seconds, int32_t first_step, const Truth& truth) {
  double steps = 0;
  double length = 0;
  for (size_t i = static_cast<size_t>(std::max(0, first_step)); i < truth.step_ns.size(); ++i) {
    length = Seconds(truth.step_ns[i]);
    if (seconds <= length) break;
    seconds -= length;
    ++steps;
  }
  return length > 0 ? steps + seconds / length : 0;
}

LiveScorer::LiveScorer(const Truth& truth, double min_cost)
    : truth_(truth), min_cost_(min_cost), first_onset_ns_(std::numeric_limits<int64_t>::max()) {
  for (const TrueCause& cause : truth.causes) {
    first_onset_ns_ = std::min(first_onset_ns_, OnsetOf(cause, truth));
    LiveCauseScore& score = score_.causes.emplace_back();
    score.stops_job = StopsTheJob(cause, truth);
    if (!score.stops_job) score.step_seconds = MedianStepSeconds(truth, cause.first_step);
  }
  usual_step_seconds_ = MedianStepSeconds(truth, 1);
}

void LiveScorer::Look(const LiveLook& look) {
  last_look_ns_ = look.now_ns;
  LookAtState(look);
  const JobReport report = ReportOf(look.conclusion, look.summary);
  AddAccusedHosts(report, &accused_);
  if (look.now_ns < first_onset_ns_) {
    const Truth nothing_yet;
    CountFalseIncidents(report, nothing_yet);
    const EpisodeScore before = ScoreReport(report, nothing_yet, min_cost_);
    accused_wrongly_.insert(before.accused_wrongly.begin(), before.accused_wrongly.end());
    return;
  }
  CountFalseIncidents(report, truth_);
  const EpisodeScore score = ScoreReport(report, truth_, min_cost_);
  accused_wrongly_.insert(score.accused_wrongly.begin(), score.accused_wrongly.end());
  score_.state_right = score.state_right;
  const bool others_hang = BlamesAnotherHang(report);
  for (size_t i = 0; i < score.causes.size(); ++i) LookAtCause(i, score.causes[i], others_hang, look.now_ns);
}

bool LiveScorer::IsAboutTheTruth(const Verdict& verdict, const Truth& truth) const {
  JobReport alone;
  alone.verdicts.push_back(verdict);
  const EpisodeScore score = ScoreReport(alone, truth, min_cost_);
  return std::any_of(score.causes.begin(), score.causes.end(), [](const CauseScore& cause) { return cause.named; });
}

void LiveScorer::CountFalseIncidents(const JobReport& report, const Truth& truth) {
  for (const Verdict& verdict : report.verdicts) {
    if (verdict.type() != FindingType::kAccusation) continue;
    if (!judged_incidents_.insert(absl::StrCat(Name(verdict.verdict_class), " ", CauseKey(verdict))).second) continue;
    score_.false_incidents += IsAboutTheTruth(verdict, truth) ? 0 : 1;
  }
}

bool LiveScorer::BlamesAnotherHang(const JobReport& report) const {
  return std::any_of(report.verdicts.begin(), report.verdicts.end(), [this](const Verdict& verdict) {
    return IsHang(verdict.verdict_class) && !verdict.culprits.empty() && !IsAboutTheTruth(verdict, truth_);
  });
}

void LiveScorer::LookAtState(const LiveLook& look) {
  if (look.operations_delivered == 0) return;
  if (first_record_ns_ < 0) first_record_ns_ = look.now_ns;
  const double seconds = Seconds(look.now_ns - first_record_ns_);
  if (seconds < kWarmUpSeconds + kWarmUpSteps * usual_step_seconds_) return;
  ++score_.looks_with_records;
  score_.unknown_looks += look.summary.state == JobState::kUnknown ? 1 : 0;
  if (truth_.causes.empty()) score_.state_right = look.summary.state == truth_.state;
}

void LiveScorer::LookAtCause(size_t index, const CauseScore& score, bool others_hang, int64_t now_ns) {
  const TrueCause& cause = truth_.causes[index];
  LiveCauseScore& live = score_.causes[index];
  const int64_t onset_ns = OnsetOf(cause, truth_);
  live.at_end = score;
  if (now_ns < onset_ns) return;
  const double seconds = Seconds(now_ns - onset_ns);
  live.left_seconds = seconds;
  live.left_steps = StepsIn(seconds, cause.first_step, truth_);
  if (score.named && live.named_seconds < 0) {
    live.named_seconds = seconds;
    live.named_steps = live.left_steps;
  }
  if (!score.exact_set || others_hang) {
    live.exact_seconds = LiveCauseScore::kNever;
  } else if (live.exact_seconds < 0) {
    live.exact_seconds = seconds;
  }
}

LiveScore LiveScorer::Finish() {
  score_.accused_wrongly.assign(accused_wrongly_.begin(), accused_wrongly_.end());
  score_.hosts_accused = static_cast<int64_t>(accused_.size());
  return std::move(score_);
}

}  // namespace lockstep
