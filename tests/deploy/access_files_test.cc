// Every access.yaml that we ship, read as a collector reads it: whom it lets report, and for which host alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "base/testing/status_matchers.h"
#include "collector/access/access_rules.h"
#include "collector/access/caller.h"
#include "collector/access/peer_names.h"
#include "daemon/bounded_file.h"

namespace lockstep {
namespace {

using ::testing::UnorderedElementsAreArray;

// A file, and what its agents show.
struct Shipped {
  std::string file;
  std::string agent_uri;  // of the agent of node-1
  bool is_bound_to_its_host;
  std::string admin_uri;
};

const Shipped kShipped[] = {
    {"deploy/access/access.yaml", "spiffe://example.org/lockstep/agent/node-1", true, "spiffe://example.org/sre/alice"},
    {"deploy/kubernetes/base/access.yaml", "spiffe://lockstep.svc/agent", false, "spiffe://lockstep.svc/admin"},
    {"deploy/kubernetes/overlays/spire/access.yaml", "spiffe://example.org/lockstep/agent/node-1", true,
     "spiffe://example.org/lockstep/admin"},
};

std::filesystem::path Root() { return std::filesystem::path(std::getenv("TEST_SRCDIR")) / "lockstep"; }

AccessRules RulesOf(const std::string& file) {
  const absl::StatusOr<std::string> text = ReadBoundedFile(Root() / file);
  EXPECT_OK(text) << file;
  const absl::StatusOr<AccessRules> rules = ParseAccessRules(text.value_or(""));
  EXPECT_OK(rules) << file;
  return rules.value_or(AccessRules());
}

std::optional<Caller> WithUri(const std::string& uri, const AccessRules& rules) {
  PeerNames names;
  names.uris = {uri};
  return CallerOf(names, rules);
}

TEST(AccessFilesTest, NoFileIsForgottenHere) {
  std::set<std::string> found, known;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(Root() / "deploy")) {
    if (entry.path().filename() == "access.yaml") found.insert(std::filesystem::relative(entry.path(), Root()));
  }
  for (const Shipped& shipped : kShipped) known.insert(shipped.file);
  EXPECT_THAT(found, UnorderedElementsAreArray(known));
}

TEST(AccessFilesTest, AnAgentReportsForItsOwnHostAndReadsNothing) {
  for (const Shipped& shipped : kShipped) {
    const AccessRules rules = RulesOf(shipped.file);
    const std::optional<Caller> agent = WithUri(shipped.agent_uri, rules);
    ASSERT_TRUE(agent.has_value()) << shipped.file;
    EXPECT_TRUE(agent->MayReportFor("node-1")) << shipped.file;
    EXPECT_EQ(agent->MayReportFor("node-2"), !shipped.is_bound_to_its_host) << shipped.file;
    EXPECT_FALSE(agent->May(Role::kViewer)) << shipped.file;
    EXPECT_FALSE(WithUri(shipped.agent_uri + "/more", rules).has_value()) << shipped.file;
  }
}

TEST(AccessFilesTest, AnAdminIsNoAgent) {
  for (const Shipped& shipped : kShipped) {
    const std::optional<Caller> admin = WithUri(shipped.admin_uri, RulesOf(shipped.file));
    ASSERT_TRUE(admin.has_value()) << shipped.file;
    EXPECT_TRUE(admin->May(Role::kAdmin)) << shipped.file;
    EXPECT_FALSE(admin->MayReportFor("node-1")) << shipped.file;
  }
}

}  // namespace
}  // namespace lockstep
