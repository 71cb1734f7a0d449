// What incidents keep of what the ledger of their job says of them.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "collector/incident/incident_book_fixture.h"
#include "collector/incident/ledger_share.h"
#include "collector/incident/profile_evidence.h"
#include "collector/incident/verdict_proto.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/ledger_line.h"
#include "detector/verdict/pattern_reasons.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

Verdict SlowRank(const char* host, int32_t rank) {
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kComputeSlow);
  verdict.culprits = {Culprit{.host = host, .rank = rank, .confidence = 0.9}};
  verdict.evidence = {{EvidenceKind::kLateness, InputNote{"the last in most steps"}}};
  verdict.last_seen_ns = kLater;
  return verdict;
}

// A step needs a second, and each of `lines` takes a quarter of one.
SeenLedger LedgerWith(std::vector<Verdict> lines, int64_t seen_ns) {
  SeenLedger seen{.seen_ns = seen_ns};
  seen.ledger = {.reference_seconds = 1, .measured_seconds = 1.125, .unexplained_seconds = 0.125};
  for (const Verdict& verdict : lines) {
    seen.ledger.lines.push_back({FindingName(verdict), 0.25});
    seen.ledger.measured_seconds += 0.25;
  }
  return seen;
}

TEST(LedgerShareTest, FindingsAreCalledAsTheLedgerCallsThem) {
  Verdict link = Verdict::Accusation(VerdictScope::kNetwork, VerdictClass::kLinkSlow);
  EXPECT_EQ(FindingOf(ToProto(link)), FindingName(link)) << "nobody is named";
  link.culprits = {Culprit{.host = "node-1", .peer_host = "node-2"}, Culprit{.host = "node-3"}};
  EXPECT_EQ(FindingOf(ToProto(link)), FindingName(link));
  EXPECT_EQ(FindingOf(ToProto(SlowRank("node-1", 3))), FindingName(SlowRank("node-1", 3)));
}

TEST_F(IncidentBookTest, AnIncidentTakesItsOwnLineOfTheLedger) {
  IncidentBook book = NewBook();
  const Verdict slow = SlowRank("node-1", 3), other = SlowRank("node-2", 9);
  const SeenLedger ledger = LedgerWith({slow, other}, 7);
  const std::vector<IncidentEvent> events = book.Apply("job", Concluded({slow, Hang(5)}), kStart, {}, ledger);
  ASSERT_EQ(events.size(), 2u);
  for (const IncidentEvent& event : events) {
    const bool has_line = event.incident.verdict().class_() == "compute_slow";
    ASSERT_EQ(event.incident.has_ledger_share(), has_line) << "a hang takes no part of a step";
    if (!has_line) continue;
    const wire::LedgerShare& share = event.incident.ledger_share();
    EXPECT_EQ(share.seconds(), 0.25);
    EXPECT_EQ(share.measured_seconds(), 1.625);
    EXPECT_EQ(share.reference_seconds(), 1);
    EXPECT_EQ(share.unexplained_seconds(), 0.125);
    EXPECT_EQ(share.seen_wall_ns(), 7);
  }
}

// Counters say why a GPU is slow, and operations what that costs.
TEST_F(IncidentBookTest, ALineOfTheSameCauseIsItsLine) {
  IncidentBook book = NewBook();
  Verdict throttled = SlowRank("node-1", 3), adapter = SlowRank("node-1", 3);
  throttled.verdict_class = VerdictClass::kClockThrottled;
  adapter.verdict_class = VerdictClass::kCommSlowTx;
  const SeenLedger ledger = LedgerWith({SlowRank("node-1", 3), SlowRank("node-1", 4)}, 7);
  const auto events = book.Apply("job", Concluded({throttled, adapter}), kStart, {}, ledger);
  ASSERT_EQ(events.size(), 2u);
  for (const IncidentEvent& event : events) {
    EXPECT_EQ(event.incident.ledger_share().seconds(),
              event.incident.verdict().class_() == "clock_throttled" ? 0.25 : 0);
  }
}

TEST_F(IncidentBookTest, ALedgerWithoutItsLineTakesNothingFromAnIncident) {
  IncidentBook book = NewBook();
  const Verdict slow = SlowRank("node-1", 3);
  EXPECT_EQ(book.Apply("job", Concluded({slow}), kStart).size(), 1u);
  const auto first = book.Apply("job", Concluded({slow}), kStart + 6 * kSecond, {}, LedgerWith({slow}, 7));
  ASSERT_EQ(KindsOf(first), std::vector<Kind>{Kind::kUpdated}) << "that it has a line is news";
  EXPECT_EQ(first[0].incident.ledger_share().seen_wall_ns(), 7);
  EXPECT_TRUE(book.Apply("job", Concluded({slow}), kStart + 12 * kSecond, {}, LedgerWith({slow}, 8)).empty());
  EXPECT_TRUE(book.Apply("job", Concluded({slow}), kStart + 18 * kSecond, {}, LedgerWith({}, 9)).empty());
  const auto ended = book.EndJob("job", kStart + 20 * kSecond, wire::Incident::RESOLUTION_JOB_ENDED, "it ended");
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].incident.ledger_share().seconds(), 0.25);
  EXPECT_EQ(ended[0].incident.ledger_share().seen_wall_ns(), 8) << "of the newest look that had it";
}

TEST_F(IncidentBookTest, WhatAnEarlierTimeTookIsForgottenWhenItComesBack) {
  IncidentBook book = NewBook();
  const Verdict slow = SlowRank("node-1", 3);
  book.Apply("job", Concluded({slow}), kStart, {}, LedgerWith({slow}, 7));
  book.Apply("job", Concluded({}), kStart + 10 * kSecond);
  const auto resolved = book.Apply("job", Concluded({}), kStart + 20 * kSecond);
  ASSERT_EQ(KindsOf(resolved), std::vector<Kind>{Kind::kResolved});
  EXPECT_TRUE(resolved[0].incident.has_ledger_share());
  const auto reopened = book.Apply("job", Concluded({slow}), kStart + 30 * kSecond);
  ASSERT_EQ(KindsOf(reopened), std::vector<Kind>{Kind::kReopened});
  EXPECT_FALSE(reopened[0].incident.has_ledger_share());
}

TEST_F(IncidentBookTest, WhatRestsOnProfilesTakesItsLineToo) {
  IncidentBook book = NewBook();
  Verdict loader = Verdict::Accusation(VerdictScope::kSoftware, VerdictClass::kStorageStall);
  loader.culprits = {Culprit{.host = "node-0", .rank = 1, .confidence = 0.8}};
  loader.evidence = {
      {EvidenceKind::kCounter, WorkTakesLonger{.work = "data loading", .ranks = {1}, .compared = 4, .share = 0.2}}};
  ASSERT_EQ(book.AddProfile("job", {.findings = {loader}, .ranks = {0, 1, 2, 3}}, kStart).size(), 1u);
  const SeenLedger ledger = LedgerWith({loader}, 7);
  const auto noted = book.Apply("job", Concluded({}), kStart + kSecond, {}, ledger);
  ASSERT_EQ(KindsOf(noted), std::vector<Kind>{Kind::kNoted}) << "nobody is called a second time";
  EXPECT_EQ(noted[0].incident.ledger_share().seconds(), 0.25);
  EXPECT_TRUE(book.Apply("job", Concluded({}), kStart + 2 * kSecond, {}, ledger).empty());
}

}  // namespace
}  // namespace lockstep
