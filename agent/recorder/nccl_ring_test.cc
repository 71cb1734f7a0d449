// The operations of the NCCL recorder in the ring, without NCCL: what becomes of them in which order of events.

#include "agent/recorder/nccl_ring.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "agent/recorder/nccl_begin_lock.h"
#include "agent/recorder/nccl_clock.h"
#include "agent/recorder/nccl_context.h"
#include "agent/recorder/nccl_gpu_clock.h"
#include "agent/recorder/nccl_side.h"
#include "agent/recorder/ring_access.h"
#include "agent/recorder/ring_file.h"
#include "agent/recorder/ring_format.h"
#include "agent/recorder/ring_writer.h"
#include "agent/recorder/testing/ring_directory.h"

namespace lockstep::ring {
namespace {

constexpr int64_t kOffset = 1'000'000'000'000;  // GPU = host + kOffset

class NcclRingTest : public ::testing::Test {
 protected:
  explicit NcclRingTest(uint32_t slots = 64) {
    RingOptions options;
    options.directory = directory_.path().c_str();
    options.kind = RecorderKind::kNcclProfiler;
    options.communicator_capacity = 4;
    options.operation_capacity = slots;
    header_ = CreateRingFile(options);
    EXPECT_NE(header_, nullptr);
    ring_->Use(header_);
    clock_.Start(false);
    context_.gpu_clock = &gpu_clock_;
    context_.counts_all_channels = true;
    Communicators(header_)[0].ready = 1;
  }

  uint64_t Begin(bool has_kernel = true, uint16_t channels = 2, uint64_t group = 0) {
    NcclOperationStart start;
    start.kind = OperationKind::kAllReduce;
    start.communicator = 0;
    start.channels = channels;
    start.has_kernel = has_kernel;
    start.group = group != 0 ? group : ++groups_;
    // A launching thread gives up in the end and counts what it missed; here every operation is to begin.
    for (;;) {
      BeginLock lock(ring_->begin_lock());
      if (lock.held()) return ring_->Begin(context_, 0, start, MonotonicNs());
      std::this_thread::yield();
    }
  }
  void Start(uint64_t ticket, uint32_t channel) { StartAt(ticket, channel, MonotonicNs()); }
  void Stop(uint64_t ticket, uint32_t channel) { StopAt(ticket, channel, MonotonicNs()); }
  void StartAt(uint64_t ticket, uint32_t channel, int64_t host_ns) {
    ring_->StartChannel(&context_, ticket, channel, static_cast<uint64_t>(host_ns + kOffset), clock_);
  }
  void StopAt(uint64_t ticket, uint32_t channel, int64_t host_ns) {
    ring_->StopChannel(&context_, ticket, channel, static_cast<uint64_t>(host_ns + kOffset), clock_);
  }
  void Run(uint64_t ticket, uint32_t channels = 2) {
    for (uint32_t i = 0; i < channels; ++i) Start(ticket, i);
    for (uint32_t i = 0; i < channels; ++i) Stop(ticket, i);
  }

  const OperationSlot& Slot(uint64_t ticket) { return SlotOf(header_, ticket); }
  OperationState State(uint64_t ticket) { return static_cast<OperationState>(Slot(ticket).state); }
  TimingQuality Quality(uint64_t ticket) { return static_cast<TimingQuality>(Slot(ticket).timing_quality); }
  const CommunicatorEntry& World() { return Communicators(header_)[0]; }

  void ExpectExactAccounting() {
    uint64_t in_flight = 0;
    for (uint32_t i = 0; i < header_->operation_capacity; ++i) in_flight += IsInFlight(SlotOf(header_, i)) ? 1 : 0;
    const RingCounters& counters = header_->counters;
    EXPECT_EQ(counters.enqueued, counters.finished + in_flight + counters.lost);
  }

  RingDirectory directory_;
  RingHeader* header_ = nullptr;
  const std::unique_ptr<NcclRing> own_ring_ = std::make_unique<NcclRing>();
  NcclRing* ring_ = own_ring_.get();
  CycleClock clock_;
  GpuClock gpu_clock_;
  NcclContext context_;
  uint64_t groups_ = 0;
};

TEST_F(NcclRingTest, EnqueuedBegunAndFinishedAreThreeThings) {
  const uint64_t ticket = Begin();
  EXPECT_EQ(State(ticket), OperationState::kEnqueued);
  EXPECT_EQ(Quality(ticket), TimingQuality::kHostEnqueue);
  EXPECT_EQ(World().enqueued, 1u);
  Start(ticket, 0);
  EXPECT_EQ(State(ticket), OperationState::kStarted);
  EXPECT_EQ(World().started, 1u);
  Start(ticket, 1);
  Stop(ticket, 1);
  EXPECT_EQ(State(ticket), OperationState::kStarted);
  EXPECT_EQ(Slot(ticket).channels_finished, 1);
  Stop(ticket, 0);
  EXPECT_EQ(State(ticket), OperationState::kFinished);
  EXPECT_EQ(World().finished, 1u);
  ExpectExactAccounting();
}

TEST_F(NcclRingTest, TimesAreTheGpusAndTheirDifferenceIsExact) {
  const uint64_t ticket = Begin();
  const int64_t begin_ns = MonotonicNs();
  StartAt(ticket, 1, begin_ns + 50);
  StartAt(ticket, 0, begin_ns);
  while (MonotonicNs() < begin_ns + 300'000) {
  }
  StopAt(ticket, 0, begin_ns + 200'000);
  StopAt(ticket, 1, begin_ns + 123'456);
  EXPECT_EQ(Quality(ticket), TimingQuality::kGpuTimer);
  EXPECT_EQ(Slot(ticket).finished_at_ns - Slot(ticket).started_at_ns, 200'000);
  EXPECT_NEAR(Slot(ticket).started_at_ns, begin_ns, Slot(ticket).timing_error_ns);
}

// Where the GPU's timer is placed, a begin is told by it and the clock is not read; it must not be believed blindly.
TEST_F(NcclRingTest, ABeginIsPlacedByTheGpuUnlessItCannotBe) {
  for (int i = 0; i < 8; ++i) Run(Begin());
  const uint64_t placed = Begin();
  const int64_t begin_ns = MonotonicNs();
  StartAt(placed, 0, begin_ns);
  EXPECT_EQ(Quality(placed), TimingQuality::kGpuTimer);
  EXPECT_NEAR(Slot(placed).started_at_ns, begin_ns, Slot(placed).timing_error_ns);
  EXPECT_GE(World().changed_at_ns, begin_ns);
  EXPECT_EQ(World().started, 9u);

  const uint64_t absurd = Begin();
  StartAt(absurd, 0, MonotonicNs() + 3'600'000'000'000);
  EXPECT_LE(Slot(absurd).started_at_ns, MonotonicNs());
  EXPECT_LE(World().changed_at_ns, MonotonicNs());
}

// Which is when the GPU's times lie before the callback that tells of the operation: the gap to its neighbour stays.
TEST_F(NcclRingTest, AnOperationThatIsToldOfAfterItsLaunchKeepsItsGaps) {
  for (int i = 0; i < 8; ++i) Run(Begin());
  const int64_t begin_ns = MonotonicNs() - 60'000;
  const uint64_t first = Begin(true, 1);
  StartAt(first, 0, begin_ns);
  StopAt(first, 0, begin_ns + 20'000);
  const uint64_t second = Begin(true, 1);
  StartAt(second, 0, begin_ns + 23'000);
  StopAt(second, 0, begin_ns + 50'000);
  ASSERT_EQ(Quality(first), TimingQuality::kGpuTimer);
  ASSERT_EQ(Quality(second), TimingQuality::kGpuTimer);
  EXPECT_NEAR(Slot(second).started_at_ns - Slot(first).finished_at_ns, 3'000, 100);
  EXPECT_LE(Slot(second).enqueued_at_ns, Slot(second).started_at_ns);
}

TEST_F(NcclRingTest, OneLostGpuTimeMakesItAKernelWindow) {
  const uint64_t ticket = Begin();
  Start(ticket, 0);
  ring_->StartChannel(&context_, ticket, 1, 0, clock_);
  Stop(ticket, 0);
  Stop(ticket, 1);
  EXPECT_EQ(Quality(ticket), TimingQuality::kKernelWindow);
  EXPECT_LE(Slot(ticket).started_at_ns, Slot(ticket).finished_at_ns);
}

TEST_F(NcclRingTest, GpuTimesThatCannotBeTrueAreNotUsed) {
  const uint64_t ticket = Begin(true, 1);
  Start(ticket, 0);
  StopAt(ticket, 0, MonotonicNs() + 3'600'000'000'000);
  EXPECT_EQ(Quality(ticket), TimingQuality::kKernelWindow);
  EXPECT_EQ(header_->nccl.timer_conflicts, 1u);
}

// NCCL's ring of GPU times had turned before the host looked: the end was that of a later kernel.
TEST_F(NcclRingTest, AnEndAfterTheNextBeginIsTakenBack) {
  const uint64_t early = Begin(true, 1);
  const int64_t now_ns = MonotonicNs();
  StartAt(early, 0, now_ns);
  while (MonotonicNs() < now_ns + 200'000) {
  }
  StopAt(early, 0, now_ns + 150'000);
  ASSERT_EQ(Quality(early), TimingQuality::kGpuTimer);
  const uint64_t next = Begin(true, 1);
  StartAt(next, 0, now_ns + 20'000);
  EXPECT_EQ(Quality(early), TimingQuality::kKernelWindow);
  EXPECT_GE(Slot(early).finished_at_ns, now_ns + 200'000);
}

TEST_F(NcclRingTest, WithoutKernelEventsTheHostEndsIt) {
  const uint64_t ticket = Begin(false);
  ring_->EndHost(ticket, MonotonicNs());
  EXPECT_EQ(State(ticket), OperationState::kFinished);
  EXPECT_EQ(Quality(ticket), TimingQuality::kHostEnqueue);
  ring_->EndHost(ticket, MonotonicNs());
  EXPECT_EQ(header_->counters.events_ignored, 1u);
  EXPECT_EQ(header_->counters.finished, 1u);
}

TEST_F(NcclRingTest, ProxiesAreAnEnvelopeWhereNothingBetterComes) {
  const uint64_t ticket = Begin(false);
  ring_->StartProxy(ticket, 1000);
  EXPECT_EQ(State(ticket), OperationState::kStarted);
  ring_->EndHost(ticket, MonotonicNs());
  EXPECT_EQ(State(ticket), OperationState::kStarted);
  ring_->StopProxy(ticket, 2000);
  EXPECT_EQ(State(ticket), OperationState::kFinished);
  EXPECT_EQ(Quality(ticket), TimingQuality::kProxyEnvelope);
  EXPECT_EQ(Slot(ticket).finished_at_ns - Slot(ticket).started_at_ns, 1000);
  // Later ones correct it in place.
  ring_->StartProxy(ticket, 2500);
  ring_->StopProxy(ticket, 3000);
  EXPECT_EQ(Slot(ticket).finished_at_ns, 3000);
  EXPECT_EQ(header_->counters.finished, 1u);
}

TEST_F(NcclRingTest, ACountOf256OrNoneEndsWhenNoChannelRuns) {
  const uint64_t ticket = Begin(true, 0);
  for (uint32_t channel = 0; channel < 256; ++channel) Start(ticket, channel);
  EXPECT_EQ(Slot(ticket).channels_started, 256);
  for (uint32_t channel = 0; channel < 256; ++channel) {
    EXPECT_TRUE(ring_->IsChannelRunning(ticket, channel)) << channel;
    Stop(ticket, channel);
    EXPECT_FALSE(ring_->IsChannelRunning(ticket, channel)) << channel;
  }
  EXPECT_EQ(State(ticket), OperationState::kFinished);
  // What comes late corrects it in place.
  const int64_t end_ns = Slot(ticket).finished_at_ns;
  ring_->StopChannel(&context_, ticket, 255, 0, clock_);
  EXPECT_EQ(Slot(ticket).finished_at_ns, end_ns);
}

TEST_F(NcclRingTest, RepeatedAndForeignEventsAreCountedAndDoNothing) {
  const uint64_t ticket = Begin();
  Run(ticket);
  const OperationSlot before = Slot(ticket);
  Start(ticket, 0);
  Stop(ticket, 0);
  Start(ticket + 64, 0);
  Stop(ticket + 1, 0);
  EXPECT_EQ(header_->counters.events_ignored, 4u);
  EXPECT_EQ(Slot(ticket).finished_at_ns, before.finished_at_ns);
  EXPECT_EQ(header_->counters.finished, 1u);
}

TEST_F(NcclRingTest, AnOperationWhoseKernelEventsNeverComeIsClosedByLaterOnes) {
  const uint64_t silent = Begin();
  std::vector<uint64_t> later;
  for (int i = 0; i < 6; ++i) later.push_back(Begin());
  for (int i = 0; i < 3; ++i) Run(later[static_cast<size_t>(i)]);
  EXPECT_EQ(State(silent), OperationState::kEnqueued);
  for (int i = 3; i < 6; ++i) Run(later[static_cast<size_t>(i)]);
  EXPECT_EQ(State(silent), OperationState::kFinished);
  EXPECT_EQ(Quality(silent), TimingQuality::kHostEnqueue);
  EXPECT_EQ(header_->nccl.kernel_events_missing, 1u);
  ExpectExactAccounting();
}

TEST_F(NcclRingTest, OperationsOfOneGroupDoNotOvertakeEachOther) {
  const uint64_t slow = Begin(true, 2, 77);
  std::vector<uint64_t> others;
  for (int i = 0; i < 10; ++i) others.push_back(Begin(true, 2, 77));
  for (const uint64_t other : others) Run(other);
  EXPECT_EQ(State(slow), OperationState::kEnqueued);
}

// A symmetric kernel may report one channel and announce eight.
TEST_F(NcclRingTest, ACountThatNeverComesTrueIsNotBelievedTwice) {
  const uint64_t first = Begin(true, 8);
  Run(first);
  EXPECT_EQ(State(first), OperationState::kStarted);
  uint64_t last = 0;
  for (int i = 0; i < 6; ++i) Run(last = Begin(true, 2));
  EXPECT_EQ(State(first), OperationState::kFinished);
  const uint64_t second = Begin(true, 8);
  Run(second);
  EXPECT_EQ(State(second), OperationState::kFinished);
}

TEST_F(NcclRingTest, OverwrittenOperationsAreLostAndProgressHeals) {
  const uint64_t stuck = Begin();
  for (int i = 0; i < 64; ++i) ring_->EndHost(Begin(false), MonotonicNs());
  EXPECT_EQ(header_->counters.lost, 1u);
  Run(stuck);
  EXPECT_EQ(header_->counters.events_ignored, 4u);
  EXPECT_EQ(World().enqueued, 65u);
  EXPECT_EQ(World().finished, 65u);
  ExpectExactAccounting();
}

// As the library has it: zeroed memory that nobody has touched.
constinit NcclRing untouched_ring;

class LargeRingTest : public NcclRingTest {
 protected:
  LargeRingTest() : NcclRingTest(NcclRing::kMaxSlots) {
    ring_ = &untouched_ring;
    ring_->Use(header_);
  }

  static int64_t PageFaults() {
    rusage usage = {};
    EXPECT_EQ(getrusage(RUSAGE_THREAD, &usage), 0);
    return usage.ru_minflt + usage.ru_majflt;
  }
};

// A page fault costs a launching thread as much as fifty operations.
TEST_F(LargeRingTest, TheFirstOperationsMeetNoPageFaults) {
#ifdef LOCKSTEP_SANITIZED
  GTEST_SKIP() << "a sanitizer's own memory is touched with ours";
#endif
  constexpr int64_t kPagesOfSides = NcclRing::kMaxSlots * sizeof(OperationSide) / 4096;
  Run(Begin());
  const int64_t before = PageFaults();
  for (uint32_t i = 2; i < NcclRing::kMaxSlots; ++i) Run(Begin());
  EXPECT_LT(PageFaults() - before, kPagesOfSides / 20);
}

// Its slot is the next to be used: an event has to be alone with whatever begins there.
TEST_F(NcclRingTest, TheOldestOfAFullRingStillFinishes) {
  const uint64_t oldest = Begin();
  for (int i = 0; i < 63; ++i) Begin();
  Run(oldest);
  EXPECT_EQ(State(oldest), OperationState::kFinished);
  EXPECT_EQ(header_->counters.events_ignored, 0u);
  Begin();
  EXPECT_EQ(header_->counters.lost, 0u);
  ExpectExactAccounting();
}

TEST_F(NcclRingTest, AnEventLeavesTheBeginLockFree) {
  const uint64_t oldest = Begin();
  for (int i = 0; i < 63; ++i) Begin();
  Run(oldest);
  Start(oldest + 1000, 0);  // of no operation
  BeginLock lock(ring_->begin_lock(), 1);
  EXPECT_TRUE(lock.held());
}

TEST_F(NcclRingTest, WhileTheBeginLockIsTakenTheOldestIsLeftAlone) {
  const uint64_t oldest = Begin();
  for (int i = 0; i < 63; ++i) Begin();
  {
    BeginLock lock(ring_->begin_lock(), 1);
    Run(oldest);
    Run(oldest + 1);
  }
  EXPECT_EQ(State(oldest), OperationState::kEnqueued);
  EXPECT_EQ(State(oldest + 1), OperationState::kFinished);
  EXPECT_EQ(header_->counters.events_ignored, 4u);
}

// Both ends of a full ring at once: what begins takes the slot of which an event of another thread may just come.
TEST_F(NcclRingTest, EventsAndBeginsNeverShareASlot) {
  constexpr uint64_t kOperations = 50'000;
  constexpr uint64_t kSlots = 64;
  constexpr int kThreads = 2;
  std::atomic<uint64_t> begun{0};
  std::vector<std::thread> kernels;
  for (int i = 0; i < kThreads; ++i) {
    kernels.emplace_back([&, i] {
      for (uint64_t ticket = static_cast<uint64_t>(i); ticket < kOperations; ticket += kThreads) {
        while (begun.load(std::memory_order_acquire) <= ticket) std::this_thread::yield();
        // Mostly as old as the ring allows, sometimes older.
        const uint64_t until = std::min(ticket + kSlots - ticket % 3, kOperations);
        while (begun.load(std::memory_order_acquire) < until) std::this_thread::yield();
        Run(ticket, 1);
      }
    });
  }
  for (uint64_t ticket = 0; ticket < kOperations; ++ticket) {
    Begin(true, 1);  // lost and counted, if an event that holds its slot is descheduled
    begun.store(ticket + 1, std::memory_order_release);
    if (ticket % 16 == 0) std::this_thread::yield();
  }
  for (std::thread& kernel : kernels) kernel.join();
  EXPECT_EQ(header_->counters.enqueued, kOperations);
  EXPECT_GT(header_->counters.finished, kSlots / 2);
  ExpectExactAccounting();
}

TEST_F(NcclRingTest, AccountingIsExactWhateverTheThreadsDo) {
  constexpr int kOperations = 20'000;
  std::atomic<uint64_t> begun{0};
  // The launching thread is always somewhat ahead; the ring turns many times.
  std::thread kernel([&] {
    for (uint64_t ticket = 0; ticket < kOperations; ++ticket) {
      while (begun.load(std::memory_order_acquire) <= ticket) std::this_thread::yield();
      Run(ticket, 1 + ticket % 3);
    }
  });
  for (int i = 0; i < kOperations; ++i) {
    Begin(true, static_cast<uint16_t>(1 + i % 3));
    begun.store(static_cast<uint64_t>(i) + 1, std::memory_order_release);
  }
  kernel.join();
  EXPECT_EQ(header_->counters.enqueued, static_cast<uint64_t>(kOperations));
  EXPECT_EQ(World().enqueued, static_cast<uint64_t>(kOperations));
  ExpectExactAccounting();
}

}  // namespace
}  // namespace lockstep::ring
