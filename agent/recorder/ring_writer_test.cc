#include "agent/recorder/ring_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agent/recorder/testing/ring_directory.h"
#include "base/random.h"

namespace lockstep::ring {
namespace {

constexpr CommunicatorDescription kWorld = {.id = 77, .size = 4, .rank = 1, .name = "world"};

RingOptions SmallRing(const std::string& directory) {
  return {.directory = directory.c_str(),
          .kind = RecorderKind::kMpi,
          .communicator_capacity = 2,
          .operation_capacity = 8,
          .rank = 1,
          .world_size = 4,
          .job = "job"};
}

class RingWriterTest : public ::testing::Test {
 protected:
  void Open() {
    ASSERT_TRUE(writer_.Open(SmallRing(directory_.path())));
    world_ = writer_.FindOrAddCommunicator(kWorld, 1);
  }
  OperationHandle BeginAllReduce(int64_t now_ns) {
    return writer_.Begin({.kind = OperationKind::kAllReduce, .communicator = world_}, now_ns);
  }
  std::string Bytes() const { return directory_.OnlyRing(); }

  RingDirectory directory_;
  RingWriter writer_;
  uint32_t world_ = kNoCommunicator;
};

// Runs `body` in a forked child; its exit code, or minus the signal that killed it.
int InChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST_F(RingWriterTest, OpensOneCompletePrivateFile) {
  Open();
  const std::vector<std::string> files = directory_.Files();
  ASSERT_EQ(files.size(), 1U);  // no temporary file either
  EXPECT_TRUE(files[0].starts_with(std::to_string(getpid()) + "-"));
  EXPECT_TRUE(files[0].ends_with("-0.ring"));
  struct stat status = {};
  ASSERT_EQ(stat((directory_.path() + "/" + files[0]).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);

  const std::string bytes = Bytes();
  const RingHeader& header = RingView(bytes).header;
  EXPECT_EQ(header.magic, kMagic);
  EXPECT_EQ(header.total_bytes, bytes.size());
  EXPECT_EQ(header.state, static_cast<uint32_t>(RecorderState::kActive));
  EXPECT_EQ(header.pid, getpid());
  EXPECT_GT(header.process_start_ticks, 0U);
  EXPECT_STREQ(header.job, "job");
  EXPECT_GT(strlen(header.host), 0U);
}

TEST_F(RingWriterTest, MakesTheDirectoryForEverybody) {
  const std::string made = directory_.path() + "/rings";
  ASSERT_TRUE(writer_.Open(SmallRing(made)));
  struct stat status = {};
  ASSERT_EQ(stat(made.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 01777U);
}

TEST_F(RingWriterTest, ASecondRecorderInTheProcessHasAFileOfItsOwn) {
  Open();
  RingWriter second;
  ASSERT_TRUE(second.Open(SmallRing(directory_.path())));
  const std::vector<std::string> files = directory_.Files();
  ASSERT_EQ(files.size(), 2U);
  EXPECT_TRUE(files[1].ends_with("-1.ring"));
}

TEST_F(RingWriterTest, StaysInertWhereNoRingCanBe) {
  const std::string file = directory_.path() + "/file";
  close(open(file.c_str(), O_CREAT | O_WRONLY, 0600));
  const std::string unusable[] = {directory_.path() + "/missing/parent", file, "/proc/self", std::string(5000, 'x')};
  for (const std::string& path : unusable) {
    RingWriter writer;
    EXPECT_FALSE(writer.Open(SmallRing(path))) << path;
    EXPECT_FALSE(writer.active());
    const OperationHandle operation = writer.Begin({.kind = OperationKind::kBarrier}, 1);
    writer.Start(operation, 2);
    writer.Finish(operation, {}, 3);
    writer.CountIgnored();
    writer.Finalize();
    EXPECT_EQ(writer.FindOrAddCommunicator(kWorld, 4), kNoCommunicator);
  }
}

TEST_F(RingWriterTest, RefusesCapacitiesThatAReaderWouldRefuse) {
  for (uint32_t operations : {0U, 3U, kMaxOperations * 2}) {
    RingOptions options = SmallRing(directory_.path());
    options.operation_capacity = operations;
    EXPECT_FALSE(writer_.Open(options)) << operations;
  }
  EXPECT_TRUE(directory_.Files().empty());
}

TEST_F(RingWriterTest, AFileSizeLimitDoesNotKillTheJob) {
  const int result = InChild([&] {
    const rlimit limit = {1024, 1024};
    setrlimit(RLIMIT_FSIZE, &limit);
    return writer_.Open(SmallRing(directory_.path())) ? 1 : 0;
  });
  EXPECT_EQ(result, 0);
  EXPECT_TRUE(directory_.Files().empty());
}

TEST_F(RingWriterTest, AFullFileSystemLeavesNothingBehind) {
  if (mount("none", directory_.path().c_str(), "tmpfs", 0, "size=16k") != 0) GTEST_SKIP() << "may not mount";
  RingOptions options = SmallRing(directory_.path());
  options.operation_capacity = 1024;
  EXPECT_FALSE(writer_.Open(options));
  EXPECT_TRUE(directory_.Files().empty());
  umount(directory_.path().c_str());
}

TEST_F(RingWriterTest, FillsASlotInPlace) {
  Open();
  const OperationHandle operation =
      writer_.Begin({.kind = OperationKind::kAllReduce, .communicator = world_, .bytes = 64, .datatype_bytes = 4}, 100);
  std::string bytes = Bytes();
  EXPECT_EQ(RingView(bytes).slots[0].state, static_cast<uint8_t>(OperationState::kEnqueued));
  EXPECT_EQ(RingView(bytes).communicators[0].enqueued, 1U);
  EXPECT_EQ(RingView(bytes).communicators[0].started, 0U);
  writer_.Start(operation, 200);
  bytes = Bytes();
  EXPECT_EQ(RingView(bytes).slots[0].state, static_cast<uint8_t>(OperationState::kStarted));
  EXPECT_EQ(RingView(bytes).communicators[0].started, 1U);
  writer_.Finish(operation, {}, 300);
  bytes = Bytes();
  const OperationSlot& slot = RingView(bytes).slots[0];
  EXPECT_EQ(slot.state, static_cast<uint8_t>(OperationState::kFinished));
  EXPECT_EQ(slot.version % 2, 0U);
  EXPECT_EQ(slot.enqueued_at_ns, 100);
  EXPECT_EQ(slot.started_at_ns, 200);
  EXPECT_EQ(slot.finished_at_ns, 300);
  EXPECT_EQ(slot.waited_ns, kNotWaited);
  EXPECT_EQ(slot.bytes, 64U);
  EXPECT_EQ(RingView(bytes).communicators[0].finished, 1U);
  EXPECT_EQ(RingView(bytes).communicators[0].changed_at_ns, 300);
}

TEST_F(RingWriterTest, OverwritingAnUnfinishedOperationCountsItLostAndKeepsProgressRight) {
  Open();
  const OperationHandle slow = BeginAllReduce(1);
  for (int i = 0; i < 8; ++i) writer_.Finish(BeginAllReduce(10 + i), {}, 20 + i);
  writer_.Finish(slow, {}, 100);  // finds another ticket in its slot
  const std::string bytes = Bytes();
  const RingView ring(bytes);
  EXPECT_EQ(ring.header.counters.enqueued, 9U);
  EXPECT_EQ(ring.header.counters.finished, 8U);
  EXPECT_EQ(ring.header.counters.lost, 1U);
  EXPECT_EQ(ring.header.counters.events_ignored, 1U);
  EXPECT_TRUE(ring.IsAccountingExact());
  EXPECT_EQ(ring.communicators[0].finished, 9U);
}

TEST_F(RingWriterTest, EventsWithoutAnOperationAreCountedNotObeyed) {
  Open();
  const OperationHandle operation = BeginAllReduce(1);
  writer_.Finish(operation, {}, 2);
  writer_.Start(operation, 3);
  writer_.Start({}, 4);
  writer_.Finish({}, {}, 5);
  const std::string bytes = Bytes();
  EXPECT_EQ(RingView(bytes).slots[0].started_at_ns, 2);
  EXPECT_EQ(RingView(bytes).header.counters.events_ignored, 1U);
  EXPECT_TRUE(RingView(bytes).IsAccountingExact());
}

TEST_F(RingWriterTest, SendAndRecvBringTheirSequenceAndAreNoProgress) {
  Open();
  const OperationHandle operation =
      writer_.Begin({.kind = OperationKind::kRecv, .communicator = world_, .sequence = 9, .peer = kAnyPeer}, 1);
  writer_.Finish(operation, {.peer = 3}, 2);
  const std::string bytes = Bytes();
  EXPECT_EQ(RingView(bytes).slots[0].sequence, 9U);
  EXPECT_EQ(RingView(bytes).slots[0].peer, 3);
  EXPECT_EQ(RingView(bytes).communicators[0].enqueued, 0U);
}

TEST_F(RingWriterTest, CommunicatorsAreFoundNamedFreedAndDropped) {
  Open();
  EXPECT_EQ(writer_.FindOrAddCommunicator(kWorld, 5), world_);
  writer_.NameCommunicator(world_, std::string(100, 'n').c_str());
  writer_.FreeCommunicator(world_);
  const uint32_t again = writer_.FindOrAddCommunicator(kWorld, 6);
  EXPECT_NE(again, world_) << "a freed communicator is another one";
  const uint32_t dropped = writer_.FindOrAddCommunicator({.id = 78}, 7);
  EXPECT_EQ(dropped, kNoCommunicator);
  writer_.Finish(writer_.Begin({.kind = OperationKind::kBarrier, .communicator = dropped}, 8), {}, 9);
  const std::string bytes = Bytes();
  const RingView ring(bytes);
  EXPECT_EQ(ring.header.communicator_count, 2U);
  EXPECT_EQ(ring.header.counters.communicators_dropped, 1U);
  EXPECT_EQ(ring.communicators[0].ready, 2U);
  EXPECT_EQ(std::string(ring.communicators[0].name), std::string(63, 'n'));
  EXPECT_EQ(ring.communicators[1].ready, 1U);
  EXPECT_EQ(ring.header.counters.finished, 1U);
}

TEST_F(RingWriterTest, EndsInOrderOrWithAReason) {
  Open();
  writer_.Finalize();
  writer_.Finish(BeginAllReduce(1), {}, 2);
  std::string bytes = Bytes();
  EXPECT_EQ(RingView(bytes).header.state, static_cast<uint32_t>(RecorderState::kFinalized));
  EXPECT_EQ(RingView(bytes).header.counters.enqueued, 0U);

  RingDirectory other;
  RingWriter disabled;
  ASSERT_TRUE(disabled.Open(SmallRing(other.path())));
  disabled.Disable(DisabledReason::kOverBudget);
  bytes = other.OnlyRing();
  EXPECT_EQ(RingView(bytes).header.state, static_cast<uint32_t>(RecorderState::kDisabled));
  EXPECT_EQ(RingView(bytes).header.disabled_reason, static_cast<uint32_t>(DisabledReason::kOverBudget));
}

TEST_F(RingWriterTest, AForkedChildLeavesTheRingAlone) {
  Open();
  const OperationHandle operation = BeginAllReduce(1);
  const int result = InChild([&] {
    writer_.Finish(operation, {}, 2);
    writer_.Finish(BeginAllReduce(3), {}, 4);
    writer_.Finalize();
    return writer_.active() ? 1 : 0;
  });
  EXPECT_EQ(result, 0);
  writer_.Finish(operation, {}, 5);
  const std::string bytes = Bytes();
  EXPECT_EQ(RingView(bytes).header.state, static_cast<uint32_t>(RecorderState::kActive));
  EXPECT_EQ(RingView(bytes).header.counters.enqueued, 1U);
  EXPECT_EQ(RingView(bytes).slots[0].finished_at_ns, 5);
}

TEST_F(RingWriterTest, AKilledProcessLeavesAReadableRing) {
  const int result = InChild([&] {
    Open();
    writer_.Finish(BeginAllReduce(1), {}, 2);
    writer_.Start(BeginAllReduce(3), 4);
    raise(SIGKILL);
    return 0;
  });
  EXPECT_EQ(result, -SIGKILL);
  const std::string bytes = Bytes();
  ASSERT_FALSE(bytes.empty());
  const RingView ring(bytes);
  EXPECT_EQ(ring.header.state, static_cast<uint32_t>(RecorderState::kActive));
  EXPECT_EQ(ring.InFlight(), 1U);
  EXPECT_TRUE(ring.IsAccountingExact());
  EXPECT_EQ(ring.communicators[0].started, 2U);
  EXPECT_EQ(ring.communicators[0].finished, 1U);
}

// A second mapping of the one ring, as the agent has it.
class SharedRing {
 public:
  explicit SharedRing(const RingDirectory& directory) {
    const int fd = open((directory.path() + "/" + directory.Files().at(0)).c_str(), O_RDWR);
    bytes_ = static_cast<size_t>(lseek(fd, 0, SEEK_END));
    header_ = static_cast<RingHeader*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    close(fd);
  }
  ~SharedRing() { munmap(header_, bytes_); }
  SharedRing(const SharedRing&) = delete;
  SharedRing& operator=(const SharedRing&) = delete;

  RingHeader& header() { return *header_; }

  // False when a writer was inside.
  bool Copy(uint32_t index, OperationSlot* copy) {
    auto* slots = reinterpret_cast<OperationSlot*>(reinterpret_cast<char*>(header_) +
                                                   FileBytes(header_->communicator_capacity, 0));
    std::atomic_ref<uint32_t> version(slots[index].version);
    const uint32_t before = version.load(std::memory_order_acquire);
    memcpy(copy, &slots[index], sizeof(*copy));
    std::atomic_thread_fence(std::memory_order_acquire);
    return before % 2 == 0 && version.load(std::memory_order_acquire) == before;
  }

 private:
  RingHeader* header_;
  size_t bytes_;
};

TEST_F(RingWriterTest, TheAgentMayMaskDetailForATime) {
  Open();
  SharedRing shared(directory_);
  EXPECT_FALSE(writer_.IsMaskedOut(2));
  shared.header().control.event_mask = 1;
  shared.header().control.expires_at_ns = static_cast<uint64_t>(MonotonicNs()) + 3'600'000'000'000;
  EXPECT_TRUE(writer_.IsMaskedOut(2));
  EXPECT_FALSE(writer_.IsMaskedOut(1));
  EXPECT_EQ(shared.header().active_mask, 1U);
  shared.header().control.expires_at_ns = 1;  // long ago: the agent died
  EXPECT_FALSE(writer_.IsMaskedOut(2));
  EXPECT_EQ(shared.header().active_mask, 0U);
}

// What one thread does at random: begins, starts, finishes and forgets operations, finishes some twice or late.
void Exercise(RingWriter* writer, uint32_t communicator, uint64_t seed, int steps) {
  Random random(seed);
  std::vector<OperationHandle> open;
  for (int64_t now = 1; now <= steps; ++now) {
    const uint64_t choice = random.Below(8);
    if (choice < 3 || open.empty()) {
      const bool is_collective = random.Below(2) == 0;
      open.push_back(writer->Begin({.kind = is_collective ? OperationKind::kAllReduce : OperationKind::kSend,
                                    .started = random.Below(2) == 0,
                                    .communicator = communicator,
                                    .bytes = static_cast<uint64_t>(now)},
                                   now));
      continue;
    }
    const size_t index = random.Below(open.size());
    if (choice < 5) writer->Start(open[index], now);
    if (choice >= 5) writer->Finish(open[index], {}, now);
    if (choice >= 6) open.erase(open.begin() + static_cast<ptrdiff_t>(index));
  }
}

TEST_F(RingWriterTest, AccountingIsExactWhenCallsComeOneAtATime) {
  RingOptions options = SmallRing(directory_.path());
  options.calls_come_one_at_a_time = true;
  ASSERT_TRUE(writer_.Open(options));
  world_ = writer_.FindOrAddCommunicator(kWorld, 1);
  Exercise(&writer_, world_, 1, 20'000);
  const std::string bytes = Bytes();
  const RingView ring(bytes);
  EXPECT_TRUE(ring.IsAccountingExact());
  EXPECT_EQ(ring.header.next_ticket, ring.header.counters.enqueued);
  EXPECT_GT(ring.header.counters.lost, 0U);
  for (uint32_t i = 0; i < ring.header.operation_capacity; ++i) EXPECT_EQ(ring.slots[i].version % 2, 0U);
}

TEST_F(RingWriterTest, AccountingIsExactUnderRandomThreadsAndReadersNeverSeeATornSlot) {
  constexpr int kThreads = 4;
  constexpr int kSteps = 20'000;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    RingDirectory directory;
    RingWriter writer;
    ASSERT_TRUE(writer.Open(SmallRing(directory.path())));
    const uint32_t world = writer.FindOrAddCommunicator(kWorld, 1);
    SharedRing shared(directory);
    std::atomic<bool> is_done{false};
    std::thread reader([&] {
      OperationSlot copy;
      for (uint32_t i = 0; !is_done.load(); i = (i + 1) % 8) {
        if (!shared.Copy(i, &copy) || copy.state == 0) continue;
        EXPECT_EQ(copy.bytes, static_cast<uint64_t>(copy.enqueued_at_ns));
        EXPECT_EQ(copy.ticket % 8, i);
        EXPECT_EQ(copy.finished_at_ns != 0, copy.state == static_cast<uint8_t>(OperationState::kFinished));
      }
    });
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] { Exercise(&writer, world, seed * 100 + i, kSteps); });
    }
    for (std::thread& thread : threads) thread.join();
    is_done = true;
    reader.join();
    const std::string bytes = directory.OnlyRing();
    const RingView ring(bytes);
    EXPECT_TRUE(ring.IsAccountingExact()) << "seed " << seed;
    EXPECT_EQ(ring.header.next_ticket, ring.header.counters.enqueued);
    EXPECT_GT(ring.header.counters.lost, 0U);
    EXPECT_GT(ring.header.counters.finished, 0U);
    EXPECT_GT(ring.header.counters.events_ignored, 0U);
    EXPECT_LE(ring.communicators[0].started, ring.communicators[0].enqueued);
  }
}

}  // namespace
}  // namespace lockstep::ring
