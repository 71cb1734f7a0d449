// Every access.yaml that we ship, read as a collector reads it: whom it lets report, and for which host alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "base/testing/status_matchers.h"
#include "collector/access/access_rules.h"
#include "collector/access/caller.h"
#include "collector/access/jwt_verifier.h"
#include "collector/access/peer_names.h"
#include "collector/access/role.h"
#include "collector/access/testing/signed_tokens.h"
#include "daemon/bounded_file.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

// A file, and what is shown to who reads it.
struct Shipped {
  std::string file;
  std::string agent_uri;  // of the agent of node-1; "" = it shows the token of its pod
  std::string admin_uri;
};

const Shipped kShipped[] = {
    {"deploy/access/access.yaml", "spiffe://example.org/lockstep/agent/node-1", "spiffe://example.org/sre/alice"},
    {"deploy/kubernetes/base/access.yaml", "", "spiffe://lockstep.svc/admin"},
    {"deploy/kubernetes/overlays/spire/access.yaml", "spiffe://example.org/lockstep/agent/node-1",
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

// The caller that a pod on node-1 is by its token; its error is that of the rules.
absl::StatusOr<Caller> WithToken(const std::string& service_account, const OidcRules& oidc) {
  static const SigningKey key = MakeRsaKey(nullptr);
  const auto verifier = JwtVerifier::Create(oidc, KeySetOf(key));
  RETURN_IF_ERROR(verifier.status());
  ASSIGN_OR_RETURN(const JwtVerifier::Holder holder,
                   (*verifier)->Verify(SignToken(key, "RS256", ClaimsOfPod(service_account, "node-1", 60)), 0));
  Caller caller;
  caller.role = holder.grant.role;
  caller.hosts = {holder.host};
  return caller;
}

TEST(AccessFilesTest, NoFileIsForgottenHere) {
  std::set<std::string> found, known;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(Root() / "deploy")) {
    if (entry.path().filename() == "access.yaml") found.insert(entry.path().lexically_relative(Root()).string());
  }
  for (const Shipped& shipped : kShipped) known.insert(shipped.file);
  EXPECT_THAT(found, UnorderedElementsAreArray(known));
}

TEST(AccessFilesTest, AnAgentReportsForItsOwnHostAndReadsNothing) {
  for (const Shipped& shipped : kShipped) {
    const AccessRules rules = RulesOf(shipped.file);
    std::optional<Caller> agent;
    if (shipped.agent_uri.empty()) {
      ASSERT_EQ(rules.oidc.size(), 1u) << shipped.file;
      const absl::StatusOr<Caller> pod = WithToken("lockstep-agent", rules.oidc[0]);
      ASSERT_OK(pod) << shipped.file;
      agent = *pod;
      EXPECT_THAT(WithToken("default", rules.oidc[0]),
                  StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("no rule")));
    } else {
      agent = WithUri(shipped.agent_uri, rules);
      EXPECT_FALSE(WithUri(shipped.agent_uri + "/more", rules).has_value()) << shipped.file;
    }
    ASSERT_TRUE(agent.has_value()) << shipped.file;
    EXPECT_TRUE(agent->MayReportFor("node-1")) << shipped.file;
    EXPECT_FALSE(agent->MayReportFor("node-2")) << shipped.file;
    EXPECT_FALSE(agent->May(Role::kViewer)) << shipped.file;
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
