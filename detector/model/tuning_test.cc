#include "detector/model/tuning.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

constexpr Tuning kRing = {CollectiveAlgorithm::kRing, CollectiveProtocol::kLl128, 16};

TEST(TuningTest, IsDescribedByWhatIsKnown) {
  EXPECT_EQ(Describe(kRing), "ring, LL128, 16 channels");
  EXPECT_EQ(Describe({CollectiveAlgorithm::kCopyEngine, CollectiveProtocol::kUnknown, 0}), "copy engine");
  EXPECT_EQ(Describe({CollectiveAlgorithm::kUnknown, CollectiveProtocol::kSimple, 1}), "Simple, 1 channel");
  EXPECT_EQ(Describe({}), "");
}

TEST(TuningTest, OnlyWhatBothTellCanContradict) {
  EXPECT_FALSE(Contradict(kRing, kRing));
  EXPECT_FALSE(Contradict(kRing, {}));
  EXPECT_FALSE(Contradict(kRing, {CollectiveAlgorithm::kRing, CollectiveProtocol::kUnknown, 16}));
  EXPECT_TRUE(Contradict(kRing, {CollectiveAlgorithm::kTree, CollectiveProtocol::kLl128, 16}));
  EXPECT_TRUE(Contradict(kRing, {CollectiveAlgorithm::kUnknown, CollectiveProtocol::kSimple, 16}));
  EXPECT_TRUE(Contradict(kRing, {CollectiveAlgorithm::kRing, CollectiveProtocol::kLl128, 8}));
}

}  // namespace
}  // namespace lockstep
