#include "collector/convert/job_name.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(JobNameTest, SaysWhereItComesFrom) {
  const struct {
    const char* job;
    JobNameKind kind;
  } cases[] = {
      {"", JobNameKind::kNone},
      {"torch-none", JobNameKind::kNone},
      {"nccl-00000000000000ab", JobNameKind::kFingerprint},
      {"k8s-team-a/nccl-00000000000000ab", JobNameKind::kFingerprint},
      {"nccl-ab", JobNameKind::kChosen},
      {"nccl-00000000000000AB", JobNameKind::kChosen},
      {"nccl-0x000000000000ab", JobNameKind::kChosen},
      {"k8s-team-a/train", JobNameKind::kChosen},
      {"k8s-nccl-00000000000000ab", JobNameKind::kChosen},
      {"torch-node-1:29500", JobNameKind::kPlace},
      {"torch-team-a/10.0.0.1:29500", JobNameKind::kPlace},
      {"torch-run:7x", JobNameKind::kChosen},
      {"torch-run:", JobNameKind::kChosen},
      {"torch-my-run", JobNameKind::kChosen},
      {"slurm-7.node-1:29500", JobNameKind::kPlace},
      {"slurm-7.0", JobNameKind::kChosen},
      {"torch-node-1:29500@uid1001", JobNameKind::kPlace},
      {"torch-node-1:29500-20260102T030405Z", JobNameKind::kPlace},
      {"torch-node-1:29500-20260102T030405Z@uid1001", JobNameKind::kPlace},
      {"torch-my-run-20260102T030405Z", JobNameKind::kChosen},
      {"nccl-00000000000000ab@team-a", JobNameKind::kFingerprint},
      {"train@uid1001", JobNameKind::kChosen},
  };
  for (const auto& expected : cases) EXPECT_EQ(KindOfJobName(expected.job), expected.kind) << expected.job;
}

TEST(JobNameTest, ThatOfACommunicatorIsFoundAgain) {
  EXPECT_EQ(FingerprintJobName("", 0xab), "nccl-00000000000000ab");
  EXPECT_EQ(FingerprintJobName("team-a", 0xab), "k8s-team-a/nccl-00000000000000ab");
  EXPECT_EQ(CommunicatorOfJobName(FingerprintJobName("", ~uint64_t{0})), ~uint64_t{0});
  EXPECT_EQ(CommunicatorOfJobName(FingerprintJobName("team-a", 7)), 7u);
  EXPECT_EQ(CommunicatorOfJobName("nccl-00000000000000ab@uid7"), 0xabu);
  EXPECT_FALSE(CommunicatorOfJobName("train").has_value());
}

TEST(JobNameTest, OfAnotherOwnerSaysWhose) {
  EXPECT_EQ(JobNameOfOwner("torch-node-1:29500", "", 1001), "torch-node-1:29500@uid1001");
  EXPECT_EQ(JobNameOfOwner("torch-node-1:29500", "team-a", 1001), "torch-node-1:29500@team-a");
  EXPECT_EQ(JobNameOfOwner("torch-node-1:29500", "", -1), "");
}

TEST(JobNameTest, OfARunSaysWhereAndWhenItBegan) {
  EXPECT_EQ(JobNameOfRun("torch-node-1:29500", 1'767'323'045'900'000'000), "torch-node-1:29500-20260102T030405Z");
  EXPECT_EQ(PlaceOfJobName("torch-node-1:29500-20260102T030405Z@uid1001"), "torch-node-1:29500");
  EXPECT_EQ(PlaceOfJobName("torch-node-1:29500"), "torch-node-1:29500");
  EXPECT_EQ(PlaceOfJobName("torch-node-1:29500-20260102T03040Z"), "torch-node-1:29500-20260102T03040Z");
  EXPECT_EQ(PlaceOfJobName(""), "");
}

}  // namespace
}  // namespace lockstep
