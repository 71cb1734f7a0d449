// The collector is away for an hour of simulated time, and the agent is killed in the middle of it. What the agents saw
// meanwhile is in history afterwards: in order, once, at its own time; counters have made room for it.
//
// Uplink, spool, ingest, shards, store and alerts are those of the daemons; threads, clocks, network and disk are
// simulated (tests/faults), so that the hour takes seconds and nobody sleeps.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/metric_catalog.h"
#include "base/random.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "collector/store/history_store.h"
#include "collector/store/rocks_store.h"
#include "collector/store_writer.h"
#include "collector/warm_start.h"
#include "proto/capture.pb.h"
#include "proto/incident.pb.h"
#include "proto/telemetry.pb.h"
#include "rocksdb/env.h"
#include "sim/capture/agent_reports.h"
#include "sim/capture/episode_playback.h"
#include "sim/capture/playback.h"
#include "sim/episode.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"
#include "tests/faults/fault_world.h"
#include "tests/faults/simulated_agent.h"
#include "tests/faults/simulated_disk.h"
#include "tests/faults/simulated_receiver.h"
#include "tests/faults/thread_world.h"
#include "tests/faults/trouble.h"

namespace lockstep::faults {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kGoneAtNanos = 10 * kNanosPerSecond;
constexpr int32_t kHourTicks = 3'600;
constexpr int64_t kHourNanos = kHourTicks * kReportIntervalNanos;
constexpr int64_t kAgentKilledAtNanos = kGoneAtNanos + kHourNanos / 2;
constexpr int64_t kAgentGoneNanos = 5 * kNanosPerSecond;
constexpr int32_t kTicks = kHourTicks + 120;
constexpr int32_t kGpus = 8;
constexpr int32_t kStuckRank = 3;
constexpr int32_t kStuckStep = 700;  // of 1.8 s: in the first half of the hour
constexpr int32_t kTicksPerEvent = 60;
constexpr int kDevices = 32;
// Half of what an hour of these reports takes.
constexpr size_t kSpoolBytes = 12 << 20;
// Between the moment that an agent means and the one that history has: the way of a report, and its wait at the door.
constexpr int64_t kOffNanos = kReportIntervalNanos / 2;

Episode MakeEpisode() {
  JobSpec job = TypicalJob(kGpus, 1);
  job.workload.microbatches = 2;
  job.workload.forward_seconds = 0.3;
  job.schedule.steps = kStuckStep + 20;
  const FaultSpec fault{.kind = FaultKind::kNotEntered, .targets = {kStuckRank}, .onset_step = kStuckStep};
  return Simulate(job, {fault}, /*seed=*/1);
}

// Beside the job: counters, of which one counts the ticks, and now and then a line of the kernel log.
void AddTick(int32_t tick, wire::AgentReport& report) {
  for (int device = 0; device < kDevices; ++device) {
    wire::MetricBlock& block = *report.add_metrics();
    block.set_device(absl::StrCat("gpu", device));
    block.set_monotonic_ns(report.monotonic_ns());
    for (const Metric metric : {Metric::kGpuMemoryUsedBytes, Metric::kGpuMemoryTotalBytes, Metric::kGpuPcieLinkWidth,
                                Metric::kGpuPcieLinkWidthMax, Metric::kGpuEnergyJoulesTotal}) {
      block.add_metrics(static_cast<uint32_t>(metric));
      block.add_values(metric == Metric::kGpuEnergyJoulesTotal ? tick : 16);
    }
  }
  if (tick % kTicksPerEvent != 0) return;
  wire::KernelEvent& event = *report.add_kernel_events();
  event.set_kind(wire::KernelEvent::KIND_EDAC);
  event.set_text(absl::StrCat(tick));
  event.set_monotonic_ns(report.monotonic_ns() - kReportIntervalNanos / 10);
}

// What history holds of the agent, entry by entry.
struct Told {
  std::vector<uint64_t> incarnations;                   // as they follow each other
  std::map<uint64_t, std::vector<uint64_t>> sequences;  // by incarnation
  std::map<uint64_t, std::vector<int64_t>> made_ns;     // likewise: world
  std::vector<std::pair<std::string, int64_t>> events;  // text; when (world)
  std::map<int64_t, int64_t> stuck_ns;                  // since when rank kStuckRank did nothing, by when told
  std::map<std::string, uint64_t> dropped;              // as reports tell, by reason
  uint64_t blocks = 0;                                  // of counters
};

void Note(const wire::CaptureInput& input, Told& told) {
  const wire::AgentReport& report = input.report();
  if (told.incarnations.empty() || told.incarnations.back() != input.incarnation()) {
    told.incarnations.push_back(input.incarnation());
  }
  const int64_t made_ns = input.received_wall_ns() - static_cast<int64_t>(report.waited_ns()) - kFirstWallNanos;
  told.sequences[input.incarnation()].push_back(report.sequence());
  told.made_ns[input.incarnation()].push_back(made_ns);
  told.blocks += static_cast<uint64_t>(report.metrics_size());
  for (const wire::Dropped& dropped : report.dropped()) told.dropped[dropped.reason()] += dropped.count();
  for (const wire::KernelEvent& event : report.kernel_events()) {
    told.events.emplace_back(event.text(), made_ns + event.monotonic_ns() - report.monotonic_ns());
  }
  for (const wire::ProcessReport& process : report.processes()) {
    if (process.rank() != kStuckRank || process.communicators_size() == 0) continue;
    int64_t idle_ns = std::numeric_limits<int64_t>::max();
    for (const auto& group : process.communicators()) idle_ns = std::min<int64_t>(idle_ns, group.idle_ns());
    told.stuck_ns[made_ns] = made_ns - idle_ns;
  }
}

void CheckOrder(const Told& told) {
  ASSERT_EQ(told.incarnations.size(), 2u) << "first all of the agent that was killed, then all of the one after it";
  const std::vector<uint64_t>& before = told.sequences.at(told.incarnations[0]);
  const std::vector<uint64_t>& after = told.sequences.at(told.incarnations[1]);
  for (const std::vector<uint64_t>* sequences : {&before, &after}) {
    for (size_t i = 0; i < sequences->size(); ++i) ASSERT_EQ((*sequences)[i], i + 1);
  }
  const auto gone = static_cast<size_t>((kAgentGoneNanos + kReportIntervalNanos) / kReportIntervalNanos);
  EXPECT_LE(before.size() + after.size(), static_cast<size_t>(kTicks));
  EXPECT_GE(before.size() + after.size() + gone, static_cast<size_t>(kTicks));
  int64_t last_ns = 0;
  for (const uint64_t incarnation : told.incarnations) {
    for (const int64_t made_ns : told.made_ns.at(incarnation)) {
      const int64_t tick = (made_ns + kReportIntervalNanos / 2) / kReportIntervalNanos;
      ASSERT_NEAR(made_ns, tick * kReportIntervalNanos, kOffNanos);
      ASSERT_GT(made_ns, last_ns + kReportIntervalNanos / 2) << "each second has its own report";
      last_ns = made_ns;
    }
  }
}

void CheckEvents(const Told& told) {
  int32_t number = 0;
  for (const auto& [text, at_ns] : told.events) {
    ++number;
    ASSERT_EQ(text, absl::StrCat(number * kTicksPerEvent));
    ASSERT_NEAR(at_ns, number * kTicksPerEvent * kReportIntervalNanos - kReportIntervalNanos / 10, kOffNanos);
  }
  EXPECT_EQ(number, kTicks / kTicksPerEvent);
}

// Since when a rank stands is the same moment in all that is told of it.
void CheckProgress(const Told& told, int64_t hang_ns) {
  uint64_t reports = 0;
  for (auto told_at = told.stuck_ns.upper_bound(hang_ns + 60 * kNanosPerSecond); told_at != told.stuck_ns.end();
       ++told_at, ++reports) {
    ASSERT_NEAR(told_at->second, hang_ns, 5 * kNanosPerSecond) << told_at->first;
  }
  EXPECT_GT(reports, 2'000u);
}

void CheckCounters(const Told& told, HistoryStore& history) {
  uint64_t reports = 0;
  for (const auto& [incarnation, sequences] : told.sequences) reports += sequences.size();
  ASSERT_EQ(told.dropped.size(), 1u) << "nothing but counters went";
  const uint64_t thinned = told.dropped.at("counters_thinned");
  EXPECT_GT(thinned, reports * kDevices / 8);
  testing::Test::RecordProperty("blocks_kept", absl::StrCat(told.blocks));
  testing::Test::RecordProperty("blocks_thinned", absl::StrCat(thinned));
  EXPECT_EQ(told.blocks + thinned, reports * kDevices) << "each that went is counted";
  const SeriesSelector of_ticks{.metric = Metric::kGpuEnergyJoulesTotal,
                                .host = "",
                                .device = "gpu7",
                                .from_wall_ns = 0,
                                .to_wall_ns = std::numeric_limits<int64_t>::max(),
                                .resume = {}};
  const auto page = history.ReadSeries(of_ticks, {.max_series = 10, .max_points = 10'000});
  ASSERT_OK(page);
  ASSERT_EQ(page->ranges.size(), 1u);
  EXPECT_EQ(page->ranges[0].points.size(), told.blocks / kDevices);
  for (const auto& [wall_ns, tick] : page->ranges[0].points) {
    ASSERT_NEAR(wall_ns - kFirstWallNanos, tick * kReportIntervalNanos, kOffNanos);
  }
}

// The lines of the kernel log that an incident rests on: "... 125 s ago: 3600", of which the last is their tick.
std::vector<int64_t> TicksOfEvidence(const wire::Verdict& verdict) {
  std::vector<int64_t> ticks;
  for (const wire::Evidence& evidence : verdict.evidence()) {
    if (evidence.kind() != "log") continue;
    const std::vector<std::string> words = absl::StrSplit(evidence.text(), ' ');
    int64_t tick = 0;
    int64_t age_seconds = 0;
    EXPECT_GT(words.size(), 4u) << evidence.text();
    if (words.size() <= 4) continue;
    EXPECT_TRUE(absl::SimpleAtoi(words.back(), &tick)) << evidence.text();
    EXPECT_TRUE(absl::SimpleAtoi(words[words.size() - 4], &age_seconds)) << evidence.text();
    const int64_t then_ns = verdict.last_seen_ns() - kFirstWallNanos - age_seconds * kNanosPerSecond;
    EXPECT_NEAR(then_ns, tick * kReportIntervalNanos, kNanosPerSecond) << evidence.text();
    ticks.push_back(tick);
  }
  return ticks;
}

void CheckIncident(HistoryStore& history, int64_t hang_ns) {
  auto incidents = history.LoadIncidents();
  ASSERT_OK(incidents);
  // Sixty errors of a memory in an hour are looked at, and nobody is called for them.
  incidents->erase(std::remove_if(incidents->begin(), incidents->end(),
                                  [](const wire::Incident& incident) { return incident.suspected(); }),
                   incidents->end());
  ASSERT_EQ(incidents->size(), 1u);
  const wire::Incident& incident = incidents->front();
  EXPECT_EQ(incident.verdict().class_(), "hang_not_entered");
  ASSERT_EQ(incident.verdict().culprits_size(), 1);
  EXPECT_EQ(incident.verdict().culprits(0).rank(), kStuckRank);
  EXPECT_EQ(incident.state(), wire::Incident::STATE_OPEN);
  EXPECT_NEAR(incident.verdict().first_seen_ns() - kFirstWallNanos, hang_ns, 5 * kNanosPerSecond);
  EXPECT_GT(incident.opened_wall_ns() - kFirstWallNanos, kGoneAtNanos + kHourNanos);
  EXPECT_THAT(TicksOfEvidence(incident.verdict()), ElementsAre(kTicks - 120, kTicks - 60, kTicks));
  for (const Delivery& delivery : Receiver().deliveries()) {
    EXPECT_EQ(delivery.incident, absl::StrCat(incident.id()));
    EXPECT_EQ(delivery.status, "firing");
  }
  EXPECT_FALSE(Receiver().deliveries().empty());
}

void CheckLeft(const std::string& directory, std::shared_ptr<SimulatedDisk> disk, int64_t hang_ns) {
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(std::move(disk));
  RocksStoreOptions options;
  options.directory = directory;
  options.env = env.get();
  const auto history = OpenRocksStore(options, RealClock());
  ASSERT_OK(history);
  const auto jobs = (*history)->LoggedJobs();
  ASSERT_OK(jobs);
  ASSERT_OK(RecoverSeries(*jobs, **history)) << "as a start does";
  Told told;
  for (const LoggedJob& job : *jobs) {
    ASSERT_OK(
        (*history)->ScanLog(job.name, 0, std::numeric_limits<int64_t>::max(), [&](const wire::CaptureEntry& entry) {
          if (entry.has_input()) Note(entry.input(), told);
          return true;
        }));
  }
  CheckOrder(told);
  CheckEvents(told);
  CheckProgress(told, hang_ns);
  CheckCounters(told, **history);
  CheckIncident(**history, hang_ns);
}

TEST(LongOutageTest, WhatAnHourWithoutACollectorSawArrivesInOrderOnceAndAtItsOwnTime) {
  const TemporaryDirectory directory;
  const Episode episode = MakeEpisode();
  Playback playback = PlaybackOf(episode);
  playback.ticks = kTicks;
  AgentReports reports(std::move(playback));
  ASSERT_EQ(reports.hosts(), 1u);
  bool has_rested = false;
  const auto run = [&] {
    AgentSetup setup;
    setup.spool_bytes = kSpoolBytes;
    setup.adds = AddTick;
    const std::string history = (directory.path() / "history").string();
    FaultWorld world(reports, history, StoreWriterOptions(), Sabotage(), setup, Random(1));
    const Trouble collector{.kind = TroubleKind::kKillCollector, .at_ns = kGoneAtNanos, .length_ns = kHourNanos};
    const Trouble agent{.kind = TroubleKind::kKillAgent, .at_ns = kAgentKilledAtNanos, .length_ns = kAgentGoneNanos};
    world.Run({collector, agent}, kTicks * kReportIntervalNanos);
    has_rested = world.ComesToRest(kHourNanos);
    CheckLeft(history, world.End(), episode.truth.hang_ns);
  };
  RunThreadWorld(/*seed=*/1, run, [](const std::string& threads) {
    ADD_FAILURE() << "all threads wait:\n" << threads;
  });
  EXPECT_TRUE(has_rested);
}

}  // namespace
}  // namespace lockstep::faults

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  const int code = RUN_ALL_TESTS();
  fflush(nullptr);
  // Threads of RocksDB stand still in their world for ever: nobody may wait for them.
  _exit(code);
}
