#include "collector/alert/nvsentinel_payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/alert/testing/sample_incident.h"
#include "proto/incident.pb.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;
using datamodels::HealthEvent;
using datamodels::HealthEvents;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr int64_t kSecond = 1'000'000'000;

// Of job llama: GPU 3 of node-17 is broken.
wire::Incident BrokenGpu() {
  wire::Incident incident = SlowRank();
  incident.set_updated_wall_ns(kSampleOpenedNanos + kSecond);
  wire::Verdict& verdict = *incident.mutable_verdict();
  verdict.set_class_("gpu_fault");
  wire::Culprit& culprit = *verdict.mutable_culprits(0);
  culprit.set_gpu(3);
  culprit.set_device("gpu3");
  culprit.set_gpu_uuid("GPU-5f0c");
  culprit.set_gpu_pci_address("0000:3b:00.0");
  culprit.set_confidence(0.9);
  return incident;
}

wire::Incident Over(wire::Incident incident, wire::Incident::Resolution how) {
  incident.set_state(wire::Incident::STATE_RESOLVED);
  incident.set_resolution(how);
  incident.add_transitions()->set_why("it was looked for");
  return incident;
}

DeliveryContext Context() {
  DeliveryContext context;
  context.links = {.fleet = "prod-a", .external_url = "https://console/{incident}", .runbook_url = ""};
  return context;
}

std::string Entities(const HealthEvent& event) {
  std::vector<std::string> entities;
  for (const datamodels::Entity& entity : event.entities_impacted()) {
    entities.push_back(absl::StrCat(entity.entity_type(), "=", entity.entity_value()));
  }
  return absl::StrJoin(entities, " ");
}

// "node check component healthy" of each.
std::vector<std::string> Told(const HealthEvents& events) {
  std::vector<std::string> told;
  for (const HealthEvent& event : events.events()) {
    told.push_back(absl::StrCat(event.node_name(), " ", event.check_name(), " ", event.component_class(), " ",
                                event.is_healthy() ? "healthy" : "unhealthy"));
  }
  return told;
}

TEST(NvsentinelPayloadTest, AnAccusedGpuIsNamedAsOtherMonitorsNameIt) {
  const HealthEvents events = HealthEventsFor({Kind::kOpened, BrokenGpu()}, Context());
  EXPECT_EQ(events.version(), 1u);
  ASSERT_THAT(Told(events), ElementsAre("node-17 LockstepGpuFault GPU unhealthy"));
  const HealthEvent& event = events.events(0);
  EXPECT_EQ(event.version(), 1u);
  EXPECT_EQ(event.agent(), "lockstep");
  EXPECT_EQ(Entities(event), "GPU=3 GPU_UUID=GPU-5f0c PCI=0000:3b:00.0 LOCKSTEP_INCIDENT=prod-a/incident-42");
  EXPECT_THAT(event.error_code(), ElementsAre("gpu_fault"));
  EXPECT_THAT(event.message(), StartsWith("gpu_fault on node-17 rank 3"));
  EXPECT_EQ(event.generated_timestamp().seconds(), kSampleOpenedNanos / kSecond + 1);
  EXPECT_EQ(event.generated_timestamp().nanos(), 678'000'000);
  EXPECT_EQ(event.metadata().at("lockstep_job"), "llama");
  EXPECT_EQ(event.metadata().at("lockstep_severity"), "critical");
  EXPECT_EQ(event.metadata().at("lockstep_advice"), "cordon_and_replace");
  EXPECT_EQ(event.metadata().at("lockstep_confidence"), "0.90");
  EXPECT_EQ(event.metadata().at("lockstep_url"), "https://console/42");
  EXPECT_FALSE(event.metadata().contains("lockstep_runbook_url"));
}

TEST(NvsentinelPayloadTest, NothingThatIsSaidMovesANode) {
  for (const Kind kind : {Kind::kOpened, Kind::kUpdated, Kind::kReopened, Kind::kResolved}) {
    const HealthEvents events = HealthEventsFor({kind, BrokenGpu()}, Context());
    ASSERT_THAT(events.events(), SizeIs(1));
    EXPECT_EQ(events.events(0).processing_strategy(), datamodels::STORE_ONLY);
    EXPECT_FALSE(events.events(0).is_fatal());
    EXPECT_EQ(events.events(0).recommended_action(), 0);
  }
}

TEST(NvsentinelPayloadTest, HealthyIsWhatWasLookedForAndNotFoundAnyMore) {
  const auto told = [](wire::Incident::Resolution how) {
    return Told(HealthEventsFor({Kind::kResolved, Over(BrokenGpu(), how)}, Context()));
  };
  EXPECT_THAT(told(wire::Incident::RESOLUTION_CAUSE_GONE), ElementsAre("node-17 LockstepGpuFault GPU healthy"));
  EXPECT_THAT(told(wire::Incident::RESOLUTION_BY_HAND), ElementsAre("node-17 LockstepGpuFault GPU healthy"));
  for (const auto how : {wire::Incident::RESOLUTION_JOB_ENDED, wire::Incident::RESOLUTION_JOB_DIED,
                         wire::Incident::RESOLUTION_JOB_LOST, wire::Incident::RESOLUTION_UNSPECIFIED}) {
    EXPECT_THAT(told(how), ElementsAre("node-17 LockstepGpuFault GPU unhealthy")) << "nobody looked";
  }
  const HealthEvents over =
      HealthEventsFor({Kind::kResolved, Over(BrokenGpu(), wire::Incident::RESOLUTION_JOB_DIED)}, Context());
  EXPECT_EQ(over.events(0).metadata().at("lockstep_resolution"), "it was looked for");
}

TEST(NvsentinelPayloadTest, PartsAreThoseOfTheClass) {
  wire::Incident incident = BrokenGpu();
  wire::Culprit& culprit = *incident.mutable_verdict()->mutable_culprits(0);
  incident.mutable_verdict()->set_scope("network");
  incident.mutable_verdict()->set_class_("link_slow");
  culprit.set_device("mlx5_0/1");
  culprit.set_peer_host("node-18");
  HealthEvents events = HealthEventsFor({Kind::kOpened, incident}, Context());
  EXPECT_THAT(Told(events), ElementsAre("node-17 LockstepLinkSlow NIC unhealthy"));
  EXPECT_EQ(Entities(events.events(0)), "NIC=mlx5_0 NICPort=1 LOCKSTEP_INCIDENT=prod-a/incident-42");
  EXPECT_EQ(events.events(0).metadata().at("lockstep_peer_host"), "node-18");
  incident.mutable_verdict()->set_class_("host_slow");
  events = HealthEventsFor({Kind::kOpened, incident}, Context());
  EXPECT_THAT(Told(events), ElementsAre("node-17 LockstepHostSlow Node unhealthy"));
  EXPECT_EQ(Entities(events.events(0)), "LOCKSTEP_INCIDENT=prod-a/incident-42");
}

TEST(NvsentinelPayloadTest, WhoAccusesNoMachineTellsNothing) {
  wire::Incident incident = BrokenGpu();
  for (const char* scope : {"software", "structural", "job", "unknown"}) {
    incident.mutable_verdict()->set_scope(scope);
    EXPECT_THAT(HealthEventsFor({Kind::kOpened, incident}, Context()).events(), IsEmpty()) << scope;
  }
  incident.mutable_verdict()->set_scope("machine");
  incident.mutable_verdict()->mutable_culprits(0)->clear_host();
  EXPECT_THAT(HealthEventsFor({Kind::kOpened, incident}, Context()).events(), IsEmpty());
}

TEST(NvsentinelPayloadTest, EachMachineIsToldOfOnce) {
  wire::Incident incident = BrokenGpu();
  incident.mutable_verdict()->set_class_("host_slow");
  wire::Culprit again = incident.verdict().culprits(0);
  again.set_rank(4);
  *incident.mutable_verdict()->add_culprits() = again;
  again.set_host("node-2");
  *incident.mutable_verdict()->add_culprits() = again;
  EXPECT_THAT(Told(HealthEventsFor({Kind::kOpened, incident}, Context())),
              ElementsAre("node-17 LockstepHostSlow Node unhealthy", "node-2 LockstepHostSlow Node unhealthy"));
}

TEST(NvsentinelPayloadTest, WhatIsNotAccusedAnyMoreIsTakenBack) {
  const wire::Incident before = SlowRank();
  DeliveryContext context = Context();
  context.before = &before;
  const HealthEvents events = HealthEventsFor({Kind::kUpdated, BrokenGpu()}, context);
  EXPECT_THAT(Told(events),
              ElementsAre("node-17 LockstepComputeSlow GPU healthy", "node-17 LockstepGpuFault GPU unhealthy"));
  EXPECT_EQ(events.events(0).generated_timestamp().seconds(), kSampleOpenedNanos / kSecond + 1);
  const wire::Incident same = BrokenGpu();
  context.before = &same;
  EXPECT_THAT(HealthEventsFor({Kind::kUpdated, BrokenGpu()}, context).events(), SizeIs(1));
}

}  // namespace
}  // namespace lockstep
