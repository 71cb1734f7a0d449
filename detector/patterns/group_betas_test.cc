#include "detector/patterns/group_betas.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/patterns/duty_order.h"
#include "detector/patterns/function_group.h"
#include "detector/patterns/function_kind.h"
#include "detector/patterns/pattern_fleet.h"
#include "detector/patterns/rank_patterns.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using Betas = std::vector<float>;

// Workers 0 and 2 have one duty, worker 1 another.
class GroupBetasTest : public testing::Test {
 protected:
  GroupBetasTest() : order_(OrderByDuty({{0, 2}, {1}})) {
    for (int32_t rank = 0; rank < 3; ++rank) fleet_.AddWorker({.rank = rank});
  }

  void Add(FunctionKind kind, const char* name, FunctionGroup group, const Betas& by_worker) {
    ASSERT_EQ(GroupOf(kind, name), group) << name;
    const int32_t function = fleet_.Function(kind, name, Utilisation::kNone);
    for (uint32_t worker = 0; worker < by_worker.size(); ++worker) {
      if (by_worker[worker] > 0) fleet_.AddCell(function, {.worker = worker, .beta = by_worker[worker]});
    }
  }

  const DutyOrder order_;
  PatternFleet fleet_;
};

TEST_F(GroupBetasTest, FunctionsOfAGroupAddUpInTheOrderOfDuties) {
  Add(FunctionKind::kGpuCompute, "sm90_xmma_gemm_a", FunctionGroup::kMatrixProduct, {0.25F, 0.5F, 0.125F});
  Add(FunctionKind::kGpuCompute, "sm90_xmma_gemm_b", FunctionGroup::kMatrixProduct, {0.25F, 0, 0.5F});
  const GroupBetas groups = SumGroups(fleet_, order_);
  EXPECT_EQ(groups[static_cast<size_t>(FunctionGroup::kMatrixProduct)], (Betas{0.5F, 0.625F, 0.5F}));
  EXPECT_EQ(groups[static_cast<size_t>(FunctionGroup::kCollective)], (Betas{0, 0, 0}));
}

TEST_F(GroupBetasTest, AllThatAGpuComputesIsNeitherCopiesNorCommunication) {
  Add(FunctionKind::kGpuCompute, "sm90_xmma_gemm_a", FunctionGroup::kMatrixProduct, {0.25F, 0.5F, 0.125F});
  Add(FunctionKind::kGpuCompute, "something", FunctionGroup::kOtherKernel, {0.25F, 0.25F, 0});
  Add(FunctionKind::kCollective, "ncclDevKernel_AllReduce", FunctionGroup::kCollective, {0.5F, 0.5F, 0.5F});
  const GroupBetas groups = SumGroups(fleet_, order_);
  EXPECT_EQ(KernelBetas(groups, order_, 0), (Betas{0.5F, 0.125F}));
  EXPECT_EQ(KernelBetas(groups, order_, 1), Betas{0.75F});
  EXPECT_EQ(BetasOf(groups, FunctionGroup::kOtherKernel, FunctionGroup::kCollective, order_, 1), Betas{0.75F});
  EXPECT_EQ(BetasOf(groups, FunctionGroup::kCollective, FunctionGroup::kCollective, order_, 0), (Betas{0.5F, 0.5F}));
}

}  // namespace
}  // namespace lockstep
