#include "cli/render/incident_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/testing/sim_clock.h"
#include "cli/render/incident_words_table.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

constexpr int64_t kOnset = SimClock::kStartWallNanos;

void AddTransition(wire::Incident& incident, const char* what, int64_t seconds, const char* why) {
  wire::Incident::Transition* transition = incident.add_transitions();
  transition->set_what(what);
  transition->set_wall_ns(kOnset + seconds * kNanosPerSecond);
  transition->set_why(why);
}

wire::Incident SlowRank() {
  wire::Incident incident;
  incident.set_id(7);
  incident.set_job("demo");
  incident.set_state(wire::Incident::STATE_OPEN);
  incident.set_opened_wall_ns(kOnset + 8200 * kNanosPerMilli);
  wire::Verdict* verdict = incident.mutable_verdict();
  verdict->set_scope("machine");
  verdict->set_class_("compute_slow");
  verdict->set_advice("cordon_and_replace");
  verdict->set_first_step(120);
  verdict->set_first_seen_ns(kOnset);
  wire::Culprit* culprit = verdict->add_culprits();
  culprit->set_host("node-17");
  culprit->set_rank(2);
  culprit->set_gpu(-1);
  culprit->set_pid(4711);
  culprit->set_confidence(0.97);
  verdict->mutable_cost()->set_slowdown_fraction(0.35);
  verdict->mutable_cost()->set_seconds_per_step(0.0523);
  verdict->mutable_cost()->set_steps_affected_fraction(1);
  verdict->add_evidence()->set_text("Rank 2 arrived last in 39 of 40 steps.");
  verdict->add_evidence()->set_text("It spent 201 ms per step outside collectives, its peers 149 ms.");
  AddTransition(incident, "opened", 8, "first seen");
  return incident;
}

TEST(IncidentTextTest, ExplanationReadsFromTopToBottom) {
  EXPECT_EQ(
      Explanation(SlowRank(), kOnset + 200 * kNanosPerSecond),
      "Incident 7, job demo: compute_slow, node-17 rank 2 pid 4711\n"
      "OPEN for 3m11s\n"
      "\n"
      "What happened\n"
      "  1. Since 2026-01-02 03:04:05 UTC (step 120), node-17 rank 2 pid 4711 takes longer than its peers to "
      "compute each step, so that everyone waits for it. The incident was opened 8.2s after that.\n"
      "  2. Rank 2 arrived last in 39 of 40 steps.\n"
      "  3. It spent 201 ms per step outside collectives, its peers 149 ms.\n"
      "\n"
      "Cost\n"
      "  Removing the cause gives back 52.3 ms of every step (35 %); 100 % of the steps since onset are affected.\n"
      "\n"
      "Advice\n"
      "  Take the machine out of scheduling, replace it and restart the job from its last checkpoint; then test "
      "the machine.\n"
      "\n"
      "Timeline (UTC)\n"
      "  2026-01-02 03:04:13  opened  first seen\n");
}

// Also when it is over: the job's ledger may be gone by then.
TEST(IncidentTextTest, WhatItExplainsOfAStepIsSaidWithItsCost) {
  wire::Incident incident = SlowRank();
  wire::LedgerShare& share = *incident.mutable_ledger_share();
  share.set_seconds(0.15);
  share.set_measured_seconds(1.2);
  share.set_reference_seconds(0.95);
  share.set_unexplained_seconds(0.05);
  share.set_seen_wall_ns(kOnset);
  const auto says_it = testing::HasSubstr(
      "100 % of the steps since onset are affected.\n"
      "  In the mean of all steps seen until 2026-01-02 03:04:05 UTC, 1.2 s, 250 ms was lost: 150 ms to this, 50 ms to "
      "other findings, 50 ms unexplained.\n"
      "\n"
      "Advice\n");
  EXPECT_THAT(Explanation(incident, kOnset), says_it);
  incident.set_state(wire::Incident::STATE_RESOLVED);
  EXPECT_THAT(Explanation(incident, kOnset), says_it);
}

TEST(IncidentTextTest, TheGpuIsToldByAllItsNames) {
  wire::Incident incident = SlowRank();
  wire::Culprit& culprit = *incident.mutable_verdict()->mutable_culprits(0);
  culprit.set_gpu(5);
  culprit.set_gpu_uuid("GPU-5f0c");
  culprit.set_gpu_pci_address("0000:3b:00.0");
  EXPECT_THAT(Explanation(incident, kOnset),
              testing::HasSubstr("  4. The GPU of node-17 rank 2 pid 4711 gpu 5 is GPU-5f0c at 0000:3b:00.0.\n"));
  culprit.clear_gpu_uuid();
  EXPECT_THAT(Explanation(incident, kOnset), testing::HasSubstr("gpu 5 is the one at 0000:3b:00.0.\n"));
}

TEST(IncidentTextTest, AHangHasNoCostPerStep) {
  wire::Incident incident = SlowRank();
  incident.mutable_verdict()->set_class_("hang_not_entered");
  incident.set_state(wire::Incident::STATE_RESOLVED);
  incident.set_resolved_wall_ns(incident.opened_wall_ns() + 61 * kNanosPerSecond);
  incident.set_reopened(2);
  wire::Culprit* other = incident.mutable_verdict()->add_culprits();
  other->set_host("node-3");
  other->set_rank(-1);
  other->set_gpu(-1);
  other->set_confidence(0.02);
  const std::string text = Explanation(incident, 0);
  EXPECT_THAT(text, ::testing::HasSubstr("RESOLVED after 1m01s, came back 2 times\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("has not entered the collective operation"));
  EXPECT_THAT(text, ::testing::HasSubstr("The job makes no progress while this lasts"));
  EXPECT_THAT(text, ::testing::HasSubstr("4. Also suspected, by falling confidence: node-3 (2.0 %).\n"));
  EXPECT_EQ(CostText(incident.verdict()), "stopped");
}

TEST(IncidentTextTest, AJobThatAGpuFaultStopsIsStoppedAndOneThatSurvivesItIsNot) {
  wire::Verdict verdict;
  verdict.set_class_("gpu_fault");
  verdict.set_scope("machine");
  EXPECT_EQ(CostText(verdict), "stopped");
  EXPECT_TRUE(JobStandsStill(verdict));
  verdict.mutable_cost()->set_slowdown_fraction(1);
  EXPECT_EQ(CostText(verdict), "stopped") << "everything is not a slowdown";
  verdict.mutable_cost()->set_slowdown_fraction(0.25);
  EXPECT_EQ(CostText(verdict), "25 %");
  verdict.clear_cost();
  verdict.set_scope("unknown");
  EXPECT_EQ(CostText(verdict), "-") << "a fault that is observed and accuses nobody stops nothing";
}

TEST(IncidentTextTest, WhatOthersHideIsSaidBesideWhatIsGivenBack) {
  wire::Incident incident = SlowRank();
  incident.mutable_verdict()->mutable_cost()->set_hidden_fraction(0.12);
  EXPECT_THAT(Explanation(incident, kOnset), ::testing::HasSubstr("12 % more is its part of what other findings hide"));
}

TEST(IncidentTextTest, WhatEndedWithItsJobIsNotCalledResolved) {
  wire::Incident incident = SlowRank();
  incident.set_state(wire::Incident::STATE_RESOLVED);
  incident.set_resolved_wall_ns(incident.opened_wall_ns() + 61 * kNanosPerSecond);
  EXPECT_EQ(StateText(incident), "resolved") << "of an older collector";
  incident.set_resolution(wire::Incident::RESOLUTION_CAUSE_GONE);
  EXPECT_EQ(StateText(incident), "resolved");
  incident.set_resolution(wire::Incident::RESOLUTION_JOB_DIED);
  EXPECT_EQ(StateText(incident), "job died");
  EXPECT_THAT(Explanation(incident, 0), ::testing::HasSubstr("JOB DIED after 1m01s"));
}

TEST(IncidentTextTest, WhoHasItInHandIsSaid) {
  wire::Incident incident = SlowRank();
  incident.mutable_acknowledgement()->set_by("token \x1b[2Jops");
  incident.mutable_acknowledgement()->set_note("node-17 is drained");
  incident.mutable_acknowledgement()->set_wall_ns(incident.opened_wall_ns() + 61 * kNanosPerSecond);
  AddTransition(incident, "acknowledged", 69, "by alice: node-17 is drained");
  EXPECT_EQ(StateText(incident), "acknowledged");
  const std::string text = Explanation(incident, incident.opened_wall_ns());
  EXPECT_THAT(text,
              ::testing::HasSubstr("\nacknowledged by token ?[2Jops, 1m01s after it was opened: node-17 is drained\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("acknowledged  by alice: node-17 is drained\n"));
  EXPECT_THAT(TransitionLine(incident, incident.transitions(1)),
              ::testing::HasSubstr("job demo  by alice: node-17 is drained"));
  incident.set_state(wire::Incident::STATE_RESOLVED);
  EXPECT_EQ(StateText(incident), "resolved") << "of an older collector";
}

TEST(IncidentTextTest, WhyNobodyIsCalledAndWhatElseIsKnownIsSaid) {
  wire::Incident incident = SlowRank();
  wire::Incident::Silence& silence = *incident.mutable_silence();
  silence.set_until_wall_ns(kOnset + 3600 * kNanosPerSecond);
  silence.set_by("alice");
  silence.set_note("parts are ordered");
  incident.set_folds(6);
  wire::Incident::Remark& comment = *incident.add_comments();
  comment.set_by("bob");
  comment.set_wall_ns(kOnset);
  comment.set_text("fan 3 is loud");
  wire::HostHistory& history = *incident.mutable_host_history();
  history.set_host("node-17");
  history.set_incidents(5);
  history.set_jobs(3);
  history.set_days(14);
  history.set_score(4.25);
  const std::string text = Explanation(incident, kOnset + 200 * kNanosPerSecond);
  EXPECT_THAT(text, testing::HasSubstr("\nsilenced until 2026-01-02 04:04:05 UTC by alice: parts are ordered\n"
                                       "stands for 6 others that opened with it\n"));
  EXPECT_THAT(text, testing::HasSubstr(
                        "  4. node-17 was blamed in 5 incidents of 3 jobs in the last 14 days (lemon score 4.2).\n"));
  EXPECT_THAT(text, testing::HasSubstr("\n\nComments\n  2026-01-02 03:04:05  bob: fan 3 is loud\n\nTimeline"));
}

TEST(IncidentTextTest, WhatAnOpenIncidentIs) {
  wire::Incident incident = SlowRank();
  EXPECT_EQ(StateText(incident), "open");
  incident.set_flapping(true);
  EXPECT_EQ(StateText(incident), "flapping");
  incident.mutable_acknowledgement()->set_by("alice");
  EXPECT_EQ(StateText(incident), "acknowledged");
  incident.set_folded_under(3);
  EXPECT_EQ(StateText(incident), "folded");
  incident.set_maintenance(1);
  EXPECT_EQ(StateText(incident), "in maintenance");
  incident.mutable_silence()->set_by("alice");
  EXPECT_EQ(StateText(incident), "silenced");
  incident.set_suspected(true);
  EXPECT_EQ(StateText(incident), "suspected");
  EXPECT_THAT(Explanation(incident, kOnset), testing::HasSubstr("\nSUSPECTED for "));
  incident.set_state(wire::Incident::STATE_RESOLVED);
  incident.set_resolution(wire::Incident::RESOLUTION_BY_HAND);
  EXPECT_EQ(StateText(incident), "resolved");
}

TEST(IncidentTextTest, TransitionLines) {
  wire::Incident incident = SlowRank();
  AddTransition(incident, "resolved", 68, "absent for 3 s");
  EXPECT_EQ(TransitionLine(incident, incident.transitions(0)),
            "03:04:13.000  opened    #7 compute_slow  node-17 rank 2 pid 4711  job demo  8.0s after onset  cost 35 %: "
            "Rank 2 arrived last in 39 of 40 steps.");
  EXPECT_EQ(TransitionLine(incident, incident.transitions(1)),
            "03:05:13.000  resolved  #7 compute_slow  node-17 rank 2 pid 4711  job demo  after 59s: absent for 3 s");
}

TEST(IncidentTextTest, CulpritIsAsPreciseAsTheEvidence) {
  wire::Culprit culprit;
  culprit.set_host("a");
  culprit.set_rank(-1);
  culprit.set_gpu(3);
  culprit.set_device("mlx5_0/1");
  culprit.set_peer_host("b");
  EXPECT_EQ(CulpritText(culprit), "a gpu 3 mlx5_0/1 -> b");
  wire::Culprit gpu = culprit;
  gpu.clear_peer_host();
  gpu.set_device("gpu3");
  EXPECT_EQ(CulpritText(gpu), "a gpu3") << "once";
  wire::Verdict verdict;
  EXPECT_EQ(CulpritsText(verdict), "nobody");
  *verdict.add_culprits() = culprit;
  *verdict.add_culprits() = culprit;
  EXPECT_EQ(CulpritsText(verdict), "a gpu 3 mlx5_0/1 -> b and 1 more");
}

TEST(IncidentTextTest, EscapeSequencesFromOutsideAreDefused) {
  wire::Incident incident = SlowRank();
  incident.set_job("\x1b]0;x\x07");
  incident.mutable_verdict()->mutable_evidence(0)->set_text("a\nb\x1b[2J");
  incident.mutable_verdict()->mutable_culprits(0)->set_host("h\x1b");
  for (char c : Explanation(incident, kOnset) + TransitionLine(incident, incident.transitions(0))) {
    EXPECT_NE(c, '\x1b');
    EXPECT_NE(c, '\x07');
  }
}

TEST(IncidentTextTest, WhatTheDetectorCanSayHasWords) {
  for (int i = 0; i <= static_cast<int>(VerdictClass::kCounterOutlier); ++i) {
    const std::string name = Name(static_cast<VerdictClass>(i));
    EXPECT_NE(ClassMeaning(name), name) << name << " has no words";
  }
  for (int i = 0; i <= static_cast<int>(Advice::kRebalance); ++i) {
    const std::string name = Name(static_cast<Advice>(i));
    EXPECT_NE(AdviceText(name), name) << name << " has no words";
  }
  EXPECT_EQ(ClassMeaning("something_new"), "something_new");
}

}  // namespace
}  // namespace lockstep
