// Runs a real MPI program (testing/mpi_exercise.cc) under mpirun with the recorder preloaded, and reads the rings back.

#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "agent/recorder/ring_format.h"
#include "agent/recorder/testing/ring_directory.h"

namespace lockstep::ring {
namespace {

constexpr int kRanks = 4;

std::string Artifact(const std::string& name) { return std::filesystem::absolute("agent/recorder/" + name); }

struct Finished {
  int exit_code = -1;
  std::string output;
};

// `options` are mpirun's, `argument` is the program's.
Finished Launch(const std::string& options, const std::string& argument) {
  const std::string command =
      "TMPDIR=/tmp OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 60 mpirun --oversubscribe -n " +
      std::to_string(kRanks) + " " + options + " " + Artifact("mpi_exercise") + " " + argument + " 2>&1";
  Finished run;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return run;
  char text[4096];
  while (fgets(text, sizeof(text), pipe) != nullptr) run.output += text;
  const int status = pclose(pipe);
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return run;
}

Finished LaunchRecorded(const std::string& ring_directory, const std::string& more = "",
                        const std::string& argument = "") {
  return Launch(
      "-x LOCKSTEP_RING_DIR=" + ring_directory + " -x LD_PRELOAD=" + Artifact("liblockstep-mpi.so") + " " + more,
      argument);
}

const Finished& Unrecorded() {
  static const Finished* const run = new Finished(Launch("", ""));
  return *run;
}

// The rings of one recorded run, by rank.
class RecordedJob {
 public:
  explicit RecordedJob(const std::string& argument = "", const std::string& options = "")
      : run_(LaunchRecorded(directory_.path(), options, argument)) {
    for (const std::string& name : directory_.Files()) {
      auto bytes = std::make_unique<std::string>(ReadFile(directory_.path() + "/" + name));
      if (bytes->size() < sizeof(RingHeader)) continue;
      const int32_t rank = RingView(*bytes).header.rank;
      bytes_[rank] = std::move(bytes);
    }
  }

  const Finished& run() const { return run_; }
  size_t rings() const { return bytes_.size(); }
  RingView Ring(int rank) const { return RingView(*bytes_.at(rank)); }

 private:
  RingDirectory directory_;
  Finished run_;
  std::map<int, std::unique_ptr<std::string>> bytes_;
};

class MpiRecorderTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { job_ = new RecordedJob; }
  static void TearDownTestSuite() {
    delete job_;
    job_ = nullptr;
  }
  void SetUp() override { ASSERT_EQ(job_->rings(), static_cast<size_t>(kRanks)) << job_->run().output; }

  // Calls visit(slot, communicator entry) for every operation in the ring.
  template <typename Visit>
  static void ForEachOperation(const RingView& ring, Visit visit) {
    for (uint32_t i = 0; i < ring.header.operation_capacity; ++i) {
      const OperationSlot& slot = ring.slots[i];
      if (slot.state == 0) continue;
      ASSERT_LT(slot.communicator, ring.header.communicator_count);
      visit(slot, ring.communicators[slot.communicator]);
    }
  }

  static RecordedJob* job_;
};

RecordedJob* MpiRecorderTest::job_ = nullptr;

TEST_F(MpiRecorderTest, TheProgramComputesWhatItComputesAlone) {
  EXPECT_EQ(Unrecorded().exit_code, 0) << Unrecorded().output;
  EXPECT_EQ(job_->run().exit_code, 0);
  EXPECT_EQ(job_->run().output, Unrecorded().output);
  EXPECT_FALSE(job_->run().output.empty());
}

TEST_F(MpiRecorderTest, HeadersNameTheJobAndTheRank) {
  for (int rank = 0; rank < kRanks; ++rank) {
    const RingView ring = job_->Ring(rank);
    EXPECT_EQ(ring.header.world_size, kRanks);
    EXPECT_EQ(ring.header.local_rank, rank);
    EXPECT_EQ(ring.header.recorder_kind, static_cast<uint32_t>(RecorderKind::kMpi));
    EXPECT_EQ(ring.header.library_version, 301U);
    EXPECT_EQ(ring.header.state, static_cast<uint32_t>(RecorderState::kFinalized));
    EXPECT_STRNE(ring.header.job, "");
    EXPECT_STREQ(ring.header.job, job_->Ring(0).header.job);
  }
}

TEST_F(MpiRecorderTest, EveryOperationIsRecordedOnceAndFinished) {
  // From reading mpi_exercise.cc.
  const std::map<OperationKind, int> expected = {
      {OperationKind::kAllReduce, 13}, {OperationKind::kReduceScatter, 2}, {OperationKind::kAllGather, 4},
      {OperationKind::kAllToAll, 3},   {OperationKind::kBroadcast, 3},     {OperationKind::kReduce, 1},
      {OperationKind::kGather, 2},     {OperationKind::kScatter, 1},       {OperationKind::kBarrier, 4},
      {OperationKind::kSend, 613},     {OperationKind::kRecv, 612}};
  for (int rank = 0; rank < kRanks; ++rank) {
    const RingView ring = job_->Ring(rank);
    std::map<OperationKind, int> seen;
    ForEachOperation(ring, [&](const OperationSlot& slot, const CommunicatorEntry&) {
      ++seen[static_cast<OperationKind>(slot.kind)];
      EXPECT_EQ(slot.state, static_cast<uint8_t>(OperationState::kFinished));
      EXPECT_LE(slot.enqueued_at_ns, slot.started_at_ns);
      EXPECT_LE(slot.started_at_ns, slot.finished_at_ns);
    });
    EXPECT_EQ(seen, expected) << "rank " << rank;
    EXPECT_TRUE(ring.IsAccountingExact());
    EXPECT_EQ(ring.header.counters.lost, 0U);
    // Four starts of persistent requests, one barrier between groups, and the calls from inside a reduction.
    EXPECT_GT(ring.header.counters.events_ignored, 5U);
  }
}

TEST_F(MpiRecorderTest, MembersAgreeOnCommunicatorsAndOnTheOrderOfCollectives) {
  std::map<uint64_t, std::set<int>> members;                                // of each id
  std::map<uint64_t, std::tuple<int, std::string, uint64_t>> descriptions;  // size, name, collectives
  std::map<std::pair<uint64_t, uint64_t>, std::pair<uint8_t, int>> kinds;   // (id, sequence) -> kind, peer
  for (int rank = 0; rank < kRanks; ++rank) {
    const RingView ring = job_->Ring(rank);
    for (uint32_t i = 0; i < ring.header.communicator_count; ++i) {
      const CommunicatorEntry& entry = ring.communicators[i];
      EXPECT_TRUE(members[entry.id].insert(entry.rank).second) << "one entry per member";
      const auto description = std::tuple(entry.size, std::string(entry.name), entry.enqueued);
      EXPECT_EQ(descriptions.emplace(entry.id, description).first->second, description);
      EXPECT_EQ(entry.enqueued, entry.finished);
      EXPECT_EQ(entry.enqueued, entry.started);
      EXPECT_EQ(entry.ready, std::string(entry.name).starts_with("MPI_COMM_") ? 1U : 2U) << entry.name;
    }
    ForEachOperation(ring, [&](const OperationSlot& slot, const CommunicatorEntry& entry) {
      if (slot.kind >= static_cast<uint8_t>(OperationKind::kSend)) return;
      const auto what = std::pair(slot.kind, slot.peer);
      EXPECT_EQ(kinds.emplace(std::pair(entry.id, slot.sequence), what).first->second, what);
      EXPECT_LE(slot.sequence, entry.enqueued);
    });
  }
  std::multiset<std::string> names;
  for (const auto& [id, description] : descriptions) {
    EXPECT_EQ(members[id].size(), static_cast<size_t>(std::get<0>(description))) << std::get<1>(description);
    names.insert(std::get<1>(description));
  }
  // World; self of each; two halves and their twins; node and grid without a name; reversed; again.
  EXPECT_EQ(names,
            (std::multiset<std::string>{"", "", "MPI_COMM_SELF", "MPI_COMM_SELF", "MPI_COMM_SELF", "MPI_COMM_SELF",
                                        "MPI_COMM_WORLD", "again", "half", "half", "reversed", "twin", "twin"}));
}

TEST_F(MpiRecorderTest, SendsMeetReceives) {
  using Message = std::tuple<int, int, uint64_t, uint64_t>;  // from, to, sequence, bytes
  std::set<Message> sent;
  std::set<Message> received;
  int from_any = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    uint64_t last_any = 0;
    ForEachOperation(job_->Ring(rank), [&](const OperationSlot& slot, const CommunicatorEntry&) {
      if (slot.kind == static_cast<uint8_t>(OperationKind::kSend) && slot.bytes > 0) {
        EXPECT_TRUE(sent.emplace(rank, slot.peer, slot.sequence, slot.bytes).second);
      } else if (slot.kind == static_cast<uint8_t>(OperationKind::kRecv)) {
        EXPECT_GE(slot.peer, 0) << "every status was there to tell the source";
        if (!received.emplace(slot.peer, rank, slot.sequence, slot.bytes).second) ++from_any;
        last_any = slot.sequence;
      }
    });
    EXPECT_GT(last_any, 600U);
  }
  EXPECT_GT(from_any, 0) << "receives from any source count for themselves";
  for (const Message& message : received) EXPECT_TRUE(sent.contains(message));
}

TEST_F(MpiRecorderTest, PayloadsTypesRootsAndFlagsOfTheFirstCollectives) {
  struct Expected {
    OperationKind kind;
    uint64_t bytes;
    int32_t peer;
    uint8_t flags;
  };
  const Expected expected[] = {
      {OperationKind::kAllReduce, 32, -1, 0},
      {OperationKind::kAllReduce, 32, -1, 0},
      {OperationKind::kReduceScatter, 32, -1, 0},
      {OperationKind::kReduceScatter, 32, -1, 0},
      {OperationKind::kAllGather, 8, -1, 0},
      {OperationKind::kAllGather, 8, -1, 0},
      {OperationKind::kAllGather, 8, -1, 0},
      {OperationKind::kAllToAll, 32, -1, 0},
      {OperationKind::kAllToAll, 32, -1, 0},
      {OperationKind::kAllToAll, 32, -1, 0},
      {OperationKind::kBroadcast, 16, 2, kFlagRooted},
      {OperationKind::kReduce, 16, 1, kFlagRooted},
      {OperationKind::kGather, 8, 3, kFlagRooted},
      {OperationKind::kScatter, 8, 0, kFlagRooted},
      {OperationKind::kBarrier, 0, -1, 0},
      {OperationKind::kAllReduce, 16, -1, kFlagNonBlocking},
      {OperationKind::kAllGather, 16, -1, kFlagNonBlocking},
      {OperationKind::kBroadcast, 0, 0, kFlagRooted | kFlagNonBlocking},
      {OperationKind::kBarrier, 0, -1, kFlagNonBlocking},
  };
  for (int rank = 0; rank < kRanks; ++rank) {
    const RingView ring = job_->Ring(rank);
    for (size_t i = 0; i < std::size(expected); ++i) {
      const OperationSlot& slot = ring.slots[i];
      EXPECT_EQ(slot.kind, static_cast<uint8_t>(expected[i].kind)) << i;
      EXPECT_EQ(slot.bytes, expected[i].bytes) << i;
      EXPECT_EQ(slot.peer, expected[i].peer) << i;
      EXPECT_EQ(slot.flags, expected[i].flags) << i;
      EXPECT_EQ(slot.sequence, i + 1);
      const bool is_blocking = (expected[i].flags & kFlagNonBlocking) == 0;
      EXPECT_EQ(slot.timing_quality,
                static_cast<uint8_t>(is_blocking ? TimingQuality::kHostCall : TimingQuality::kHostEnqueue));
      EXPECT_EQ(slot.waited_ns >= 0, !is_blocking) << i;
    }
  }
}

TEST(MpiRecorderOfAKilledJob, RingsShowWhoNeverArrived) {
  const RecordedJob job("die");
  EXPECT_NE(job.run().exit_code, 0);
  ASSERT_EQ(job.rings(), static_cast<size_t>(kRanks)) << job.run().output;
  for (int rank = 0; rank < kRanks; ++rank) {
    const RingView ring = job.Ring(rank);
    const bool has_arrived = rank != 1;
    EXPECT_EQ(ring.header.state, static_cast<uint32_t>(RecorderState::kActive));
    EXPECT_TRUE(ring.IsAccountingExact());
    EXPECT_EQ(ring.InFlight(), has_arrived ? 1U : 0U) << "rank " << rank;
    EXPECT_EQ(ring.communicators[0].enqueued, has_arrived ? 2U : 1U) << "rank " << rank;
    EXPECT_EQ(ring.communicators[0].finished, 1U);
  }
}

TEST(MpiRecorderWithOneGpu, RingsNameTheGpuThatIsTheOnlyOneToBeSeen) {
  const std::string gpu = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6";
  const RecordedJob one("", "-x CUDA_VISIBLE_DEVICES=" + gpu);
  ASSERT_EQ(one.rings(), static_cast<size_t>(kRanks)) << one.run().output;
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_EQ(one.Ring(rank).header.gpu_uuid, gpu);
  const RecordedJob by_index("", "-x CUDA_VISIBLE_DEVICES=0");
  ASSERT_EQ(by_index.rings(), static_cast<size_t>(kRanks)) << by_index.run().output;
  EXPECT_STREQ(by_index.Ring(0).header.gpu_uuid, "");
}

TEST(MpiRecorderWithoutRing, TheProgramDoesNotNotice) {
  RingDirectory directory;
  const std::string unusable[] = {directory.path() + "/missing/parent", "/proc/self"};
  for (const std::string& path : unusable) {
    const Finished run = LaunchRecorded(path);
    EXPECT_EQ(run.exit_code, 0) << path;
    EXPECT_EQ(run.output, Unrecorded().output) << path;
  }
}

TEST(MpiRecorderWithoutRing, SwitchedOffLeavesRingsThatSaySo) {
  RingDirectory directory;
  const Finished run = LaunchRecorded(directory.path(), "-x LOCKSTEP_RECORDER=off");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.output, Unrecorded().output);
  ASSERT_EQ(directory.Files().size(), static_cast<size_t>(kRanks));
  for (const std::string& name : directory.Files()) {
    const std::string bytes = ReadFile(directory.path() + "/" + name);
    const RingView ring(bytes);
    EXPECT_EQ(ring.header.state, static_cast<uint32_t>(RecorderState::kDisabled));
    EXPECT_EQ(ring.header.disabled_reason, static_cast<uint32_t>(DisabledReason::kByEnvironment));
    EXPECT_EQ(ring.header.counters.enqueued, 0U);
  }
}

// True when no line of what `command` prints matches `wanted` and not `allowed` (both grep -E).
bool PrintsNothingBut(const std::string& command, const std::string& wanted, const std::string& allowed) {
  return system(("! " + command + " | grep -E '" + wanted + "' | grep -vE '" + allowed + "'").c_str()) == 0;
}

TEST(MpiRecorderLibrary, NeedsNothingButLibcAndMpiAndShowsNothingButMpi) {
  const std::string library = Artifact("liblockstep-mpi.so");
  EXPECT_TRUE(PrintsNothingBut("readelf -d " + library, "NEEDED", "libmpi\\.so|libc\\.so|ld-linux"));
  // Capital letters are global symbols; the linker adds three of its own.
  EXPECT_TRUE(PrintsNothingBut("nm -D --defined-only " + library, " [A-Z] ", " MPI_| __bss_start| _edata| _end"));
}

}  // namespace
}  // namespace lockstep::ring
