#include "collector/query_admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/testing/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

class QueryAdmissionTest : public testing::Test {
 protected:
  CollectorMetrics metrics_{"test"};
  QueryAdmission admission_{{.what = "queries", .max_of_client = 2, .max_at_once = 3}, metrics_.queries};
  std::vector<QueryAdmission::Slot> held_;

  absl::Status Admit(const std::string& peer, const Caller& caller = {.is_everybody = true}) {
    absl::StatusOr<QueryAdmission::Slot> slot = admission_.Admit(ClientOf(caller, peer));
    if (slot.ok()) held_.push_back(*std::move(slot));
    return slot.status();
  }
};

TEST_F(QueryAdmissionTest, AClientHasItsShareHoweverManyConnectionsItOpens) {
  EXPECT_OK(Admit("ipv4:10.0.0.7:1"));
  EXPECT_OK(Admit("ipv4:10.0.0.7:2"));
  EXPECT_THAT(Admit("ipv4:10.0.0.7:3"),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("client ipv4:10.0.0.7: 2 queries")));
  EXPECT_OK(Admit("ipv4:10.0.0.8:1"));
  EXPECT_EQ(metrics_.queries.refused_client.Value(), 1);
}

TEST_F(QueryAdmissionTest, WhoSaysWhoItIsHasItsShareFromWhereverItCalls) {
  const Caller grafana = {.name = "token grafana"};
  const Caller alice = {.name = "alice of issuer"};
  EXPECT_OK(Admit("ipv4:10.0.0.7:1", grafana));
  EXPECT_OK(Admit("ipv4:10.0.0.8:1", grafana));
  EXPECT_THAT(Admit("ipv4:10.0.0.9:1", grafana),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("client token grafana: 2 queries")));
  EXPECT_OK(Admit("ipv4:10.0.0.7:2", alice)) << "from the same address";
}

TEST_F(QueryAdmissionTest, AllTogetherAreBoundedAndAPlaceThatIsGivenBackIsFree) {
  for (const char* peer : {"ipv4:10.0.0.1:1", "ipv4:10.0.0.2:1", "ipv4:10.0.0.3:1"}) ASSERT_OK(Admit(peer));
  EXPECT_THAT(Admit("ipv4:10.0.0.4:1"), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("at most 3")));
  EXPECT_EQ(metrics_.queries.refused_all.Value(), 1);
  held_.pop_back();
  EXPECT_OK(Admit("ipv4:10.0.0.4:1"));
}

}  // namespace
}  // namespace lockstep
