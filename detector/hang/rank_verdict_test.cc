#include "detector/hang/rank_verdict.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "detector/hang/frontier.h"
#include "detector/hang/hang.h"
#include "detector/hang/member_table.h"
#include "detector/model/input.h"
#include "detector/model/job_evidence.h"
#include "detector/model/trace.h"
#include "detector/verdict/confidence.h"
#include "detector/verdict/verdict.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int64_t kFellOffTheBus = 79;

// Two ranks on each of two hosts; rank 1 has process 101, and so on.
Trace FourRanks() {
  Trace trace;
  trace.hosts = {"h0", "h1"};
  for (int32_t rank = 0; rank < 4; ++rank) {
    trace.ranks.push_back({.rank = rank, .host = rank / 2, .gpu = rank % 2, .pid = 100 + rank});
  }
  trace.first_operation.assign(5, 0);
  trace.communicators.push_back({.name = "world", .members = {0, 1, 2, 3}});
  return trace;
}

HostEvent Xid(const char* host, int64_t code, int32_t pid = 0) {
  return {.host = host, .event = {.kind = KernelEventKind::kXid, .code = code, .pid = pid}};
}

Hang Of(std::vector<int32_t> ranks, HangKind kind) {
  return {.kind = kind, .ranks = std::move(ranks), .communicator = 0, .victims = 3};
}

Verdict Told(const Trace& trace, const Hang& hang, const std::vector<HostEvent>& events = {}) {
  const Frontier frontier(trace, MemberTable(trace), {});
  return OfRanks(frontier, events, hang, hang.ranks, ClassOf(hang));
}

TEST(RankVerdictTest, BrokenGpusAreThoseOfTheHostAndOfTheProcessWhereOneIsNamed) {
  const Trace trace = FourRanks();
  const std::vector<HostEvent> events = {Xid("h0", kFellOffTheBus), Xid("h0", kFellOffTheBus, 101),
                                         Xid("h1", kFellOffTheBus), Xid("h0", 13)};
  const auto of = [&](int32_t rank) { return BrokenGpuEvents(trace, events, rank); };
  EXPECT_EQ(of(0), (std::vector<const HostEvent*>{&events[0]}));
  EXPECT_EQ(of(1), (std::vector<const HostEvent*>{&events[0], &events[1]}));
  EXPECT_EQ(of(2), (std::vector<const HostEvent*>{&events[2]}));
}

TEST(RankVerdictTest, FewEventsAreQuoted) {
  const std::vector<HostEvent> events(8, Xid("h0", kFellOffTheBus));
  EXPECT_EQ(BrokenGpuEvents(FourRanks(), events, 0).size(), 3u);
}

TEST(RankVerdictTest, TheClassIsThatOfWhatTheyDidNotDo) {
  EXPECT_EQ(ClassOf(Of({1}, HangKind::kNotEntered)), VerdictClass::kHangNotEntered);
  EXPECT_EQ(ClassOf(Of({1}, HangKind::kNotFinished)), VerdictClass::kHangInCommunication);
  EXPECT_EQ(ClassOf(Of({1}, HangKind::kStopped)), VerdictClass::kProcessDead);
  Hang stopped = Of({1}, HangKind::kNotEntered);
  stopped.stopped_calling = true;
  EXPECT_EQ(ClassOf(stopped), VerdictClass::kProcessDead);
}

TEST(RankVerdictTest, AllRanksAreNamedAndTheirMachinesReplaced) {
  const Verdict verdict = Told(FourRanks(), Of({1, 3}, HangKind::kNotEntered));
  EXPECT_EQ(verdict.verdict_class, VerdictClass::kHangNotEntered);
  EXPECT_EQ(verdict.advice, Advice::kCordonAndReplace);
  ASSERT_EQ(verdict.culprits.size(), 2u);
  EXPECT_EQ(verdict.culprits[0].rank, 1);
  EXPECT_EQ(verdict.culprits[1].host, "h1");
  EXPECT_DOUBLE_EQ(verdict.culprits[0].confidence, kPlainConfidence);
  EXPECT_EQ(verdict.evidence.size(), 2u) << "what they do, and how many wait";
}

TEST(RankVerdictTest, WhatMayBeTheLastPacketIsLessSure) {
  EXPECT_DOUBLE_EQ(Told(FourRanks(), Of({1}, HangKind::kNotFinished)).culprits[0].confidence, kLikelyConfidence);
  const Verdict stopped = Told(FourRanks(), Of({1}, HangKind::kStopped));
  EXPECT_DOUBLE_EQ(stopped.culprits[0].confidence, kLikelyConfidence);
  EXPECT_EQ(stopped.advice, Advice::kCheckSoftware);
}

// All four are inside, and the one that holds them up waits for nobody.
TEST(RankVerdictTest, NoMoreWaitAtTheOperationThanWaitAtAll) {
  Hang hang = Of({1}, HangKind::kHalted);
  hang.waiting = 4;
  const Verdict verdict = Told(FourRanks(), hang);
  ASSERT_EQ(verdict.evidence.size(), 2u);
  EXPECT_THAT(verdict.evidence[1].text(), testing::HasSubstr("3 of 4 ranks wait for it, 3 of them there"));
}

TEST(RankVerdictTest, ProcessesThatAreAllGoneAreSoftwareAndTheirStateIsSaid) {
  Trace trace = FourRanks();
  trace.ranks[1].process_state = ProcessState::kZombie;
  EXPECT_EQ(Told(trace, Of({1, 3}, HangKind::kNotEntered)).advice, Advice::kCordonAndReplace) << "one is alive";
  const Verdict verdict = Told(trace, Of({1}, HangKind::kNotEntered));
  EXPECT_EQ(verdict.advice, Advice::kCheckSoftware);
  EXPECT_EQ(verdict.evidence.size(), 3u);
}

TEST(RankVerdictTest, LinesOfTheKernelAreEvidence) {
  const Verdict verdict = Told(FourRanks(), Of({1}, HangKind::kNotEntered), {Xid("h0", kFellOffTheBus)});
  ASSERT_EQ(verdict.evidence.size(), 3u);
  EXPECT_EQ(verdict.evidence[1].kind, EvidenceKind::kLog);
}

}  // namespace
}  // namespace lockstep
