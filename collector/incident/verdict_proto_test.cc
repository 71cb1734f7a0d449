#include "collector/incident/verdict_proto.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(VerdictProtoTest, CarriesEveryField) {
  Verdict verdict = Verdict::Accusation(VerdictScope::kNetwork, VerdictClass::kLinkSlow);
  verdict.culprits = {Culprit{"node-1", 3, 2, 77, "mlx5_0/1", "node-2", 0.75}, Culprit{.host = "node-2"}};
  verdict.first_step = 10;
  verdict.last_step = 20;
  verdict.first_seen_ns = 30;
  verdict.last_seen_ns = 40;
  verdict.cost = {0.5, 0.25, 0.125, 0.0625};
  verdict.evidence = {{EvidenceKind::kDelayMatrix, InputNote{"first"}}, {EvidenceKind::kWhatIf, InputNote{"second"}}};
  verdict.advice = Advice::kCheckLink;

  const wire::Verdict message = ToProto(verdict);
  EXPECT_EQ(message.scope(), "network");
  EXPECT_EQ(message.class_(), "link_slow");
  ASSERT_EQ(message.culprits_size(), 2);
  EXPECT_EQ(message.culprits(0).ShortDebugString(),
            "host: \"node-1\" rank: 3 gpu: 2 pid: 77 device: \"mlx5_0/1\" peer_host: \"node-2\" confidence: 0.75");
  EXPECT_EQ(message.culprits(1).rank(), -1);
  EXPECT_EQ(message.first_step(), 10);
  EXPECT_EQ(message.last_step(), 20);
  EXPECT_EQ(message.first_seen_ns(), 30);
  EXPECT_EQ(message.last_seen_ns(), 40);
  EXPECT_EQ(message.cost().ShortDebugString(),
            "slowdown_fraction: 0.5 seconds_per_step: 0.25 steps_affected_fraction: 0.125 "
            "hidden_fraction: 0.0625");
  ASSERT_EQ(message.evidence_size(), 2);
  EXPECT_EQ(message.evidence(0).kind(), "delay_matrix");
  EXPECT_EQ(message.evidence(1).text(), "second");
  EXPECT_EQ(message.advice(), "check_link");
}

TEST(VerdictProtoTest, AnAbstentionHasNoClass) {
  const wire::Verdict message = ToProto(Verdict::Abstention(NoRecords{}));
  EXPECT_EQ(message.scope(), "unknown");
  EXPECT_EQ(message.class_(), "unknown");
  EXPECT_EQ(message.advice(), "none");
}

}  // namespace
}  // namespace lockstep
