#include "eval/metamorphic/reread.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/shuffle.h"
#include "base/status_macros.h"
#include "detector/model/metric_table.h"
#include "detector/model/trace.h"
#include "eval/suites/trace_cut.h"
#include "formats/byte_source.h"
#include "formats/evidence_builder.h"
#include "formats/ops_csv_reader.h"
#include "formats/ops_csv_writer.h"
#include "formats/read_result.h"
#include "formats/trace_collection.h"

namespace lockstep {
namespace {

// A sample by series and position.
struct SampleAt {
  size_t series = 0;
  size_t position = 0;
};

// The rank index of every operation.
std::vector<int32_t> RanksOfOperations(const Trace& trace) {
  std::vector<int32_t> rank_of(trace.operations.size());
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    std::fill(rank_of.begin() + static_cast<std::ptrdiff_t>(trace.first_operation[rank]),
              rank_of.begin() + static_cast<std::ptrdiff_t>(trace.first_operation[rank + 1]),
              static_cast<int32_t>(rank));
  }
  return rank_of;
}

class Rereading {
 public:
  explicit Rereading(const JobEvidence& recording) : recording_(recording), job_(builder_.Job(recording.job)) {}

  void DescribeJob() {
    const Trace& trace = recording_.trace;
    for (const TraceRank& rank : trace.ranks) {
      builder_.DescribeRank(job_, {.rank = rank.rank,
                                   .host = HostOf(rank),
                                   .gpu = rank.gpu,
                                   .pid = rank.pid,
                                   .process_state = rank.process_state,
                                   .last_seen_ns = rank.last_seen_ns});
    }
    for (const TraceCommunicator& communicator : trace.communicators) {
      std::vector<int32_t> ranks;
      for (const int32_t member : communicator.members) {
        ranks.push_back(member < 0 ? -1 : trace.ranks[static_cast<size_t>(member)].rank);
      }
      builder_.DescribeCommunicator(job_, communicator.name, communicator.hint, ranks);
    }
    ExpectMissingRanks();
    builder_.AddLost(job_, trace.lost_records);
    for (const HostEvent& event : recording_.events) builder_.AddEvent(job_, event);
    for (const auto& [host, places] : recording_.places.of_host) builder_.PlaceHost(job_, host, places);
  }

  void AddOperations(const std::vector<uint32_t>& order) {
    const Trace& trace = recording_.trace;
    const std::vector<int32_t> rank_of = RanksOfOperations(trace);
    for (const uint32_t i : order) {
      const TraceOperation& operation = trace.operations[i];
      const TraceRank& rank = trace.ranks[static_cast<size_t>(rank_of[i])];
      builder_.AddOperation(job_,
                            {.rank = rank.rank,
                             .host = HostOf(rank),
                             .gpu = rank.gpu,
                             .communicator = trace.communicators[static_cast<size_t>(operation.communicator)].name,
                             .operation = operation});
    }
  }

  void AddSamples(const std::vector<SampleAt>& order) {
    const MetricTable& metrics = recording_.metrics;
    for (const auto& [at, position] : order) {
      const MetricSeries& series = metrics.series[at];
      builder_.AddSample(job_, {.host = metrics.hosts[static_cast<size_t>(series.host)],
                                .device = series.device,
                                .metric = series.name,
                                .time_ms = series.time_ms[position],
                                .value = series.value[position]});
    }
  }

  JobEvidence Finish() { return std::move(builder_.Finish().front().evidence); }

 private:
  absl::string_view HostOf(const TraceRank& rank) const {
    if (rank.host < 0) return "";
    const std::string& host = recording_.trace.hosts[static_cast<size_t>(rank.host)];
    return IsStandInHost(host) ? absl::string_view() : host;
  }

  // Ranks without records are known by their numbers alone, where nothing but they are missing below the largest.
  void ExpectMissingRanks() {
    const Trace& trace = recording_.trace;
    if (trace.missing_ranks.empty()) return;
    const size_t world = trace.ranks.size() + trace.missing_ranks.size();
    int32_t last = trace.missing_ranks.back();
    for (const TraceRank& rank : trace.ranks) last = std::max(last, rank.rank);
    if (static_cast<size_t>(last) + 1 == world) builder_.ExpectRanks(job_, last + 1);
  }

  const JobEvidence& recording_;
  EvidenceBuilder builder_;
  const JobIndex job_;
};

std::vector<uint32_t> AllOperations(const Trace& trace) {
  std::vector<uint32_t> order(trace.operations.size());
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

std::vector<SampleAt> AllSamples(const MetricTable& metrics) {
  std::vector<SampleAt> order;
  for (size_t series = 0; series < metrics.series.size(); ++series) {
    for (size_t i = 0; i < metrics.series[series].value.size(); ++i) order.push_back({series, i});
  }
  return order;
}

template <typename Row>
void Repeat(int times, std::vector<Row>* rows) {
  const size_t once = rows->size();
  rows->reserve(once * static_cast<size_t>(times));
  for (int i = 1; i < times; ++i) {
    for (size_t row = 0; row < once; ++row) rows->push_back((*rows)[row]);
  }
}

absl::Status ReadText(const Trace& trace, EvidenceBuilder& builder) {
  std::string text;
  RETURN_IF_ERROR(WriteOpsCsv(trace, [&text](absl::string_view bytes) {
    text.append(bytes.data(), bytes.size());
    return absl::OkStatus();
  }));
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source,
                   ByteSource::FromStream(std::make_unique<std::istringstream>(std::move(text))));
  return ReadOpsCsv(*source, trace.job, builder).status;
}

}  // namespace

JobEvidence Reread(const JobEvidence& recording) {
  Rereading rereading(recording);
  rereading.DescribeJob();
  rereading.AddOperations(AllOperations(recording.trace));
  rereading.AddSamples(AllSamples(recording.metrics));
  return rereading.Finish();
}

JobEvidence RereadShuffled(const JobEvidence& recording, int times, Random& random) {
  std::vector<uint32_t> operations = AllOperations(recording.trace);
  std::vector<SampleAt> samples = AllSamples(recording.metrics);
  Repeat(times, &operations);
  Repeat(times, &samples);
  Shuffle(random, &operations);
  Shuffle(random, &samples);
  Rereading rereading(recording);
  // Whatever describes ranks comes last: a file may begin with any row.
  rereading.AddOperations(operations);
  rereading.AddSamples(samples);
  rereading.DescribeJob();
  return rereading.Finish();
}

absl::StatusOr<JobEvidence> RereadAsFiles(const JobEvidence& recording, bool one_per_host) {
  const Trace& trace = recording.trace;
  EvidenceBuilder builder;
  builder.Job(trace.job);
  if (!one_per_host) {
    RETURN_IF_ERROR(ReadText(trace, builder));
  } else {
    for (size_t host = 0; host < trace.hosts.size(); ++host) {
      const Trace part = KeepOperations(trace, [&](size_t rank, size_t, TraceOperation*) {
        return trace.ranks[rank].host == static_cast<int32_t>(host);
      });
      RETURN_IF_ERROR(ReadText(part, builder));
    }
  }
  return std::move(builder.Finish().front().evidence);
}

}  // namespace lockstep
