#include "collector/alert/incident_text.h"

#include <gtest/gtest.h>

#include "collector/alert/alert_links.h"
#include "collector/alert/testing/sample_incident.h"

namespace lockstep {
namespace {

TEST(IncidentTextTest, TextIsCutBetweenCharacters) {
  EXPECT_EQ(CutText("four", 4), "four");
  EXPECT_EQ(CutText("fours", 4), "f...");
  EXPECT_EQ(CutText("\xc3\xbc\xc3\xbc\xc3\xbc", 5), "\xc3\xbc...");
  EXPECT_EQ(CutText("\xc3\xbc\xc3\xbc\xc3\xbc", 4), "...") << "half a character is none";
}

TEST(IncidentTextTest, ACostSaysWhatOthersHide) {
  wire::Cost cost;
  EXPECT_EQ(CostText(cost), "");
  cost.set_hidden_fraction(0.12);
  EXPECT_EQ(CostText(cost),
            "0.0 % of the step time, 0 s per step, in 0 % of the steps; 12.0 % more is hidden by other findings");
}

TEST(IncidentTextTest, LinksHoldTheIncidentAndItsJob) {
  AlertLinks links;
  wire::Incident incident = SlowRank();
  EXPECT_EQ(ConsolePage(links, incident), "");
  EXPECT_EQ(RunbookPage(links, "deadlock"), "");
  EXPECT_EQ(StableName(links, incident), "lockstep/incident-42");
  incident.set_job("a b/\xc3\xbc");
  links.external_url = "https://c/jobs/{job}/{incident}";
  links.runbook_url = "https://w/r";
  EXPECT_EQ(ConsolePage(links, incident), "https://c/jobs/a%20b%2F%C3%BC/42");
  EXPECT_EQ(RunbookPage(links, "deadlock"), "https://w/r#deadlock");
  EXPECT_EQ(RunbookPage(links, ""), "");
  EXPECT_EQ(StacksPage(links, incident), "");
  links.stacks_url = "https://c/incidents/{incident}/stacks.svg";
  EXPECT_EQ(StacksPage(links, incident), "") << "a rank that is slow stands nowhere";
  incident.mutable_verdict()->set_class_("hang_not_entered");
  EXPECT_EQ(StacksPage(links, incident), "https://c/incidents/42/stacks.svg");
}

TEST(IncidentTextTest, AStandstillIsCritical) {
  for (const char* const hang : {"hang_not_entered", "hang_in_communication", "collective_mismatch", "deadlock",
                                 "process_dead", "machine_unreachable", "gpu_fault"}) {
    EXPECT_STREQ(SeverityOf(hang), "critical") << hang;
  }
  EXPECT_STREQ(SeverityOf("compute_slow"), "warning");
  EXPECT_STREQ(SeverityOf("pause"), "warning");
  EXPECT_STREQ(SeverityOf("class_of_next_year"), "warning");
  EXPECT_STREQ(SeverityOf(""), "warning");
}

TEST(IncidentTextTest, TheGpuHasTheNamesThatAreKnown) {
  wire::Incident incident;
  EXPECT_EQ(GpuOf(incident), "");
  wire::Culprit& culprit = *incident.mutable_verdict()->add_culprits();
  EXPECT_EQ(GpuOf(incident), "");
  culprit.set_gpu(3);
  culprit.set_gpu_pci_address("0000:3b:00.0");
  EXPECT_EQ(GpuOf(incident), "gpu3 at 0000:3b:00.0");
  culprit.set_gpu_uuid("GPU-5f0c");
  EXPECT_EQ(GpuOf(incident), "GPU-5f0c at 0000:3b:00.0");
  culprit.clear_gpu_pci_address();
  EXPECT_EQ(GpuOf(incident), "GPU-5f0c");
}

TEST(IncidentTextTest, SaysHowOftenItCameBackAndWhatItStandsFor) {
  wire::Incident incident;
  EXPECT_EQ(RecurrenceText(incident), "");
  incident.set_flapping(true);
  incident.set_reopened(4);
  EXPECT_EQ(RecurrenceText(incident), "It comes and goes (reopened 4 times).");
  incident.set_folds(7);
  EXPECT_EQ(RecurrenceText(incident), "It comes and goes (reopened 4 times). It stands for 7 more.");
}

TEST(IncidentTextTest, WithoutACulpritThereIsNoHost) {
  wire::Incident incident = SlowRank();
  EXPECT_EQ(HostOf(incident), "node-17");
  incident.mutable_verdict()->clear_culprits();
  EXPECT_EQ(HostOf(incident), "");
  EXPECT_EQ(SummaryOf(incident), "compute_slow in job llama");
}

}  // namespace
}  // namespace lockstep
