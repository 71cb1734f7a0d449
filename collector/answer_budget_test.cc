#include "collector/answer_budget.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/query.pb.h"

namespace lockstep {
namespace {

wire::Job JobOfBytes(size_t bytes) {
  wire::Job job;
  job.set_note(std::string(bytes - 2, 'x'));
  EXPECT_EQ(job.ByteSizeLong(), bytes);
  return job;
}

TEST(AnswerBudgetTest, TakesWhatFitsAndCountsAllTheRestWithoutAHole) {
  AnswerBudget budget(100);
  EXPECT_TRUE(budget.Take(JobOfBytes(60)));
  EXPECT_TRUE(budget.Take(JobOfBytes(40)));
  EXPECT_EQ(budget.left_out(), 0u);
  EXPECT_FALSE(budget.Take(JobOfBytes(41)));
  EXPECT_FALSE(budget.Take(wire::Job())) << "it would fit, but comes behind one that does not";
  EXPECT_EQ(budget.left_out(), 2u);
}

}  // namespace
}  // namespace lockstep
