#include "formats/evidence_builder.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "base/metric_catalog.h"
#include "formats/name_table.h"

namespace lockstep {
namespace {

using SeriesKey = std::tuple<int32_t, int32_t, int32_t>;  // host, device, metric

struct Series {
  SeriesKey key;
  std::vector<std::pair<int64_t, double>> samples;
};

// Samples by time; of several at one time the last that was read.
void Place(std::vector<std::pair<int64_t, double>> samples, MetricSeries& series) {
  const auto earlier = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::is_sorted(samples.begin(), samples.end(), earlier)) {
    std::stable_sort(samples.begin(), samples.end(), earlier);
  }
  series.time_ms.reserve(samples.size());
  series.value.reserve(samples.size());
  for (const auto& [time_ms, value] : samples) {
    if (!series.time_ms.empty() && series.time_ms.back() == time_ms) {
      series.value.back() = value;
      continue;
    }
    series.time_ms.push_back(time_ms);
    series.value.push_back(value);
  }
}

// Counter histories on their way to a MetricTable.
class SampleCollection {
 public:
  // False when there are too many series.
  bool Add(const SampleRow& row) {
    const SeriesKey key = {hosts_.Intern(row.host), devices_.Intern(row.device), metrics_.Intern(row.metric)};
    if (last_ == nullptr || last_->key != key) {
      auto known = by_key_.find(key);
      if (known == by_key_.end()) {
        if (series_.size() == kMaxSeries) return false;
        known = by_key_.emplace(key, series_.size()).first;
        series_.push_back(std::make_unique<Series>(Series{key, {}}));
      }
      last_ = series_[known->second].get();
    }
    last_->samples.emplace_back(row.time_ms, row.value);
    return true;
  }

  MetricTable Finish() {
    MetricTable table;
    table.hosts = hosts_.names();
    for (std::unique_ptr<Series>& series : series_) {
      const auto [host, device, metric] = series->key;
      MetricSeries& placed = table.series.emplace_back();
      placed.host = host;
      placed.device = devices_.names()[static_cast<size_t>(device)];
      placed.name = metrics_.names()[static_cast<size_t>(metric)];
      const MetricInfo* known = FindMetric(placed.name);
      if (known != nullptr) placed.metric = known->metric;
      Place(std::move(series->samples), placed);
      series.reset();
    }
    std::sort(table.series.begin(), table.series.end(), [](const MetricSeries& a, const MetricSeries& b) {
      return std::tie(a.host, a.device, a.name) < std::tie(b.host, b.device, b.name);
    });
    return table;
  }

 private:
  // Each is at most as long as the list of series.
  NameTable hosts_{kMaxSeries};
  NameTable devices_{kMaxSeries};
  NameTable metrics_{kMaxSeries};
  std::vector<std::unique_ptr<Series>> series_;
  absl::flat_hash_map<SeriesKey, size_t> by_key_;
  Series* last_ = nullptr;
};

}  // namespace

struct EvidenceBuilder::JobParts {
  explicit JobParts(std::string job) : name(job), trace(std::move(job)) {}

  std::string name;
  TraceCollection trace;
  SampleCollection samples;
  std::vector<HostEvent> events;
  PlaceTable places;
  PatternFleet patterns;
  std::vector<std::string> notes;
};

EvidenceBuilder::EvidenceBuilder() = default;
EvidenceBuilder::~EvidenceBuilder() = default;

JobIndex EvidenceBuilder::Job(absl::string_view name) {
  const auto known = job_by_name_.find(name);
  if (known != job_by_name_.end()) return known->second;
  if (jobs_.size() == kMaxJobs) return static_cast<JobIndex>(kMaxJobs) - 1;
  const auto index = static_cast<JobIndex>(jobs_.size());
  jobs_.push_back(std::make_unique<JobParts>(std::string(name)));
  job_by_name_.emplace(name, index);
  return index;
}

std::vector<std::string> EvidenceBuilder::JobNames() const {
  std::vector<std::string> names;
  names.reserve(jobs_.size());
  for (const std::unique_ptr<JobParts>& job : jobs_) names.push_back(job->name);
  return names;
}

void EvidenceBuilder::AddOperation(JobIndex job, const OperationRow& row) {
  jobs_[static_cast<size_t>(job)]->trace.Add(row);
}

void EvidenceBuilder::DescribeRank(JobIndex job, const RankRow& row) {
  jobs_[static_cast<size_t>(job)]->trace.Describe(row);
}

void EvidenceBuilder::DescribeCommunicator(JobIndex job, absl::string_view name, absl::string_view hint,
                                           absl::Span<const int32_t> ranks) {
  jobs_[static_cast<size_t>(job)]->trace.DescribeCommunicator(name, hint, ranks);
}

void EvidenceBuilder::ExpectRanks(JobIndex job, int32_t world_size) {
  jobs_[static_cast<size_t>(job)]->trace.ExpectRanks(world_size);
}

void EvidenceBuilder::AddSample(JobIndex job, const SampleRow& row) {
  JobParts& parts = *jobs_[static_cast<size_t>(job)];
  if (samples_ < kMaxSamples && parts.samples.Add(row)) {
    ++samples_;
  } else {
    parts.trace.AddLost(1);
  }
}

void EvidenceBuilder::AddPatterns(JobIndex job, const RankPatterns& patterns) {
  if (patterns.rank >= 0) jobs_[static_cast<size_t>(job)]->patterns.Add(patterns);
}

void EvidenceBuilder::AddEvent(JobIndex job, const HostEvent& event) {
  JobParts& parts = *jobs_[static_cast<size_t>(job)];
  if (parts.events.size() < kMaxEvents) {
    parts.events.push_back(event);
  } else {
    parts.trace.AddLost(1);
  }
}

void EvidenceBuilder::PlaceHost(JobIndex job, absl::string_view host, const Places& places) {
  PlaceTable& table = jobs_[static_cast<size_t>(job)]->places;
  const std::string name(host);
  if (!AnyKnown(places)) {
    table.of_host.erase(name);
  } else if (table.of_host.contains(name) || table.of_host.size() < kMaxPlacedHosts) {
    table.of_host[name] = places;
  }
}

void EvidenceBuilder::AddLost(JobIndex job, uint64_t records) {
  jobs_[static_cast<size_t>(job)]->trace.AddLost(records);
}

void EvidenceBuilder::AddNote(JobIndex job, std::string note) {
  std::vector<std::string>& notes = jobs_[static_cast<size_t>(job)]->notes;
  if (notes.size() < kMaxNotes && std::find(notes.begin(), notes.end(), note) == notes.end()) {
    notes.push_back(std::move(note));
  }
}

std::vector<JobInput> EvidenceBuilder::Finish() {
  std::vector<JobInput> inputs;
  for (std::unique_ptr<JobParts>& parts : jobs_) {
    JobInput& input = inputs.emplace_back();
    input.evidence.job = parts->name;
    input.evidence.trace = parts->trace.Finish();
    input.evidence.metrics = parts->samples.Finish();
    input.evidence.metrics.job = parts->name;
    input.evidence.events = std::move(parts->events);
    input.evidence.places = std::move(parts->places);
    input.patterns = std::move(parts->patterns);
    input.notes = std::move(parts->notes);
    parts.reset();
  }
  jobs_.clear();
  job_by_name_.clear();
  samples_ = 0;
  return inputs;
}

}  // namespace lockstep
