#include "collector/job_metrics.h"

#include <cstddef>
#include <iterator>

#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

using prometheus::Family;
using prometheus::Gauge;

// The words of detector/verdict/verdict.h.
const std::vector<std::string>& JobStates() {
  static const auto* const kWords = [] {
    auto* const words = new std::vector<std::string>;
    for (int state = 0; state <= static_cast<int>(JobState::kGone); ++state) {
      words->emplace_back(Name(static_cast<JobState>(state)));
    }
    return words;
  }();
  return *kWords;
}

struct LedgerPart {
  const char* name;
  double LedgerGauges::*seconds;
};
constexpr LedgerPart kLedgerParts[] = {
    {"measured", &LedgerGauges::measured_seconds},   {"reference", &LedgerGauges::reference_seconds},
    {"explained", &LedgerGauges::explained_seconds}, {"unexplained", &LedgerGauges::unexplained_seconds},
    {"error", &LedgerGauges::error_seconds},
};

Family<Gauge>& AddFamily(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

}  // namespace

JobMetrics::JobMetrics(prometheus::Registry& registry)
    : jobs_(AddFamily(registry, "lockstep_jobs", "Jobs by state.")),
      states_(AddFamily(registry, "lockstep_job_state", "1 for the state that the job is in.")),
      steps_per_second_(
          AddFamily(registry, "lockstep_job_steps_per_second", "Training steps per second; 0 = unknown.")),
      step_seconds_median_(
          AddFamily(registry, "lockstep_job_step_seconds_median", "Median time of a step; 0 = unknown.")),
      ranks_(AddFamily(registry, "lockstep_job_ranks", "Ranks of the job that were seen.")),
      ledgers_(AddFamily(registry, "lockstep_job_ledger_seconds",
                         "Where the time of a mean step goes: measured = reference + explained + unexplained.")) {
  for (const std::string& state : JobStates()) jobs_.Add({{"state", state}});
}

JobMetrics::Series JobMetrics::AddLocked(const std::string& job) {
  Series series;
  for (const std::string& state : JobStates()) {
    series.states.push_back(&states_.Add({{"training_job", job}, {"state", state}}));
  }
  series.steps_per_second = &steps_per_second_.Add({{"training_job", job}});
  series.step_seconds_median = &step_seconds_median_.Add({{"training_job", job}});
  series.ranks = &ranks_.Add({{"training_job", job}});
  return series;
}

void JobMetrics::SetLedgerLocked(const std::string& job, const std::optional<LedgerGauges>& gauges, Series& series) {
  if (!gauges.has_value()) {
    for (Gauge* part : series.ledger) ledgers_.Remove(part);
    series.ledger.clear();
    return;
  }
  if (series.ledger.empty()) {
    for (const LedgerPart& part : kLedgerParts) {
      series.ledger.push_back(&ledgers_.Add({{"training_job", job}, {"part", part.name}}));
    }
  }
  for (size_t i = 0; i < std::size(kLedgerParts); ++i) series.ledger[i]->Set((*gauges).*kLedgerParts[i].seconds);
}

void JobMetrics::CountStateLocked(const std::string& state, double change) {
  if (!state.empty()) jobs_.Add({{"state", state}}).Increment(change);
}

void JobMetrics::Set(const std::string& job, const JobGauges& gauges) {
  MutexLock lock(mutex_);
  auto found = series_.find(job);
  if (found == series_.end()) found = series_.emplace(job, AddLocked(job)).first;
  Series& series = found->second;
  series.steps_per_second->Set(gauges.steps_per_second);
  series.step_seconds_median->Set(gauges.step_seconds_median);
  series.ranks->Set(gauges.ranks);
  SetLedgerLocked(job, gauges.ledger, series);
  if (series.state == gauges.state) return;
  CountStateLocked(series.state, -1);
  CountStateLocked(gauges.state, 1);
  series.state = gauges.state;
  for (size_t i = 0; i < JobStates().size(); ++i) series.states[i]->Set(gauges.state == JobStates()[i] ? 1 : 0);
}

void JobMetrics::Remove(const std::string& job) {
  MutexLock lock(mutex_);
  const auto found = series_.find(job);
  if (found == series_.end()) return;
  Series& series = found->second;
  CountStateLocked(series.state, -1);
  SetLedgerLocked(job, std::nullopt, series);
  for (Gauge* state : series.states) states_.Remove(state);
  steps_per_second_.Remove(series.steps_per_second);
  step_seconds_median_.Remove(series.step_seconds_median);
  ranks_.Remove(series.ranks);
  series_.erase(found);
}

}  // namespace lockstep
