// Kineto traces: the groups of kernels, their numbers, and the other sides of transfers.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "detector/model/input.h"
#include "detector/model/operation_kind.h"
#include "detector/model/trace.h"
#include "formats/testing/kineto_text.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(KinetoGroupTest, AGroupIsItsNameAndItsMembersHoweverTheyAreWritten) {
  const struct {
    const char* name;
    Members arguments;
    const char* communicator;
    std::vector<int32_t> members;
  } cases[] = {
      {"text", kGroup, "0[0,1]", {0, -1}},
      {"list", {{"Process Group Name", "\"0\""}, {"Process Group Ranks", "[0, 1]"}}, "0[0,1]", {0, -1}},
      {"stride",
       {{"Process Group Name", "\"5\""}, {"Global rank start", "0"}, {"Global rank stride", "4"}, {"Group size", "3"}},
       "5[0,4,8]",
       {0, -1, -1}},
      {"numbers as text",
       {{"Process Group Name", "\"5\""},
        {"Global rank start", "\"0\""},
        {"Global rank stride", "\"4\""},
        {"Group size", "\"2\""}},
       "5[0,4]",
       {0, -1}},
      {"a list that is cut short, and a size",
       {{"Process Group Name", "\"9\""}, {"Process Group Ranks", "\"[0, 1, ...]\""}, {"Group size", "4"}},
       "9",
       {0, -1, -1, -1}},
      {"ranks alone", {{"Process Group Ranks", "\"[0, 2]\""}}, "[0,2]", {0, -1}},
      {"a name alone", {{"Process Group Name", "\"7\""}}, "7", {0}},
      {"ranks that are none", {{"Process Group Name", "\"7\""}, {"Process Group Ranks", "[0, \"x\"]"}}, "7", {0}},
  };
  for (const auto& expected : cases) {
    const Parsed parsed = Parse(TraceText({Kernel(1, expected.arguments)}));
    EXPECT_OK(parsed.result.status);
    ASSERT_EQ(parsed.trace().communicators.size(), 1u) << expected.name;
    EXPECT_EQ(parsed.trace().communicators[0].name, expected.communicator) << expected.name;
    EXPECT_EQ(parsed.trace().communicators[0].members, expected.members) << expected.name;
    EXPECT_THAT(parsed.job.notes, IsEmpty()) << expected.name;
  }
}

TEST(KinetoGroupTest, MembersThatEventsCutShortAreTakenFromTheConfiguration) {
  const std::string information =
      R"({"rank": 1, "world_size": 4, "pg_config": [{"pg_name": "9", "pg_desc": "dp", "ranks": [1, 3]},
          {"pg_name": "8", "ranks": "[0, 1]"}, {"pg_name": "7"}]})";
  const Parsed parsed = Parse(TraceText({Kernel(1, {{"Process Group Name", "\"9\""},
                                                    {"Process Group Ranks", "\"[1, ...]\""},
                                                    {"Process Group Description", "\"data\""}}),
                                         Kernel(2, {{"Process Group Name", "\"8\""}})},
                                        {{"distributedInfo", information}}));
  ASSERT_EQ(parsed.trace().communicators.size(), 2u);
  EXPECT_EQ(parsed.trace().communicators[0].name, "8[0,1]");
  EXPECT_EQ(parsed.trace().communicators[1].name, "9[1,3]");
  EXPECT_EQ(parsed.trace().communicators[1].hint, "data");
  EXPECT_THAT(parsed.trace().missing_ranks, ElementsAre(0, 2, 3));
}

TEST(KinetoGroupTest, KernelsWithoutAGroupStayWithTheirRankAndStream) {
  const Parsed parsed =
      Parse(TraceText({Kernel(1, {{"stream", "7"}}), Kernel(2, {{"stream", "8"}}), Kernel(3, {{"stream", "7"}})}));
  ASSERT_EQ(parsed.trace().communicators.size(), 2u);
  EXPECT_EQ(parsed.trace().communicators[0].name, "rank 0 stream 7");
  EXPECT_EQ(parsed.trace().communicators[1].name, "rank 0 stream 8");
  EXPECT_THAT(parsed.job.notes, ElementsAre(HasSubstr("do not say to which process group they belong")));
}

std::vector<uint64_t> SequencesOf(const Trace& trace) {
  std::vector<uint64_t> sequences;
  for (const TraceOperation& operation : trace.operations) sequences.push_back(operation.sequence);
  return sequences;
}

TEST(KinetoNumberTest, NumbersOfTheTraceCountWhereAllKernelsOfTheGroupHaveOne) {
  const auto numbered = [](int64_t micros, const char* sequence) {
    return Kernel(micros, With(kGroup, {{"Seq", sequence}}));
  };
  EXPECT_THAT(SequencesOf(Parse(TraceText({numbered(10, "41"), numbered(20, "43")})).trace()), ElementsAre(41, 43));
  EXPECT_THAT(SequencesOf(Parse(TraceText({numbered(20, "43"), numbered(10, "41")})).trace()), ElementsAre(41, 43));
  EXPECT_THAT(SequencesOf(Parse(TraceText({numbered(10, "41"), numbered(20, "")})).trace()), ElementsAre(0, 1));
  EXPECT_THAT(SequencesOf(Parse(TraceText({numbered(30, ""), numbered(10, ""), numbered(20, "")})).trace()),
              ElementsAre(0, 1, 2));
}

TEST(KinetoNumberTest, TransfersAreCountedByPeerAndDirection) {
  const auto transfer = [](int64_t micros, const char* name, const char* side, int peer) {
    return Kernel(micros, With(kGroup, {{"Process Group Ranks", "\"[0, 1, 2]\""},
                                        {"Collective name", absl::StrCat("\"", name, "\"")},
                                        {side, absl::StrCat(peer)},
                                        {"Seq", "9"}}));
  };
  const Parsed parsed = Parse(TraceText({transfer(1, "send", "Dst Rank", 1), transfer(2, "recv", "Src Rank", 1),
                                         transfer(3, "send", "Dst Rank", 2), transfer(4, "send", "Dst Rank", 1)}));
  EXPECT_THAT(SequencesOf(parsed.trace()), ElementsAre(0, 0, 0, 1));
  std::vector<int32_t> peers;
  for (const TraceOperation& operation : parsed.trace().operations) peers.push_back(operation.peer);
  EXPECT_THAT(peers, ElementsAre(1, 1, 2, 1));
}

TEST(KinetoNumberTest, PeersMayBeRanksOfTheGroupOrOfTheJob) {
  const struct {
    const char* peer;
    int32_t expected;
  } cases[] = {{"1", 1}, {"12", 1}, {"8", 0}, {"5", 5}, {"-1", -1}, {"2000000", -1}};
  for (const auto& [peer, expected] : cases) {
    const Parsed parsed = Parse(TraceText({Kernel(1, {{"Process Group Name", "\"pp\""},
                                                      {"Process Group Ranks", "\"[8, 12]\""},
                                                      {"Collective name", "\"send\""},
                                                      {"Dst Rank", peer}})},
                                          {{"distributedInfo", R"({"rank": 8})"}}));
    EXPECT_EQ(parsed.trace().operations.at(0).peer, expected) << peer;
  }
}

// The first of `peers` may be a rank of the group as well as of the job.
TEST(KinetoNumberTest, TheTransfersOfAFileTellWhatItsPeersAreRanksOf) {
  const struct {
    const char* name;
    const char* ranks;
    const char* rank;
    std::vector<const char*> peers;
    std::vector<int32_t> expected;
  } cases[] = {
      {"of the job", "\"[3, 1]\"", "3", {"1"}, {1}},
      {"of the job, which may be all ranks", "\"[0, 1]\"", "0", {"1"}, {1}},
      {"of the job: another is none of the group's", "\"[0, 2, 1]\"", "0", {"1", "2"}, {2, 1}},
      {"of the group: nobody sends to itself", "\"[1, 3]\"", "1", {"1"}, {1}},
      {"of the group: another is none of the job's", "\"[1, 2, 4]\"", "4", {"1", "0"}, {1, 0}},
  };
  for (const auto& expected : cases) {
    std::vector<std::string> kernels;
    for (const char* peer : expected.peers) {
      kernels.push_back(Kernel(static_cast<int64_t>(kernels.size()) + 1, {{"Process Group Name", "\"pp\""},
                                                                          {"Process Group Ranks", expected.ranks},
                                                                          {"Collective name", "\"send\""},
                                                                          {"Dst Rank", peer}}));
    }
    const Parsed parsed =
        Parse(TraceText(kernels, {{"distributedInfo", absl::StrCat("{\"rank\": ", expected.rank, "}")}}));
    std::vector<int32_t> peers;
    for (const TraceOperation& operation : parsed.trace().operations) peers.push_back(operation.peer);
    EXPECT_EQ(peers, expected.expected) << expected.name;
  }
}

}  // namespace
}  // namespace lockstep
