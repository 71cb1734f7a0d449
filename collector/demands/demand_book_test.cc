#include "collector/demands/demand_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

class DemandBookTest : public ::testing::Test {
 protected:
  static DemandOrder Order(const std::string& job, int first, int count, const std::string& host = "node-1") {
    DemandOrder order = {"stacks", job, "parameters", {}};
    for (int rank = first; rank < first + count; ++rank) order.targets.push_back({host, rank, 100 + rank});
    return order;
  }

  void Open(const DemandOrder& order) {
    book_.Open(order, [this](const DemandResult& result) { results_.push_back(result); });
  }

  static wire::DemandAnswer Part(uint64_t id, uint32_t part, uint32_t parts, const std::string& payload) {
    wire::DemandAnswer answer;
    answer.set_id(id);
    answer.set_part(part);
    answer.set_parts(parts);
    answer.set_payload(payload);
    answer.set_outcome(wire::DemandAnswer::OUTCOME_DONE);
    return answer;
  }

  SimClock clock_;
  prometheus::Registry registry_;
  DemandMetrics metrics_{registry_};
  std::vector<wire::Command> sent_;
  bool connected_ = true;
  DemandBook book_{[this](const std::string& /*host*/, const wire::Command& command) {
                     if (connected_) sent_.push_back(command);
                     return connected_;
                   },
                   [](const std::string& host, absl::string_view kind) { return kind == "stacks" && host != "old"; },
                   clock_, metrics_};
  std::vector<DemandResult> results_;
};

TEST_F(DemandBookTest, AsksTheAgentAndGathersTheParts) {
  Open(Order("job", 3, 1));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].job(), "job");
  EXPECT_EQ(sent_[0].demand().kind(), "stacks");
  EXPECT_EQ(sent_[0].demand().rank(), 3);
  EXPECT_EQ(sent_[0].demand().pid(), 103);
  EXPECT_EQ(sent_[0].demand().parameters(), "parameters");
  EXPECT_GT(sent_[0].demand().patience_ns(), kNanosPerSecond);
  const uint64_t id = sent_[0].id();
  book_.OnAnswer("node-1", Part(id, 0, 2, "first "));
  book_.OnAnswer("node-1", Part(id, 0, 2, "first "));  // of a report that was sent again
  EXPECT_TRUE(results_.empty());
  book_.OnAnswer("node-1", Part(id, 1, 2, "second"));
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(results_[0].payload, "first second");
  EXPECT_EQ(results_[0].target.rank, 3);
  EXPECT_EQ(results_[0].outcome, wire::DemandAnswer::OUTCOME_DONE);
  EXPECT_EQ(book_.open(), 0u);
  EXPECT_EQ(metrics_.done.Value(), 1);
}

TEST_F(DemandBookTest, AnswersOfOthersAndLatersAreCountedAndThrownAway) {
  Open(Order("job", 3, 1));
  book_.OnAnswer("node-2", Part(sent_[0].id(), 0, 1, "a lie"));
  book_.OnAnswer("node-1", Part(sent_[0].id() + 1, 0, 1, "of another life"));
  EXPECT_TRUE(results_.empty());
  EXPECT_EQ(metrics_.strays.Value(), 2);
  book_.OnAnswer("node-1", Part(sent_[0].id(), 0, 1, "true"));
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(results_[0].payload, "true");
}

TEST_F(DemandBookTest, EveryTargetIsAnsweredOnceWhateverHappens) {
  Open(Order("job", 0, 1, "old"));
  connected_ = false;
  Open(Order("job", 1, 1));
  connected_ = true;
  Open(Order("job", 2, 1));
  book_.OnAnswer("node-1", Part(sent_.back().id(), 1, 2, "the first part is missing"));
  Open(Order("job", 3, 1));
  book_.OnAnswer("node-1",
                 Part(sent_.back().id(), 0, 9, std::string(FindDemandKind("stacks")->max_answer_bytes + 1, 'x')));
  Open(Order("job", 4, 1));
  Open(Order("job", 4, 1));
  clock_.Advance(FindDemandKind("stacks")->patience_ns);
  book_.Expire();
  const std::pair<int, const char*> expected[] = {{0, "does not do that"},  {1, "not connected"},
                                                  {2, "lost on its way"},   {3, "has more than"},
                                                  {4, "looked at already"}, {4, "not answered in time"}};
  ASSERT_EQ(results_.size(), std::size(expected));
  for (size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(results_[i].target.rank, expected[i].first);
    EXPECT_THAT(results_[i].reason, HasSubstr(expected[i].second));
    EXPECT_NE(results_[i].outcome, wire::DemandAnswer::OUTCOME_DONE);
    EXPECT_EQ(results_[i].payload, "");
  }
  EXPECT_EQ(book_.open(), 0u);
  EXPECT_EQ(metrics_.failed.Value(), 6);
}

TEST_F(DemandBookTest, WhatIsOpenIsBounded) {
  Open(Order("job", 0, DemandBook::kMaxOpenOfHost + 1));
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_THAT(results_[0].reason, HasSubstr("of the host"));
  for (int i = 0; i < 4; ++i) {
    Open(Order("job", 100 + 100 * i, DemandBook::kMaxOpenOfHost, absl::StrCat("node-", 10 + i)));
  }
  EXPECT_EQ(book_.open(), DemandBook::kMaxOpenOfJob);
  EXPECT_THAT(results_.back().reason, HasSubstr("of the job"));
  for (int i = 0; i < 5; ++i) {
    Open(Order("other", 100 * i, DemandBook::kMaxOpenOfHost, absl::StrCat("node-", 20 + i)));
    Open(Order("third", 100 * i, DemandBook::kMaxOpenOfHost, absl::StrCat("node-", 30 + i)));
  }
  EXPECT_EQ(book_.open(), DemandBook::kMaxOpen);
  EXPECT_THAT(results_.back().reason, HasSubstr("too many demands are open"));
}

TEST_F(DemandBookTest, ProfilesAreComparedWithThoseOfAFewPeers) {
  EXPECT_EQ(FindDemandKind("profile")->peers, 16u);
  EXPECT_EQ(FindDemandKind("stacks")->peers, 0u);
}

TEST_F(DemandBookTest, NoKindNoDemand) {
  EXPECT_OK(CheckDemand("stacks", "parameters"));
  const std::string large(FindDemandKind("stacks")->max_parameter_bytes + 1, 'x');
  EXPECT_THAT(CheckDemand("stacks", large), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("parameters")));
  EXPECT_THAT(CheckDemand("unheard of", ""), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no such kind")));
}

}  // namespace
}  // namespace lockstep
