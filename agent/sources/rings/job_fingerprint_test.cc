#include "agent/sources/rings/job_fingerprint.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/recorder/ring_format.h"
#include "agent/sources/rings/ring_snapshot.h"
#include "base/clock.h"

namespace lockstep {
namespace {

constexpr int64_t kOpenedNs = 100 * kNanosPerSecond;

ring::RingHeader Header(int32_t world_size, ring::RecorderKind kind = ring::RecorderKind::kNcclProfiler) {
  ring::RingHeader header = {};
  header.recorder_kind = static_cast<uint32_t>(kind);
  header.world_size = world_size;
  header.opened_at_ns = kOpenedNs;
  return header;
}

RingCommunicator Communicator(uint64_t id, int32_t size, int64_t created_ns) {
  RingCommunicator communicator;
  communicator.entry.id = id;
  communicator.entry.size = size;
  communicator.entry.created_at_ns = created_ns;
  return communicator;
}

TEST(JobFingerprint, IsTheFirstCommunicatorOfAllRanksAtOnce) {
  const std::vector<RingCommunicator> communicators = {Communicator(7, 2, 1), Communicator(0xabc, 8, 3),
                                                       Communicator(9, 8, 2)};
  EXPECT_EQ(JobFingerprint(Header(8), communicators, kOpenedNs), "nccl-0000000000000009");
  EXPECT_EQ(JobFingerprint(Header(8), {}, kOpenedNs), "");
}

TEST(JobFingerprint, OneOfMoreRanksThanTheJobHasIsSharedWithAnother) {
  const std::vector<RingCommunicator> communicators = {Communicator(7, 9, 1), Communicator(8, 8, 2)};
  EXPECT_EQ(JobFingerprint(Header(8), communicators, kOpenedNs), "nccl-0000000000000008");
}

TEST(JobFingerprint, AGroupOfSomeRanksDoesNotNameAJobBeforeTheOthersCame) {
  const std::vector<RingCommunicator> groups = {Communicator(7, 2, 1), Communicator(8, 4, 2)};
  for (const int32_t world_size : {8, -1}) {
    EXPECT_EQ(JobFingerprint(Header(world_size), groups, kOpenedNs + kSettledNanos - 1), "") << world_size;
    EXPECT_EQ(JobFingerprint(Header(world_size), groups, kOpenedNs + kSettledNanos), "nccl-0000000000000008");
  }
}

TEST(JobFingerprint, WhereNoSizeIsToldTheFirstOneCounts) {
  const std::vector<RingCommunicator> unsized = {Communicator(0, 0, 0), Communicator(8, 0, 2), Communicator(7, 0, 1)};
  EXPECT_EQ(JobFingerprint(Header(-1), unsized, kOpenedNs + kSettledNanos), "nccl-0000000000000007");
}

TEST(JobFingerprint, RanksOfMpiMeetInTheSameNumbersInEachJob) {
  EXPECT_EQ(JobFingerprint(Header(2, ring::RecorderKind::kMpi), {Communicator(7, 2, 1)}, kOpenedNs + kSettledNanos),
            "");
}

}  // namespace
}  // namespace lockstep
