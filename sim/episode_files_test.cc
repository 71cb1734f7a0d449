// A simulated job as files: what `lockstep sim` writes and `lockstep diagnose` reads is the job that was simulated.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "detector/model/metric_table.h"
#include "detector/model/trace.h"
#include "formats/byte_source.h"
#include "formats/evidence_builder.h"
#include "formats/file_writer.h"
#include "formats/metrics_csv_reader.h"
#include "formats/metrics_csv_writer.h"
#include "formats/ops_csv_reader.h"
#include "formats/ops_csv_writer.h"
#include "formats/read_result.h"
#include "sim/episode.h"
#include "sim/fault_choice.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"

namespace lockstep {
namespace {

JobSpec AnyJob(Random& random) {
  const auto pick = [&random](std::vector<int32_t> choices) { return choices[random.Below(choices.size())]; };
  JobSpec job;
  Parallelism& cut = job.parallelism;
  cut.tensor = pick({1, 2, 4});
  cut.context = pick({1, 2});
  cut.data = pick({2, 4});
  cut.pipeline = pick({1, 2, 4});
  cut.expert = pick({1, 2});
  job.name = "job of, all \"sorts\"";
  job.gpus_per_host = 4;
  job.workload.microbatches = 4;
  job.schedule.steps = 3;
  job.recording.tensor_operations = 1;
  job.recording.counters = random.Below(2) == 0;
  job.recording.counter_interval_ms = 200;
  job.recording.lost_share = random.Below(2) == 0 ? 0.05 : 0;
  job.recording.silent_ranks = pick({0, 1});
  return job;
}

JobInput ReadBack(const JobEvidence& evidence, const TemporaryDirectory& directory, const std::string& ending) {
  const std::string operations = directory.path() / ("ops.csv" + ending),
                    samples = directory.path() / ("m.csv" + ending);
  EXPECT_OK(WriteOpsCsvFile(evidence.trace, operations));
  const std::unique_ptr<FileWriter> writer = *FileWriter::Create(samples);
  EXPECT_OK(WriteMetricsCsv(evidence.metrics, *writer));
  EXPECT_OK(writer->Close());
  EvidenceBuilder builder;
  EXPECT_OK(ReadOpsCsv(**ByteSource::Open(operations), "none", builder).status);
  EXPECT_OK(ReadMetricsCsv(**ByteSource::Open(samples), "none", builder).status);
  std::vector<JobInput> jobs = builder.Finish();
  EXPECT_EQ(jobs.size(), 1u) << "operations and counters are of one job";
  return jobs.empty() ? JobInput() : std::move(jobs[0]);
}

// The operations of a rank by what names them in any file: communicator, kind, peer and number.
using CallKey = std::tuple<std::string, int, int32_t, uint64_t>;
std::map<CallKey, const TraceOperation*> CallsOf(const Trace& trace, size_t rank_index) {
  std::map<CallKey, const TraceOperation*> calls;
  for (const TraceOperation& op : trace.OperationsOf(rank_index)) {
    const std::string& name = trace.communicators[static_cast<size_t>(op.communicator)].name;
    EXPECT_TRUE(calls.emplace(CallKey(name, static_cast<int>(op.kind), op.peer, op.sequence), &op).second);
  }
  return calls;
}

void ExpectSameTrace(const Trace& read, const Trace& written) {
  EXPECT_EQ(read.job, written.job);
  ASSERT_EQ(read.ranks.size(), written.ranks.size());
  // By communicator and rank number. A file knows a member by the records that it left of this communicator.
  std::map<std::string, std::vector<int32_t>> members;
  for (size_t c = 0; c < written.communicators.size(); ++c) {
    for (const int32_t member : written.communicators[c].members) {
      bool recorded = false;
      if (member >= 0) {
        for (const TraceOperation& op : written.OperationsOf(static_cast<size_t>(member))) {
          recorded |= op.communicator == static_cast<int32_t>(c);
        }
      }
      members[written.communicators[c].name].push_back(recorded ? written.ranks[static_cast<size_t>(member)].rank : -1);
    }
  }
  for (const TraceCommunicator& communicator : read.communicators) {
    std::vector<int32_t> found;
    for (const int32_t member : communicator.members) {
      found.push_back(member < 0 ? -1 : read.ranks[static_cast<size_t>(member)].rank);
    }
    EXPECT_EQ(found, members[communicator.name]) << communicator.name;
  }
  for (size_t rank = 0; rank < written.ranks.size(); ++rank) {
    EXPECT_EQ(read.ranks[rank].rank, written.ranks[rank].rank);
    EXPECT_EQ(read.ranks[rank].gpu, written.ranks[rank].gpu);
    EXPECT_EQ(read.hosts[static_cast<size_t>(read.ranks[rank].host)],
              written.hosts[static_cast<size_t>(written.ranks[rank].host)]);
    const auto calls = CallsOf(read, rank);
    const auto expected = CallsOf(written, rank);
    ASSERT_EQ(calls.size(), expected.size());
    for (const auto& [key, op] : expected) {
      const auto found = calls.find(key);
      ASSERT_NE(found, calls.end());
      EXPECT_EQ(
          std::tie(found->second->enqueue_ns, found->second->start_ns, found->second->end_ns, found->second->bytes),
          std::tie(op->enqueue_ns, op->start_ns, op->end_ns, op->bytes));
    }
  }
}

TEST(EpisodeFilesTest, OperationsOfAnyFaultComeBack) {
  const TemporaryDirectory directory;
  for (const FaultInfo& info : FaultTable()) {
    Random random(static_cast<uint64_t>(info.kind) + 1);
    const JobSpec job = AnyJob(random);
    FaultSpec fault = RandomFault(info.kind, 1, job, random);
    if (info.target == TargetKind::kHostPair && fault.targets.empty()) continue;
    fault.onset_step = 1;
    const Episode episode = Simulate(job, {&fault, 1}, 3);
    const JobInput input = ReadBack(episode.evidence, directory, random.Below(2) == 0 ? ".zst" : "");
    ExpectSameTrace(input.evidence.trace, episode.evidence.trace);
    ASSERT_FALSE(HasFailure()) << info.name;
  }
}

TEST(EpisodeFilesTest, RanksThatAreMissedAreMissedAgain) {
  const TemporaryDirectory directory;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Random random(seed);
    JobSpec job = AnyJob(random);
    job.recording.silent_ranks = 2;
    const Episode episode = Simulate(job, {}, seed);
    const JobInput input = ReadBack(episode.evidence, directory, ".gz");
    EXPECT_EQ(input.evidence.trace.missing_ranks, episode.evidence.trace.missing_ranks) << "the world tells";
  }
}

TEST(EpisodeFilesTest, CountersComeBackToTheLastBit) {
  const TemporaryDirectory directory;
  Random random(4);
  JobSpec job = AnyJob(random);
  job.recording.counters = true;
  const MetricTable written = Simulate(job, {}, 4).evidence.metrics;
  JobEvidence evidence;
  evidence.trace.job = job.name;
  evidence.trace.first_operation = {0};
  evidence.metrics = written;
  const MetricTable read = ReadBack(evidence, directory, ".zst").evidence.metrics;
  ASSERT_EQ(read.series.size(), written.series.size());
  EXPECT_EQ(read.hosts, written.hosts);
  for (size_t s = 0; s < written.series.size(); ++s) {
    const MetricSeries &a = read.series[s], &b = written.series[s];
    ASSERT_EQ(std::tie(a.host, a.device, a.name, a.metric), std::tie(b.host, b.device, b.name, b.metric));
    std::map<int64_t, double> last;  // of samples that came twice the last one counts
    for (size_t i = 0; i < b.time_ms.size(); ++i) last[b.time_ms[i]] = b.value[i];
    ASSERT_EQ(a.time_ms.size(), last.size());
    size_t i = 0;
    for (const auto& [time_ms, value] : last) {
      EXPECT_EQ(a.time_ms[i], time_ms);
      EXPECT_TRUE(a.value[i] == value || (std::isnan(a.value[i]) && std::isnan(value)));
      ++i;
    }
  }
}

}  // namespace
}  // namespace lockstep
