// The NCCL recorder against a driver that plays NCCL: for every version of the interface and many seeds, the ring says
// what the driver did, as well as that version lets it be known.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/recorder/ring_format.h"
#include "tests/nccl/abi_values.h"
#include "tests/nccl/driver_process.h"
#include "tests/nccl/recorded_job.h"
#include "tests/nccl/truth.h"

namespace lockstep::nccl {
namespace {

using ring::OperationSlot;
using ring::OperationState;
using ring::TimingQuality;

// The recorder's clock against the driver's, beyond what the recorder itself says of it: where either thread is
// descheduled between reading a clock and using what it read, nobody knows by how much.
constexpr int64_t kClockSlackNs = 200'000;

// How few operations there may be for each one that is lost. A sanitizer slows the launching threads by ten while other
// processes take their CPU: then they meet a slot in use more often.
#ifdef LOCKSTEP_SANITIZED
constexpr size_t kLeastOperationsPerLost = 4;
#else
constexpr size_t kLeastOperationsPerLost = 20;
#endif

bool IsRooted(const std::string& function) { return function == "Broadcast" || function == "Reduce"; }

TimingQuality QualityOf(const OperationSlot& slot) { return static_cast<TimingQuality>(slot.timing_quality); }

// Compares one ring with the truth of its process, and counts by timing quality.
class Comparison {
 public:
  // `mask_is_steady`: nobody writes NCCL's mask between the moment at which NCCL looks and that at which we do.
  Comparison(const RecordedJob& job, const Truth& truth, bool mask_is_steady = true)
      : job_(job), truth_(truth), mask_is_steady_(mask_is_steady) {
    clock_error_ns_ = kClockSlackNs + job.header().nccl.clock_error_ns;
  }

  void CompareAll() {
    const auto delivered = DeliveredOperations(truth_);
    uint64_t missing = 0;
    for (const auto& [key, expected] : delivered) {
      const auto found = job_.operations().find(key);
      const std::vector<const OperationSlot*> slots =
          found == job_.operations().end() ? std::vector<const OperationSlot*>{} : found->second;
      ASSERT_LE(slots.size(), expected.size());
      missing += expected.size() - slots.size();
      // Which send or receive is missing cannot be told.
      if (key.peer >= 0 && slots.size() < expected.size()) continue;
      for (size_t i = 0; i < slots.size(); ++i) {
        const size_t index = key.peer < 0 ? slots[i]->sequence - 1 : i;
        ASSERT_LT(index, expected.size());
        SCOPED_TRACE(expected[index]->function + " number " + std::to_string(index) + " of communicator " +
                     std::to_string(key.rank.first) + " rank " + std::to_string(key.rank.second));
        CompareFacts(*expected[index], *slots[i], index + 1);
        CompareTimes(*expected[index], *slots[i]);
        if (testing::Test::HasFailure()) return;
      }
    }
    EXPECT_LE(job_.operations().size(), delivered.size());
    // Where launching threads get no CPU some operations may be lost, but none unnoticed.
    EXPECT_EQ(missing, job_.header().counters.lost);
    EXPECT_LE(missing, truth_.operations.size() / kLeastOperationsPerLost);
  }

  void CompareAccounting() {
    const ring::RingCounters& counters = job_.header().counters;
    const auto delivered = static_cast<uint64_t>(std::count_if(truth_.operations.begin(), truth_.operations.end(),
                                                               [](const TrueOperation& o) { return o.was_delivered; }));
    EXPECT_EQ(counters.enqueued, delivered);
    EXPECT_TRUE(job_.view().IsAccountingExact());
    for (const auto& [key, expected] : DeliveredOperations(truth_)) {
      const auto communicator = job_.communicators().find(key.rank);
      ASSERT_NE(communicator, job_.communicators().end());
      if (key.peer < 0) {
        EXPECT_EQ(communicator->second->enqueued, expected.size());
      }
    }
  }

  int with_quality(TimingQuality quality) const {
    const auto found = by_quality_.find(quality);
    return found == by_quality_.end() ? 0 : found->second;
  }
  int timed_by_gpu() const { return timed_by_gpu_; }  // operations whose GPU times all arrived

 private:
  void CompareFacts(const TrueOperation& expected, const OperationSlot& slot, uint64_t sequence) {
    EXPECT_EQ(slot.kind, static_cast<uint8_t>(KindOf(expected.function)));
    if (expected.peer < 0 || job_.header().counters.lost == 0) {
      EXPECT_EQ(slot.sequence, sequence);
    }
    // What a rank brings: of a ReduceScatter a count for each rank, where the number of ranks is known.
    const bool counts_per_rank = expected.function == "ReduceScatter" && truth_.version >= 4;
    EXPECT_EQ(slot.bytes, counts_per_rank ? expected.bytes * expected.ranks : expected.bytes);
    EXPECT_EQ(slot.datatype_bytes, expected.datatype_bytes);
    const bool is_p2p = expected.peer >= 0;
    // Copies have no channels; sends and receives have them from version 4 on.
    const bool tells_channels = !expected.is_copy_engine && (!is_p2p || truth_.version >= 4);
    const int32_t channels = tells_channels ? expected.channels % 256 : 0;
    EXPECT_EQ(slot.channels, channels);
    if (is_p2p) {
      EXPECT_EQ(slot.peer, expected.peer);
    } else if (IsRooted(expected.function)) {
      EXPECT_EQ(slot.peer, expected.root);
      EXPECT_NE(slot.flags & ring::kFlagRooted, 0);
    }
    CompareAlgorithm(expected, slot);
    if (expected.has_kernel_events && mask_is_steady_) {
      EXPECT_EQ(slot.channels_started, expected.channels_begun);
      EXPECT_EQ(slot.channels_finished, expected.channels_ended);
    }
  }

  void CompareAlgorithm(const TrueOperation& expected, const OperationSlot& slot) {
    if (expected.peer >= 0) return;
    const auto algorithm = expected.is_copy_engine ? ring::Algorithm::kCopyEngine
                           : expected.is_symmetric ? ring::Algorithm::kSymmetric
                                                   : ring::Algorithm::kRing;
    EXPECT_EQ(slot.algorithm, static_cast<uint8_t>(algorithm));
    if (algorithm == ring::Algorithm::kRing) {
      EXPECT_EQ(slot.protocol, static_cast<uint8_t>(ring::Protocol::kSimple));
    }
  }

  void CompareTimes(const TrueOperation& expected, const OperationSlot& slot) {
    ++by_quality_[QualityOf(slot)];
    EXPECT_GE(slot.enqueued_at_ns, expected.launch_begin_ns - clock_error_ns_);
    EXPECT_LE(slot.enqueued_at_ns, expected.launched_ns + clock_error_ns_);
    if (expected.has_kernel_events && mask_is_steady_) CompareState(expected, slot);
    if (static_cast<OperationState>(slot.state) != OperationState::kFinished) return;
    EXPECT_LE(slot.enqueued_at_ns, slot.finished_at_ns);
    EXPECT_LE(slot.started_at_ns, slot.finished_at_ns);
    if (QualityOf(slot) == TimingQuality::kGpuTimer) {
      const int64_t error_ns = slot.timing_error_ns + clock_error_ns_;
      EXPECT_NEAR(slot.started_at_ns, expected.began_ns, error_ns);
      EXPECT_NEAR(slot.finished_at_ns, expected.ended_ns, error_ns);
      EXPECT_EQ(slot.finished_at_ns - slot.started_at_ns, expected.ended_ns - expected.began_ns);
    } else if (QualityOf(slot) == TimingQuality::kKernelWindow) {
      EXPECT_GE(slot.started_at_ns, expected.began_ns - clock_error_ns_);
      EXPECT_LE(slot.started_at_ns, expected.began_seen_ns + clock_error_ns_);
      EXPECT_GE(slot.finished_at_ns, expected.ended_ns - clock_error_ns_);
    }
    if (expected.has_kernel_events && expected.has_gpu_times) ++timed_by_gpu_;
  }

  void CompareState(const TrueOperation& expected, const OperationSlot& slot) {
    const auto state = static_cast<OperationState>(slot.state);
    if (expected.channels_begun == 0) {
      EXPECT_EQ(state, OperationState::kEnqueued);
    } else if (expected.channels_ended < expected.channels_begun) {
      EXPECT_EQ(state, OperationState::kStarted);
    } else {
      EXPECT_EQ(state, OperationState::kFinished);
    }
  }

  const RecordedJob& job_;
  const Truth& truth_;
  const bool mask_is_steady_;
  int64_t clock_error_ns_ = 0;
  std::map<TimingQuality, int> by_quality_;
  int timed_by_gpu_ = 0;
};

class RecorderContentTest : public testing::TestWithParam<int> {
 protected:
  // Plays a job to its end. The truth's version is 0 if that failed.
  void Play(const std::vector<std::string>& arguments) {
    // Playing without pause, and slowed by a sanitizer, would make the governor write the mask.
    driver_.Set("LOCKSTEP_RECORDER_BUDGET", "100");
    driver_.Start(RecorderPath(), GetParam(), arguments);
    ASSERT_EQ(driver_.Wait(), 0);
    truth_ = driver_.ReadTruth();
    ASSERT_EQ(truth_.version, GetParam());
    EXPECT_EQ(truth_.violations, 0u);
    EXPECT_GT(truth_.accepted_ranks, 0);
    ASSERT_EQ(driver_.Rings().size(), 1u);
    job_ = std::make_unique<RecordedJob>(driver_.Rings().front());
    ASSERT_TRUE(job_->is_valid());
  }

  DriverProcess driver_;
  Truth truth_;
  std::unique_ptr<RecordedJob> job_;
};

TEST_P(RecorderContentTest, HeaderAndCommunicatorsAreThoseOfTheJob) {
  // Before version 4 an operation that is recorded names its communicator. Of one burst all can be lost, while the
  // thread that holds the ring has no CPU.
  Play({"operations=5", "phases=5", "pause_ms=30", "awkward=0"});
  if (HasFailure()) return;
  const ring::RingHeader& header = job_->header();
  EXPECT_EQ(header.recorder_kind, static_cast<uint32_t>(ring::RecorderKind::kNcclProfiler));
  EXPECT_EQ(header.abi_version, static_cast<uint32_t>(GetParam()));
  EXPECT_EQ(header.state, static_cast<uint32_t>(ring::RecorderState::kFinalized));
  EXPECT_EQ(header.library_version, truth_.release);
  const auto world = job_->communicators().find({0xA000, 3});
  ASSERT_NE(world, job_->communicators().end());
  EXPECT_STREQ(world->second->name, "world");
  EXPECT_EQ(job_->communicators().size(), 4u);
  if (GetParam() < 4) return;  // nobody tells sizes
  EXPECT_EQ(world->second->size, 8);
  EXPECT_EQ(world->second->node_count, 2);
  const auto unnamed = job_->communicators().find({0xA001, 0});
  ASSERT_NE(unnamed, job_->communicators().end());
  EXPECT_STREQ(unnamed->second->name, "");
}

TEST_P(RecorderContentTest, RingSaysWhatAnOrderlyJobDid) {
  Play({"awkward=0", "seed=11"});
  if (HasFailure()) return;
  Comparison comparison(*job_, truth_);
  comparison.CompareAll();
  comparison.CompareAccounting();
  EXPECT_EQ(job_->view().InFlight(), 0u);
  // Nearly all times are as good as this version can tell: an event that found its slot busy costs quality, on a
  // machine where threads are stopped in mid-event.
  const int all = static_cast<int>(job_->header().counters.enqueued);
  const int lost = static_cast<int>(job_->header().counters.lost);
  if (GetParam() >= 4) {
    EXPECT_GE(comparison.with_quality(TimingQuality::kGpuTimer), comparison.timed_by_gpu() * 9 / 10);
  } else if (GetParam() == 3) {
    EXPECT_GE(comparison.with_quality(TimingQuality::kKernelWindow), (all - lost) * 9 / 10);
  } else {
    EXPECT_GE(comparison.with_quality(TimingQuality::kProxyEnvelope), all * 9 / 10);
  }
}

TEST_P(RecorderContentTest, RingSaysWhatHappenedInWhateverOrderItWasTold) {
  for (int seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    driver_.Forget();
    Play({"seed=" + std::to_string(seed)});
    if (HasFailure()) return;
    Comparison comparison(*job_, truth_);
    comparison.CompareAll();
    comparison.CompareAccounting();
    EXPECT_EQ(job_->view().InFlight(), 0u);
    if (GetParam() >= 4) {
      EXPECT_GE(comparison.with_quality(TimingQuality::kGpuTimer), comparison.timed_by_gpu() / 2);
    }
  }
}

TEST_P(RecorderContentTest, PluginThatIsUnloadedAndLoadedAgainGoesOn) {
  Play({"lives=3", "operations=60", "seed=5"});
  if (HasFailure()) return;
  Comparison comparison(*job_, truth_);
  comparison.CompareAll();
  comparison.CompareAccounting();
  EXPECT_EQ(job_->communicators().size(), 12u);
  EXPECT_EQ(job_->header().state, static_cast<uint32_t>(ring::RecorderState::kFinalized));
}

// Everything, nothing, only children, only calls.
TEST_P(RecorderContentTest, MaskThatSomebodyElseWritesIsSurvived) {
  for (const char* mask : {"foreign=0xffff", "foreign=32", "foreign=64", "foreign=256"}) {
    SCOPED_TRACE(mask);
    driver_.Forget();
    Play({mask, "seed=9"});
    if (HasFailure()) return;
    Comparison comparison(*job_, truth_, /*mask_is_steady=*/false);
    comparison.CompareAll();
    EXPECT_TRUE(job_->view().IsAccountingExact());
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, RecorderContentTest, testing::Range(kOldestVersion, kNewestVersion + 1),
                         [](const testing::TestParamInfo<int>& version) {
                           return "V" + std::to_string(version.param);
                         });

using FullRingTest = RecorderContentTest;

TEST_P(FullRingTest, MoreOperationsThanTheRingHoldsStayAccountedFor) {
  Play({"operations=8400", "awkward=0", "seed=2"});
  if (HasFailure()) return;
  const ring::RingCounters& counters = job_->header().counters;
  EXPECT_GT(counters.enqueued, job_->header().operation_capacity);
  EXPECT_TRUE(job_->view().IsAccountingExact());
  EXPECT_EQ(counters.enqueued, counters.finished + counters.lost);
}

INSTANTIATE_TEST_SUITE_P(SomeVersions, FullRingTest, testing::Values(2, 5),
                         [](const testing::TestParamInfo<int>& version) {
                           return "V" + std::to_string(version.param);
                         });

}  // namespace
}  // namespace lockstep::nccl
