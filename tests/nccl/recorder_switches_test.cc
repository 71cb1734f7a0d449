// What can be asked of the NCCL recorder, and what it does by itself: detail for a while, less of it when it costs too
// much, a second plugin, releases and layouts that it refuses; and what can be seen of a process that hangs or was
// killed.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "agent/recorder/ring_format.h"
#include "agent/sources/rings/ring_reader.h"
#include "agent/sources/rings/ring_snapshot.h"
#include "agent/unique_fd.h"
#include "base/clock.h"
#include "base/stop_signal.h"
#include "tests/nccl/abi_values.h"
#include "tests/nccl/driver_process.h"
#include "tests/nccl/played_proxy.h"
#include "tests/nccl/rank_script.h"
#include "tests/nccl/recorded_job.h"
#include "tests/nccl/truth.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LOCKSTEP_SANITIZED 1
#endif
#endif

namespace lockstep::nccl {
namespace {

using ring::DisabledReason;
using ring::OperationSlot;
using ring::OperationState;
using ring::RecorderState;

// The job's only ring. Not valid if there is none.
RecordedJob OnlyRing(const DriverProcess& driver) {
  const std::vector<std::string> rings = driver.Rings();
  return RecordedJob(rings.size() == 1 ? rings.front() : "");
}

// `name value` lines of the counting plugin.
std::map<std::string, uint64_t> ReadCounts(const std::string& path) {
  std::map<std::string, uint64_t> counts;
  std::ifstream in(path);
  std::string name;
  uint64_t value = 0;
  while (in >> name >> value) counts[name] = value;
  return counts;
}

class HangTest : public testing::TestWithParam<int> {
 protected:
  // A driver that hangs, and all of whose operations were recorded. A crowded machine may cost one, which is counted
  // only when the next one begins: then the job is played again.
  bool StartAndRecordAll(DriverProcess& driver) {
    constexpr int kMaxPlays = 10;
    for (int play = 0; play < kMaxPlays; ++play) {
      driver.Kill();
      driver.Forget();
      driver.Start(RecorderPath(), GetParam(), {"ending=hang", "operations=40", "seed=4"});
      if (!driver.WaitForTruth()) return false;
      const std::vector<TrueOperation> launched = driver.ReadTruth().operations;
      const auto delivered = std::count_if(launched.begin(), launched.end(),
                                           [](const TrueOperation& operation) { return operation.was_delivered; });
      const RecordedJob job = OnlyRing(driver);
      if (!job.is_valid()) return false;
      const ring::RingCounters& counters = job.header().counters;
      if (counters.lost == 0 && counters.enqueued == static_cast<uint64_t>(delivered)) return true;
    }
    return false;
  }
};

// As the agent sees it: through its reader, while the process lives and after it was killed.
TEST_P(HangTest, UnfinishedOperationsAreToldApartFromOutsideAliveOrKilled) {
  DriverProcess driver;
  ASSERT_TRUE(StartAndRecordAll(driver));
  ASSERT_EQ(driver.Rings().size(), 1u);
  const std::string path = driver.Rings().front();
  for (const bool is_killed : {false, true}) {
    SCOPED_TRACE(is_killed ? "killed" : "alive");
    if (is_killed) driver.Kill();
    RingRefusal refusal;
    const auto reader = RingReader::Open(UniqueFd(open(path.c_str(), O_RDONLY)), 0, &refusal);
    ASSERT_NE(reader, nullptr) << refusal.detail;
    RingSnapshot snapshot;
    ASSERT_TRUE(reader->Poll(&snapshot).ok());
    EXPECT_EQ(snapshot.state, static_cast<uint32_t>(RecorderState::kActive));
    EXPECT_EQ(snapshot.overwritten, 0u);
    EXPECT_EQ(snapshot.malformed, 0u);
    EXPECT_EQ(snapshot.counters.enqueued,
              snapshot.counters.finished + snapshot.counters.lost + snapshot.in_flight.size());
    // By rank: the first of the three that stay behind runs, the others never begin.
    std::map<uint32_t, std::vector<OperationSlot>> left;
    for (const OperationSlot& slot : snapshot.in_flight) left[slot.communicator].push_back(slot);
    ASSERT_EQ(left.size(), 4u);
    for (const auto& [communicator, slots] : left) {
      ASSERT_EQ(slots.size(), static_cast<size_t>(RankScript::kLeftBehind));
      EXPECT_EQ(slots[0].state, static_cast<uint8_t>(OperationState::kStarted));
      EXPECT_EQ(slots[0].channels_started, 1);
      EXPECT_EQ(slots[0].channels_finished, 0);
      for (size_t i = 1; i < slots.size(); ++i) {
        EXPECT_EQ(slots[i].state, static_cast<uint8_t>(OperationState::kEnqueued));
        EXPECT_EQ(slots[i].kind, static_cast<uint8_t>(ring::OperationKind::kAllReduce));
        EXPECT_EQ(slots[i].bytes, 4 * 4096u);
      }
    }
    for (const RingCommunicator& communicator : snapshot.communicators) {
      EXPECT_EQ(communicator.entry.enqueued, communicator.entry.started + RankScript::kLeftBehind - 1);
      EXPECT_EQ(communicator.entry.started, communicator.entry.finished + 1);
    }
  }
}

// Before version 3 nothing tells of kernels.
INSTANTIATE_TEST_SUITE_P(Versions, HangTest, testing::Range(3, kNewestVersion + 1),
                         [](const testing::TestParamInfo<int>& version) {
                           return "V" + std::to_string(version.param);
                         });

class SwitchesTest : public testing::Test {
 protected:
  // Plays to the end; false = it failed.
  bool Play(int version, std::vector<std::string> arguments) {
    driver_.Start(RecorderPath(), version, arguments);
    EXPECT_EQ(driver_.Wait(), 0);
    truth_ = driver_.ReadTruth();
    EXPECT_EQ(truth_.violations, 0u);
    return truth_.version == version;
  }

  DisabledReason ReasonOf(const RecordedJob& job) {
    EXPECT_EQ(job.header().state, static_cast<uint32_t>(RecorderState::kDisabled));
    return static_cast<DisabledReason>(job.header().disabled_reason);
  }

  DriverProcess driver_;
  Truth truth_;
};

TEST_F(SwitchesTest, SwitchedOffItLeavesADisabledRingAndAsksForNothing) {
  driver_.Set("LOCKSTEP_RECORDER", "off");
  ASSERT_TRUE(Play(5, {"operations=20"}));
  const RecordedJob job = OnlyRing(driver_);
  ASSERT_TRUE(job.is_valid());
  EXPECT_EQ(ReasonOf(job), DisabledReason::kByEnvironment);
  EXPECT_EQ(truth_.mask, 0u);
  EXPECT_EQ(job.header().counters.enqueued, 0u);
}

TEST_F(SwitchesTest, ReleaseThatCrashesWithAnyProfilerIsLeftAlone) {
  ASSERT_TRUE(Play(6, {"operations=20", "nccl=23003"}));
  const RecordedJob job = OnlyRing(driver_);
  ASSERT_TRUE(job.is_valid());
  EXPECT_EQ(ReasonOf(job), DisabledReason::kDefectiveRelease);
  EXPECT_EQ(truth_.mask, 0u);
}

TEST_F(SwitchesTest, ReleaseWithBrokenKernelEventsIsNotAskedForThem) {
  ASSERT_TRUE(Play(4, {"operations=20", "nccl=22707"}));
  EXPECT_EQ(truth_.mask & kKernelCh, 0u);
  EXPECT_EQ(truth_.mask & (kColl | kP2p), kColl | kP2p);
  const RecordedJob job = OnlyRing(driver_);
  ASSERT_TRUE(job.is_valid());
  EXPECT_TRUE(job.view().IsAccountingExact());
}

// A fork that says it is 2.28 and exports the newest symbol: its layout may be anything.
TEST_F(SwitchesTest, VersionThatDoesNotGoWithTheInterfaceIsRefusedUnlessForced) {
  ASSERT_TRUE(Play(7, {"operations=20", "nccl=22809"}));
  {
    const RecordedJob job = OnlyRing(driver_);
    ASSERT_TRUE(job.is_valid());
    EXPECT_EQ(ReasonOf(job), DisabledReason::kUnknownAbi);
    EXPECT_EQ(job.header().counters.enqueued, 0u);
  }
  driver_.Forget();
  driver_.Set("LOCKSTEP_FORCE_ABI", "7");
  ASSERT_TRUE(Play(7, {"operations=20", "nccl=22809"}));
  const RecordedJob job = OnlyRing(driver_);
  ASSERT_TRUE(job.is_valid());
  EXPECT_EQ(job.header().state, static_cast<uint32_t>(RecorderState::kFinalized));
  EXPECT_GT(job.header().counters.enqueued, 0u);
}

TEST_F(SwitchesTest, DirectoryThatCannotBeMadeMeansAnUnrecordedJob) {
  std::ofstream(driver_.Path("file")) << "no directory";
  driver_.Set("LOCKSTEP_RING_DIR", driver_.Path("file") + "/rings");
  driver_.Start(RecorderPath(), 5, {"operations=20"});
  EXPECT_EQ(driver_.Wait(), 0);
  EXPECT_EQ(driver_.ReadTruth().mask, 0u);
}

// The agent's request, as it writes it into the header.
void Ask(const std::string& ring_path, uint64_t mask, int64_t expires_at_ns) {
  std::fstream file(ring_path, std::ios::in | std::ios::out | std::ios::binary);
  const uint64_t words[] = {mask, static_cast<uint64_t>(expires_at_ns)};
  file.seekp(offsetof(ring::RingHeader, control));
  file.write(reinterpret_cast<const char*>(words), sizeof(words));
}

// Sums of both sides by communicator index, peer and direction.
using WaitKey = std::tuple<uint64_t, int32_t, int32_t, bool>;

constexpr int64_t kStepSlackNs = 1'000;  // the recorder's clock against the driver's

// How many pairs of ranks have exactly the steps that were played; their waits are compared, those of others only kept
// below what was played: steps that begin while a request ends may count or not.
size_t CompareWaits(const RecordedJob& job, const Truth& truth) {
  std::map<WaitKey, PlayedWaits> expected;
  for (const TrueWaits& waits : truth.waits) {
    PlayedWaits& sum = expected[{waits.communicator, waits.rank, waits.peer, waits.is_send}];
    sum.steps += waits.waits.steps;
    for (int i = 0; i < 3; ++i) {
      sum.least_ns[i] += waits.waits.least_ns[i];
      sum.most_ns[i] += waits.waits.most_ns[i];
    }
  }
  size_t complete = 0;
  for (const ring::TransferWaits* row : job.transfers()) {
    const ring::CommunicatorEntry& entry = job.view().communicators[row->communicator];
    const PlayedWaits& sum = expected[{entry.id, entry.rank, row->peer, row->is_send != 0}];
    EXPECT_LE(row->steps, sum.steps);
    const bool is_complete = row->steps == sum.steps;
    complete += is_complete ? 1 : 0;
    const int64_t slack_ns = static_cast<int64_t>(sum.steps) * kStepSlackNs;
    for (int i = 0; i < 3; ++i) {
      EXPECT_LE(static_cast<int64_t>(row->waits_ns[i]), sum.most_ns[i] + slack_ns) << "wait " << i;
      if (is_complete) {
        EXPECT_GE(static_cast<int64_t>(row->waits_ns[i]), sum.least_ns[i] - slack_ns) << "wait " << i;
      }
    }
  }
  return complete;
}

class DetailTest : public testing::TestWithParam<int> {};

// Who waited for what is known while somebody asks, and not for longer.
TEST_P(DetailTest, WaitsAreSummedUpWhileAskedForAndEndByThemselves) {
  constexpr uint32_t kAsked = kColl | kP2p | kProxyOp | kProxyStep;
  DriverProcess driver;
  driver.Start(RecorderPath(), GetParam(),
               {"hold=1", "phases=3", "pause_ms=1500", "operations=60", "awkward=0", "seed=8"});
  StopSignal never;
  // An init after the request would take its mask for the usual one.
  while (access(driver.Path("truth.held").c_str(), F_OK) != 0) never.WaitFor(kNanosPerMilli);
  ASSERT_EQ(driver.Rings().size(), 1u);
  const std::string path = driver.Rings().front();
  Ask(path, kAsked, RealClock().MonotonicNanos() + 2 * kNanosPerSecond);
  std::ofstream(driver.Path("truth.go")) << "go";
  ASSERT_EQ(driver.Wait(), 0);
  const Truth truth = driver.ReadTruth();
  EXPECT_EQ(truth.violations, 0u);
  ASSERT_EQ(truth.masks.size(), 3u);
  EXPECT_EQ(truth.masks[2], truth.mask);  // as before the request
  const RecordedJob job(path);
  EXPECT_TRUE(job.view().IsAccountingExact());
  EXPECT_EQ(job.header().nccl.transfers_dropped, 0u);
  EXPECT_EQ(job.header().active_mask & kProxyStep, 0u);
  EXPECT_FALSE(job.transfers().empty());
  EXPECT_GE(CompareWaits(job, truth), job.transfers().size() / 2);
}

INSTANTIATE_TEST_SUITE_P(Versions, DetailTest, testing::Values(1, 3, 5, 7),
                         [](const testing::TestParamInfo<int>& version) {
                           return "V" + std::to_string(version.param);
                         });

TEST_F(SwitchesTest, RecorderThatCostsTooMuchAsksForLess) {
  driver_.Set("LOCKSTEP_RECORDER_BUDGET", "0.0001");  // percent of a core
  ASSERT_TRUE(Play(5, {"phases=4", "pause_ms=1100", "operations=50", "awkward=0"}));
  EXPECT_NE(truth_.mask & kKernelCh, 0u);
  ASSERT_EQ(truth_.masks.size(), 4u);
  EXPECT_EQ(truth_.masks.back() & kKernelCh, 0u);
  EXPECT_EQ(truth_.masks.back() & (kColl | kP2p), kColl | kP2p);
  const RecordedJob job = OnlyRing(driver_);
  ASSERT_TRUE(job.is_valid());
  EXPECT_EQ(job.header().nccl.governor_level, 2u);
  EXPECT_EQ(job.header().nccl.governor_changes, 2u);
  // Operations say themselves which of them lack times: those since it was narrowed.
  size_t without_times = 0;
  for (const auto& [key, slots] : job.operations()) {
    for (const ring::OperationSlot* slot : slots) {
      const bool has_times = static_cast<ring::TimingQuality>(slot->timing_quality) == ring::TimingQuality::kGpuTimer;
      EXPECT_TRUE(has_times || slot->timing_quality == static_cast<uint8_t>(ring::TimingQuality::kHostEnqueue));
      without_times += has_times ? 0 : 1;
    }
  }
  EXPECT_GE(without_times, truth_.operations.size() / 8);
  EXPECT_LT(without_times, truth_.operations.size());
  // It still sees every operation.
  EXPECT_TRUE(job.view().IsAccountingExact());
  EXPECT_EQ(job.header().counters.enqueued, truth_.operations.size());
}

int64_t Percentile99(std::vector<int64_t> values) {
  if (values.empty()) return INT64_MAX;
  std::sort(values.begin(), values.end());
  return values[values.size() * 99 / 100];
}

// How far begins, and gaps between neighbours of one GPU, are from the truth. Every thread of the driver has a GPU of
// its own, on which one operation follows the other.
struct TimeErrors {
  std::vector<int64_t> begins;
  std::vector<int64_t> gaps;
};
TimeErrors ErrorsOf(const RecordedJob& job, const Truth& truth) {
  TimeErrors errors;
  for (const auto& [key, expected] : DeliveredOperations(truth)) {
    const auto found = job.operations().find(key);
    if (found == job.operations().end() || key.peer >= 0) continue;
    int64_t end_ns = 0;
    int64_t true_end_ns = 0;
    for (const ring::OperationSlot* slot : found->second) {
      if (static_cast<ring::TimingQuality>(slot->timing_quality) != ring::TimingQuality::kGpuTimer) continue;
      const TrueOperation& operation = *expected[slot->sequence - 1];
      errors.begins.push_back(std::abs(slot->started_at_ns - operation.began_ns));
      const int64_t gap_ns = slot->started_at_ns - end_ns;
      if (end_ns != 0) errors.gaps.push_back(std::abs(gap_ns - (operation.began_ns - true_end_ns)));
      end_ns = slot->finished_at_ns;
      true_end_ns = operation.ended_ns;
    }
  }
  return errors;
}

// What a burst tells of the GPU's clock holds on a machine that others want, too.
TEST_F(SwitchesTest, BeginsAndGapsAreThoseOfTheGpuOnABusyMachine) {
  driver_.Set("LOCKSTEP_RECORDER_BUDGET", "100");  // of a core: the burst and a sanitizer stay below it
  ASSERT_TRUE(Play(5, {"first=3000", "phases=60", "pause_ms=100", "operations=10", "awkward=0", "busy=4", "seed=3"}));
  const RecordedJob job = OnlyRing(driver_);
  ASSERT_TRUE(job.is_valid());
  EXPECT_EQ(job.header().nccl.governor_changes, 0u);
  EXPECT_TRUE(job.view().IsAccountingExact());
  const TimeErrors errors = ErrorsOf(job, truth_);
  EXPECT_GT(errors.gaps.size(), 5'000u);
  const int64_t clock_error_ns = job.header().nccl.clock_error_ns;
  EXPECT_LE(Percentile99(errors.begins), 50'000 + clock_error_ns);
  EXPECT_LE(Percentile99(errors.gaps), 5'000 + clock_error_ns);
}

class BusyMachineTest : public SwitchesTest, public testing::WithParamInterface<int> {};

// Some 400 operations per second, on CPUs that others want, too, and with the budget that users have. Estimates of what
// a call costs rise and fall meanwhile; calls are preempted. Nothing of that is the recorder's cost.
TEST_P(BusyMachineTest, AnOrdinaryJobKeepsItsTimes) {
#ifdef LOCKSTEP_SANITIZED
  driver_.Set("LOCKSTEP_RECORDER_BUDGET", "100");  // of a core: calls take many times as long
#endif
  ASSERT_TRUE(Play(GetParam(), {"phases=30", "pause_ms=100", "operations=10", "awkward=0", "busy=4", "seed=3"}));
  const RecordedJob job = OnlyRing(driver_);
  ASSERT_TRUE(job.is_valid());
  EXPECT_EQ(job.header().nccl.governor_changes, 0u);
  EXPECT_NE(truth_.masks.back() & kKernelCh, 0u);
  EXPECT_TRUE(job.view().IsAccountingExact());
  // Who is stopped in mid-event may cost another event its time, but not most of them.
  size_t timed = 0, all = 0;
  for (const auto& [key, expected] : DeliveredOperations(truth_)) {
    const auto found = job.operations().find(key);
    if (found == job.operations().end() || key.peer >= 0) continue;
    for (const ring::OperationSlot* slot : found->second) {
      if (expected[slot->sequence - 1]->is_copy_engine) continue;
      ++all;
      timed += static_cast<ring::TimingQuality>(slot->timing_quality) == ring::TimingQuality::kGpuTimer ? 1 : 0;
    }
  }
  EXPECT_GT(2 * timed, all);
}

INSTANTIATE_TEST_SUITE_P(Versions, BusyMachineTest, testing::Values(4, 5, 7),
                         [](const testing::TestParamInfo<int>& version) {
                           return "V" + std::to_string(version.param);
                         });

class ChainTest : public testing::TestWithParam<int> {};

// Both get what they asked for: the other plugin has handles and parents of its own only, the ring is as without it.
TEST_P(ChainTest, SecondPluginLivesAsIfItWereAlone) {
  for (const char* mask : {"0x7f", "0x2", "0xffff"}) {
    SCOPED_TRACE(mask);
    DriverProcess driver;
    driver.Set("LOCKSTEP_CHAIN_PROFILER", CountingPluginPath());
    driver.Set("COUNTING_PLUGIN_MASK", mask);
    driver.Set("COUNTING_PLUGIN_REPORT", driver.Path("counts"));
    driver.Start(RecorderPath(), GetParam(), {"seed=6", "operations=40"});
    ASSERT_EQ(driver.Wait(), 0);
    const Truth truth = driver.ReadTruth();
    EXPECT_EQ(truth.violations, 0u);
    auto counts = ReadCounts(driver.Path("counts"));
    ASSERT_FALSE(counts.empty());
    EXPECT_EQ(counts["version"], static_cast<uint64_t>(GetParam()));
    EXPECT_EQ(counts["foreign_handles"], 0u);
    EXPECT_EQ(counts["foreign_parents"], 0u);
    uint64_t collectives = 0;
    uint64_t transfers = 0;
    uint64_t elements = 0;
    for (const TrueOperation& operation : truth.operations) {
      if (operation.is_copy_engine || !operation.was_delivered) continue;
      const bool is_p2p = operation.peer >= 0;
      (is_p2p ? transfers : collectives) += 1;
      if (!is_p2p) elements += operation.bytes / operation.datatype_bytes;
    }
    EXPECT_EQ(counts["started_2"], collectives);
    EXPECT_EQ(counts["counts"], elements);
    if (std::string(mask) == "0x2") {
      EXPECT_EQ(counts["started_4"], 0u);   // not asked for
      EXPECT_EQ(counts["started_64"], 0u);  // the recorder's own wish
    } else {
      EXPECT_EQ(counts["started_4"], transfers);
    }
    const RecordedJob job = OnlyRing(driver);
    ASSERT_TRUE(job.is_valid());
    EXPECT_EQ(job.header().nccl.chain_state, 1u);
    EXPECT_TRUE(job.view().IsAccountingExact());
    EXPECT_GE(job.header().counters.enqueued, collectives + transfers);
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, ChainTest, testing::Range(kOldestVersion, kNewestVersion + 1),
                         [](const testing::TestParamInfo<int>& version) {
                           return "V" + std::to_string(version.param);
                         });

TEST(ChainFailureTest, SecondPluginThatCannotBeLoadedCostsNothing) {
  DriverProcess driver;
  driver.Set("LOCKSTEP_CHAIN_PROFILER", "/nonexistent/libother.so");
  driver.Start(RecorderPath(), 5, {"operations=20"});
  ASSERT_EQ(driver.Wait(), 0);
  const RecordedJob job = OnlyRing(driver);
  ASSERT_TRUE(job.is_valid());
  EXPECT_EQ(job.header().nccl.chain_state, 2u);
  EXPECT_GT(job.header().counters.enqueued, 0u);
}

}  // namespace
}  // namespace lockstep::nccl
