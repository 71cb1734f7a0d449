#include "collector/expected_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "collector/inventory_file.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kSilent = 8'000'000'000;
constexpr int64_t kStart = 1'000'000'000'000;

AgentView Agent(const std::string& host, int64_t last_report_wall_ns, bool silent = false) {
  AgentView view;
  view.host = host;
  view.last_report_wall_ns = last_report_wall_ns;
  view.silent = silent;
  return view;
}

std::vector<std::string> NamesOf(const std::vector<MissingHost>& hosts) {
  std::vector<std::string> names;
  for (const MissingHost& host : hosts) names.push_back(host.name);
  return names;
}

TEST(ExpectedHostsTest, WhoReportedOnceIsMissedAlsoByTheNextCollector) {
  ExpectedHosts hosts(kSilent, kStart);
  const auto stored = hosts.Note({Agent("a", kStart + 1), Agent("b", kStart + 2)});
  ASSERT_EQ(stored.size(), 2u);
  EXPECT_THAT(hosts.Missing({Agent("a", kStart + 1), Agent("b", kStart + 2, /*silent=*/true)}, kStart + 3),
              testing::SizeIs(1));
  EXPECT_THAT(NamesOf(hosts.Missing({}, kStart + 3 + kSilent)), ElementsAre("a", "b")) << "their agents are forgotten";

  const int64_t restart = kStart + 1000 * kSilent;
  ExpectedHosts next(kSilent, restart);
  next.Restore(stored);
  EXPECT_THAT(next.Missing({}, restart + kSilent), IsEmpty()) << "they have time to come back";
  const auto missing = next.Missing({Agent("b", restart + 1)}, restart + kSilent + 1);
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].name, "a");
  EXPECT_EQ(missing[0].last_report_wall_ns, kStart + 1);
  EXPECT_FALSE(missing[0].in_inventory);
}

TEST(ExpectedHostsTest, HowLongOneMayBeSilentCanChange) {
  ExpectedHosts hosts(kSilent, kStart);
  hosts.SetInventory({"a"});
  EXPECT_THAT(hosts.Missing({}, kStart + kSilent), IsEmpty());
  hosts.SetSilentAfter(kSilent - 1);
  EXPECT_THAT(NamesOf(hosts.Missing({}, kStart + kSilent)), ElementsAre("a"));
}

TEST(ExpectedHostsTest, IsStoredAtOnceAndRenewedEveryMinute) {
  ExpectedHosts hosts(kSilent, kStart);
  EXPECT_EQ(hosts.Note({Agent("a", kStart)}).size(), 1u);
  EXPECT_THAT(hosts.Note({Agent("a", kStart + ExpectedHosts::kRefreshNanos - 1)}), IsEmpty());
  const auto again = hosts.Note({Agent("a", kStart + ExpectedHosts::kRefreshNanos)});
  ASSERT_EQ(again.size(), 1u);
  hosts.NotStored(again);
  EXPECT_EQ(hosts.Note({Agent("a", kStart + ExpectedHosts::kRefreshNanos)}).size(), 1u);
  EXPECT_THAT(hosts.Note({Agent("never", 0)}), IsEmpty()) << "it has only connected";
}

TEST(ExpectedHostsTest, WhoIsInTheInventoryAndNeverReportedIsMissed) {
  ExpectedHosts hosts(kSilent, kStart);
  hosts.SetInventory({"a", "b"});
  hosts.Note({Agent("b", kStart + 5)});
  const auto missing = hosts.Missing({Agent("b", kStart + 5)}, kStart + kSilent + 1);
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].name, "a");
  EXPECT_EQ(missing[0].last_report_wall_ns, 0);
  EXPECT_TRUE(missing[0].in_inventory);
  hosts.SetInventory({});
  EXPECT_THAT(hosts.Missing({Agent("b", kStart + 5)}, kStart + kSilent + 1), IsEmpty());
}

TEST(ExpectedHostsTest, IsForgottenWhenSomebodySaysSoUntilItReportsAgain) {
  ExpectedHosts hosts(kSilent, kStart);
  hosts.SetInventory({"listed"});
  const std::vector<AgentView> agents = {Agent("gone", kStart + 1, /*silent=*/true), Agent("here", kStart + 1)};
  hosts.Note(agents);
  EXPECT_THAT(hosts.CheckForget("here", agents), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("reports")));
  EXPECT_THAT(hosts.CheckForget("listed", agents),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("inventory")));
  EXPECT_THAT(hosts.CheckForget("unheard", agents), StatusIs(absl::StatusCode::kNotFound, HasSubstr("unheard")));
  ASSERT_OK(hosts.CheckForget("gone", agents));
  hosts.Forget("gone");
  EXPECT_THAT(hosts.Note(agents), IsEmpty()) << "its agent is still known, but has said nothing since";
  EXPECT_THAT(NamesOf(hosts.Missing(agents, kStart + 100 * kSilent)), ElementsAre("listed"));
  EXPECT_EQ(hosts.Note({Agent("gone", kStart + 2)}).size(), 1u);
}

TEST(ExpectedHostsTest, IsBoundedAndCountsWhatDoesNotFit) {
  ExpectedHosts hosts(kSilent, kStart);
  std::vector<SeenHost> many;
  for (size_t i = 0; i < ExpectedHosts::kMaxHosts + 2; ++i) many.push_back({std::to_string(i), kStart});
  hosts.Restore(many);
  EXPECT_EQ(hosts.TakeRefused(), 2u);
  EXPECT_EQ(hosts.Missing({}, kStart + 2 * kSilent).size(), ExpectedHosts::kMaxHosts);
}

TEST(InventoryFileTest, IsOneNamePerLineWithComments) {
  const auto names = ParseInventory("# the fleet\nnode-1\n\n  node-2  # rack 7\r\nnode-1\n");
  ASSERT_OK(names);
  EXPECT_THAT(*names, ElementsAre("node-1", "node-2"));
  EXPECT_THAT(ParseInventory("node-1\nnode 2\n"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 2")));
  EXPECT_THAT(ParseInventory(std::string(300, 'n')), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 1")));
}

TEST(InventoryFileTest, WhatCannotBeReadIsSaidWithItsName) {
  TemporaryDirectory directory;
  EXPECT_THAT(ReadInventory("")->hosts, IsEmpty());
  EXPECT_THAT(ReadInventory((directory.path() / "absent").string()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("absent")));
  directory.Write("fleet", "node-1\n");
  EXPECT_THAT(ReadInventory((directory.path() / "fleet").string())->hosts, ElementsAre("node-1"));
}

}  // namespace
}  // namespace lockstep
