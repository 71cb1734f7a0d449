#include "sim/capture/recording_playback.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "detector/hang/frontier.h"
#include "detector/hang/host_offsets.h"
#include "detector/hang/trace_frontier.h"
#include "detector/model/trace.h"
#include "sim/capture/host_alignment.h"

namespace lockstep {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;
constexpr char kNamelessJob[] = "recording";
// Hosts are not booted together: monotonic clocks of two hosts have nothing in common.
constexpr int64_t kBootSpreadNanos = 977 * kReportIntervalNanos;

// From first to last; empty when first > last.
struct Span {
  int64_t first_ns = std::numeric_limits<int64_t>::max();
  int64_t last_ns = std::numeric_limits<int64_t>::min();

  bool empty() const { return first_ns > last_ns; }
  void Add(int64_t ns) {
    first_ns = std::min(first_ns, ns);
    last_ns = std::max(last_ns, ns);
  }
  bool Overlaps(const Span& other) const {
    return !empty() && !other.empty() && first_ns <= other.last_ns && other.first_ns <= last_ns;
  }
};

int64_t LastOf(const TraceOperation& operation) {
  return std::max({operation.enqueue_ns, operation.start_ns, operation.end_ns});
}

class Planner {
 public:
  explicit Planner(const JobEvidence& evidence)
      : evidence_(evidence), trace_(evidence.trace), frontier_(FrontierOf(trace_)), rank_spans_(trace_.ranks.size()) {
    plan_.evidence = &evidence;
  }

  absl::StatusOr<Playback> Plan(const std::string& job, bool stands) {
    if (evidence_.trace.operations.empty() && evidence_.metrics.series.empty() && evidence_.events.empty()) {
      return absl::DataLossError("the recording holds no operations, no samples and no events: nothing to play");
    }
    plan_.job = !job.empty() ? job : !evidence_.job.empty() ? evidence_.job : kNamelessJob;
    AddHosts();
    MeasureSpans();
    Align();
    PlaceSamples();
    const Span all = Whole();
    if (all.last_ns - all.first_ns > kMaxPlayedNanos) {
      return absl::DataLossError(absl::StrCat(
          "the recording spans ", (all.last_ns - all.first_ns) / (86'400 * kReportIntervalNanos),
          " days, expected at most ", kMaxPlayedNanos / (86'400 * kReportIntervalNanos), ": is some clock wrong?"));
    }
    BeginAt(all.first_ns);
    FillNumbers();
    FillEnds((all.last_ns - all.first_ns) / kReportIntervalNanos + 1, stands);
    return std::move(plan_);
  }

 private:
  size_t HostOf(const std::string& name) {
    const auto [known, added] = host_of_name_.try_emplace(name, plan_.hosts.size());
    if (added) plan_.hosts.emplace_back().name = name;
    return known->second;
  }

  void AddHosts() {
    for (const std::string& host : trace_.hosts) HostOf(host);
    for (size_t r = 0; r < trace_.ranks.size(); ++r) {
      if (trace_.ranks[r].host >= 0) plan_.hosts[static_cast<size_t>(trace_.ranks[r].host)].ranks.push_back(r);
    }
    const MetricTable& metrics = evidence_.metrics;
    for (size_t s = 0; s < metrics.series.size(); ++s) {
      plan_.hosts[HostOf(metrics.hosts[static_cast<size_t>(metrics.series[s].host)])].series.push_back(s);
    }
    for (const HostEvent& event : evidence_.events) HostOf(event.host);
    for (size_t h = 0; h < plan_.hosts.size(); ++h) {
      plan_.hosts[h].boot_ns = kBootNanos + static_cast<int64_t>(h) * kBootSpreadNanos;
    }
  }

  void MeasureSpans() {
    records_.resize(plan_.hosts.size());
    samples_.resize(plan_.hosts.size());
    for (size_t r = 0; r < trace_.ranks.size(); ++r) {
      for (const TraceOperation& operation : trace_.OperationsOf(r)) {
        rank_spans_[r].Add(operation.enqueue_ns);
        rank_spans_[r].Add(LastOf(operation));
      }
      if (trace_.ranks[r].host < 0 || rank_spans_[r].empty()) continue;
      records_[static_cast<size_t>(trace_.ranks[r].host)].Add(rank_spans_[r].first_ns);
      records_[static_cast<size_t>(trace_.ranks[r].host)].Add(rank_spans_[r].last_ns);
    }
    for (const HostEvent& event : evidence_.events) records_[HostOf(event.host)].Add(event.event.host_ns);
    for (size_t h = 0; h < plan_.hosts.size(); ++h) {
      for (const size_t s : plan_.hosts[h].series) {
        const std::vector<int64_t>& time_ms = evidence_.metrics.series[s].time_ms;
        if (time_ms.empty()) continue;
        samples_[h].Add(time_ms.front() * kNanosPerMilli);
        samples_[h].Add(time_ms.back() * kNanosPerMilli);
      }
    }
  }

  // Hosts of one island share a clock but for their offsets; all islands begin together.
  void Align() {
    const HostOffsets offsets = AlignPlayedHosts(frontier_);
    std::vector<int64_t> first_ns(trace_.hosts.size(), std::numeric_limits<int64_t>::max());  // by island
    for (size_t h = 0; h < trace_.hosts.size(); ++h) {
      int64_t& first = first_ns[static_cast<size_t>(offsets.island[h])];
      if (!records_[h].empty()) first = std::min(first, records_[h].first_ns - offsets.offset_ns[h]);
    }
    for (size_t h = 0; h < trace_.hosts.size(); ++h) {
      const int64_t first = first_ns[static_cast<size_t>(offsets.island[h])];
      if (!records_[h].empty()) plan_.hosts[h].zero_ns = offsets.offset_ns[h] + first;
    }
    for (size_t h = trace_.hosts.size(); h < plan_.hosts.size(); ++h) {
      if (!records_[h].empty()) plan_.hosts[h].zero_ns = records_[h].first_ns;  // events alone
    }
  }

  void PlaceSamples() {
    bool shared = false;
    int64_t shared_zero_ns = std::numeric_limits<int64_t>::max();
    int64_t first_ns = std::numeric_limits<int64_t>::max();
    for (size_t h = 0; h < plan_.hosts.size(); ++h) {
      if (samples_[h].empty()) continue;
      first_ns = std::min(first_ns, samples_[h].first_ns);
      if (!samples_[h].Overlaps(records_[h])) continue;
      shared = true;
      shared_zero_ns = std::min(shared_zero_ns, plan_.hosts[h].zero_ns);
    }
    for (size_t h = 0; h < plan_.hosts.size(); ++h) {
      const bool own = samples_[h].Overlaps(records_[h]);
      plan_.hosts[h].metrics_zero_ns = own ? plan_.hosts[h].zero_ns : shared ? shared_zero_ns : first_ns;
      if (samples_[h].empty()) plan_.hosts[h].metrics_zero_ns = plan_.hosts[h].zero_ns;
    }
  }

  // All that is played, since the zeros so far.
  Span Whole() const {
    Span all;
    for (size_t h = 0; h < plan_.hosts.size(); ++h) {
      const PlayedHost& host = plan_.hosts[h];
      if (!records_[h].empty()) {
        all.Add(records_[h].first_ns - host.zero_ns);
        all.Add(records_[h].last_ns - host.zero_ns);
      }
      if (samples_[h].empty()) continue;
      all.Add(samples_[h].first_ns - host.metrics_zero_ns);
      all.Add(samples_[h].last_ns - host.metrics_zero_ns);
    }
    return all;
  }

  void BeginAt(int64_t since_zero_ns) {
    for (PlayedHost& host : plan_.hosts) {
      host.zero_ns += since_zero_ns;
      host.metrics_zero_ns += since_zero_ns;
    }
  }

  void FillNumbers() {
    plan_.communicator_ids = CommunicatorIds(trace_.communicators);
    for (const TraceOperation& operation : trace_.operations) {
      if (operation.sequence != 0) continue;
      (IsTransfer(operation) ? plan_.transfer_shift : plan_.collective_shift) = 1;
    }
    const size_t known = trace_.ranks.size() + trace_.missing_ranks.size();
    const bool whole = std::all_of(trace_.ranks.begin(), trace_.ranks.end(),
                                   [known](const TraceRank& rank) { return static_cast<size_t>(rank.rank) < known; });
    if (whole && known > 0) plan_.world_size = static_cast<int32_t>(known);
  }

  // From the last record of a host to the moment at which it was read, the longest of any.
  int64_t QuietNanos() const {
    int64_t quiet_ns = 0;
    for (const TraceRank& rank : trace_.ranks) {
      if (rank.last_seen_ns == kNoTime || rank.host < 0) continue;
      const Span& records = records_[static_cast<size_t>(rank.host)];
      if (!records.empty()) quiet_ns = std::max(quiet_ns, rank.last_seen_ns - records.last_ns);
    }
    return quiet_ns;
  }

  void FillEnds(int64_t ticks, bool stands) {
    size_t looked_at = 0;
    plan_.processes.resize(trace_.ranks.size());
    for (size_t r = 0; r < trace_.ranks.size(); ++r) {
      const TraceRank& rank = trace_.ranks[r];
      if (rank.last_seen_ns != kNoTime) ++looked_at;
      if (rank.process_state == ProcessState::kUnknown || rank.host < 0) continue;
      const int64_t zero_ns = plan_.hosts[static_cast<size_t>(rank.host)].zero_ns;
      plan_.processes[r] = {.before = ProcessState::kRunning,
                            .after = rank.process_state,
                            .from_ns = rank_spans_[r].empty() ? 0 : rank_spans_[r].last_ns - zero_ns};
    }
    for (size_t h = 0; 2 * looked_at > trace_.ranks.size() && h < plan_.hosts.size(); ++h) {
      PlayedHost& host = plan_.hosts[h];
      const bool seen = std::any_of(host.ranks.begin(), host.ranks.end(),
                                    [this](size_t r) { return trace_.ranks[r].last_seen_ns != kNoTime; });
      if (!host.ranks.empty() && !seen && !records_[h].empty()) {
        host.silent_from_ns = records_[h].last_ns - host.zero_ns + 1;
      }
    }
    plan_.ends_in_order = !stands;
    const int64_t quiet_ticks = QuietNanos() / kReportIntervalNanos;
    const int64_t more_ticks = stands ? std::clamp<int64_t>(quiet_ticks, kLeastTicksStanding, kMostTicksStanding)
                                      : std::min<int64_t>(quiet_ticks, kTicksAfterEnd);
    plan_.ticks = static_cast<int32_t>(ticks + more_ticks);
  }

  const JobEvidence& evidence_;
  const Trace& trace_;
  const Frontier frontier_;
  std::vector<Span> rank_spans_;                           // by rank index, host clock
  std::vector<Span> records_;                              // by host of the plan: operations and events
  std::vector<Span> samples_;                              // by host of the plan
  absl::flat_hash_map<std::string, size_t> host_of_name_;  // into plan_.hosts; those of the trace come first
  Playback plan_;
};

}  // namespace

absl::StatusOr<Playback> PlanRecording(const JobEvidence& evidence, const std::string& job, bool stands) {
  return Planner(evidence).Plan(job, stands);
}

}  // namespace lockstep
