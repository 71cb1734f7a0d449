// Rules of access: what a file means, and what is wrong with one that means nothing.

#include "collector/access/access_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/testing/status_matchers.h"
#include "collector/access/caller.h"
#include "collector/access/peer_names.h"
#include "collector/access/role.h"
#include "collector/access/wildcard.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kRules[] = R"yaml(
certificates:
  - {match: "spiffe://example.org/agent/{host}", role: agent}
  - {match: "dns:{host}.nodes.example.org", role: agent}
  - {match: "cn:gateway", role: agent, hosts: "*"}
  - {match: "cn:alice", role: admin}
  - {match: "dns:*.vision.example.org", role: operator, tenant: vision}
tenants:
  vision: [vision-*, resnet]
)yaml";

AccessRules Rules() { return *ParseAccessRules(kRules); }

TEST(WildcardTest, HasOneGap) {
  const Wildcard wildcard = *Wildcard::Parse("a*b", "*");
  EXPECT_EQ(wildcard.Match("axxb"), "xx");
  EXPECT_EQ(wildcard.Match("ab"), "");
  for (const char* other : {"a", "b", "", "axxbc", "xaxb"}) EXPECT_FALSE(wildcard.Match(other).has_value()) << other;
  EXPECT_FALSE(Wildcard::Parse("aba*aba", "*")->Match("aba").has_value()) << "ends may not overlap";
  EXPECT_TRUE(Wildcard::Parse("plain", "*")->Match("plain").has_value());
  EXPECT_FALSE(Wildcard::Parse("plain", "*")->Match("plain2").has_value());
  EXPECT_THAT(Wildcard::Parse("a*b*", "*"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("once")));
  EXPECT_THAT(Wildcard::Parse("", "*"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("empty")));
}

TEST(RoleTest, LadderAndAgents) {
  EXPECT_TRUE(Suffices(Role::kAdmin, Role::kViewer));
  EXPECT_TRUE(Suffices(Role::kOperator, Role::kOperator));
  EXPECT_FALSE(Suffices(Role::kViewer, Role::kOperator));
  EXPECT_FALSE(Suffices(Role::kAdmin, Role::kAgent)) << "an admin is no host";
  EXPECT_FALSE(Suffices(Role::kAgent, Role::kViewer)) << "an agent reads nothing";
  EXPECT_TRUE(Suffices(Role::kAgent, Role::kAgent));
  for (const char* name : {"viewer", "operator", "admin", "agent"}) EXPECT_EQ(NameOf(*RoleOf(name)), name);
  EXPECT_FALSE(RoleOf("root").has_value());
}

TEST(AccessRulesTest, AnAgentIsTheHostThatItsCertificateNames) {
  const AccessRules rules = Rules();
  PeerNames names;
  names.uris = {"spiffe://example.org/agent/node-1"};
  std::optional<Caller> caller = CallerOf(names, rules);
  ASSERT_TRUE(caller.has_value());
  EXPECT_THAT(caller->hosts, ElementsAre("node-1"));
  EXPECT_TRUE(caller->MayReportFor("node-1"));
  EXPECT_FALSE(caller->MayReportFor("node-2"));
  EXPECT_FALSE(caller->MayReportFor(""));
  EXPECT_EQ(caller->name, "certificate spiffe://example.org/agent/node-1");

  names = {};
  names.dns = {"node-1.nodes.example.org", "node-2.nodes.example.org", "other.example.org"};
  EXPECT_THAT(CallerOf(names, rules)->hosts, ElementsAre("node-1", "node-2"));
}

TEST(AccessRulesTest, AnAgentMayBeBelievedOfSomeJobsAlone) {
  const auto rules = ParseAccessRules("certificates: [{match: 'cn:{host}', role: agent, jobs: ['vision/*', resnet]}]");
  ASSERT_OK(rules);
  PeerNames names;
  names.common_names = {"node-1"};
  const std::optional<Caller> caller = CallerOf(names, *rules);
  ASSERT_TRUE(caller.has_value());
  for (const char* own : {"vision/a", "vision/a/b", "resnet", ""}) EXPECT_TRUE(caller->MayReportOf(own)) << own;
  for (const char* foreign : {"speech", "resnet2", "visio"}) EXPECT_FALSE(caller->MayReportOf(foreign)) << foreign;
  EXPECT_TRUE(Caller().MayReportOf("any"));
  for (const char* wrong : {"{match: 'cn:a', role: viewer, jobs: [a]}", "{match: 'cn:{host}', role: agent, jobs: []}",
                            "{match: 'cn:{host}', role: agent, jobs: a}"}) {
    EXPECT_FALSE(ParseAccessRules(std::string("certificates: [") + wrong + "]").ok()) << wrong;
  }
}

TEST(AccessRulesTest, ProvidersMayBeSeveralAndOneMayNameTheHostsOfAgents) {
  const auto one =
      ParseAccessRules("oidc: {issuer: a, audience: b, keys: c, rules: [{claim: d, value: e, role: viewer}]}");
  ASSERT_OK(one);
  EXPECT_EQ(one->oidc.size(), 1u);
  EXPECT_TRUE(one->takes_tokens());
  const auto two = ParseAccessRules(R"yaml(oidc:
  - {issuer: a, audience: b, keys: c, rules: [{claim: d, value: e, role: viewer}]}
  - issuer: https://kubernetes.default.svc
    audience: lockstep
    keys_url: https://kubernetes.default.svc/openid/v1/jwks
    keys_ca: /ca.crt
    keys_token: /token
    rules:
      - {claim: sub, value: agent, role: agent, host_claim: kubernetes.io.node.name, jobs: ["vision-*"]}
)yaml");
  ASSERT_OK(two);
  ASSERT_EQ(two->oidc.size(), 2u);
  EXPECT_EQ(two->oidc[1].origin.token_file, "/token");
  const ClaimRule& agent = two->oidc[1].rules.at(0);
  EXPECT_EQ(agent.host_claim, "kubernetes.io.node.name");
  EXPECT_TRUE(agent.reports.at(0).Match("vision-1").has_value());
}

TEST(AccessRulesTest, ATenantsStarStandsForAnyText) {
  const auto rules = ParseAccessRules("tenants: {vision: ['vision/*']}");
  ASSERT_OK(rules);
  Caller caller;
  caller.tenant = "vision";
  caller.jobs = rules->tenants.at("vision");
  EXPECT_TRUE(caller.Sees("vision/training/7")) << "with / too, unlike in the names of certificates";
  EXPECT_FALSE(caller.Sees("speech/vision/7"));
}

TEST(AccessRulesTest, NamesThatOnlyLookAlikeDoNotFit) {
  const AccessRules rules = Rules();
  for (const char* uri :
       {"spiffe://example.org/agent/", "spiffe://example.org/agent/a/b", "spiffe://example.org.evil/agent/node-1",
        "spiffe://example.org/agent/node 1", "spiffe://example.org/agent/*", "cn:alice", "alice"}) {
    PeerNames names;
    names.uris = {uri};
    EXPECT_FALSE(CallerOf(names, rules).has_value()) << uri;
  }
  PeerNames names;
  names.dns = {"alice", "gateway"};  // common names in the rules
  EXPECT_FALSE(CallerOf(names, rules).has_value());
  EXPECT_FALSE(CallerOf(PeerNames(), rules).has_value());
}

TEST(AccessRulesTest, TheFirstRuleThatFitsCounts) {
  const AccessRules rules = Rules();
  PeerNames names;
  names.dns = {"web.vision.example.org"};
  names.common_names = {"alice"};
  EXPECT_EQ(CallerOf(names, rules)->role, Role::kAdmin);
  names.common_names = {"gateway"};
  EXPECT_TRUE(CallerOf(names, rules)->MayReportFor("any"));
}

TEST(AccessRulesTest, ATenantSeesItsJobs) {
  PeerNames names;
  names.dns = {"web.vision.example.org"};
  const Caller caller = *CallerOf(names, Rules());
  EXPECT_EQ(caller.tenant, "vision");
  for (const char* job : {"vision-1", "vision-", "resnet"}) EXPECT_TRUE(caller.Sees(job)) << job;
  for (const char* job : {"", "vision", "resnet-2", "my-vision-1"}) EXPECT_FALSE(caller.Sees(job)) << job;
  EXPECT_TRUE(Caller().Sees("")) << "who has no tenant sees all";
}

TEST(AccessRulesTest, ATenantWithoutJobsSeesNone) {
  const AccessRules rules =
      *ParseAccessRules("certificates: [{match: 'cn:bob', role: viewer, tenant: none}]\ntenants: {none: []}\n");
  PeerNames names;
  names.common_names = {"bob"};
  EXPECT_FALSE(CallerOf(names, rules)->Sees("job"));
}

TEST(AccessRulesTest, WhatIsWrongIsNamedWithItsLine) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "expected a map"},
      {"certificates: 1", "must be a list"},
      {"\ncertificate: []", "line 2: unknown key 'certificate'; did you mean 'certificates'?"},
      {"certificates:\n - {match: 'cn:a'}", "line 2: 'role' is missing"},
      {"certificates:\n - {role: viewer}", "line 2: 'match' is missing"},
      {"certificates:\n - {match: 'cn:a', role: root}", "line 2: role 'root': expected viewer"},
      {"certificates:\n - {match: alice, role: viewer}", "expected spiffe://"},
      {"certificates:\n - {match: 'cn:*a*', role: viewer}", "may stand there once"},
      {"certificates:\n - {match: 'cn:a', role: agent}", "needs the name of its host"},
      {"certificates:\n - {match: 'cn:{host}', role: agent, hosts: '*'}", "or else hosts"},
      {"certificates:\n - {match: 'cn:a', role: agent, hosts: 'b'}", "the only use of 'hosts'"},
      {"certificates:\n - {match: 'cn:a', role: viewer, hosts: '*'}", "the only use of 'hosts'"},
      {"certificates:\n - {match: 'cn:a', role: viewer, tenant: t}", "'t' is not among 'tenants'"},
      {"tenants: {t: [a]}\ncertificates:\n - {match: 'cn:a', role: admin, tenant: t}", "line 3: an admin acts on"},
      {"certificates:\n - {match: 'cn:a', role: viewer, role: admin}", "appears twice"},
      {"tokens:\n - {name: a.b, hash: '$5$x$y', role: viewer}", "holds no '.'"},
      {"tokens:\n - {name: a, hash: secret, role: viewer}", "as of crypt(3)"},
      {"tokens:\n - {name: a, hash: '$5$x$y', role: agent}", "needs a certificate or the token of a provider"},
      {"tokens:\n - {name: a, hash: '$5$x$y', role: viewer}\n - {name: a, hash: '$5$x$y', role: viewer}",
       "line 3: token 'a' appears twice"},
      {"oidc: {issuer: a, audience: b}", "'issuer' gives the key set, where no 'keys' does: is no URL: a"},
      {"oidc: {issuer: 'http://login.example.org', audience: b}", "must be https, or http to loopback"},
      {"oidc: {issuer: a, audience: b, keys_url: 'file:///etc/passwd'}", "'keys_url' gives the key set"},
      {"oidc: {issuer: a, audience: b, keys: c, keys_url: 'https://d'}", "goes with neither 'keys_url' nor"},
      {"oidc: {issuer: a, audience: b, keys: c, keys_ca: d}", "goes with neither 'keys_url' nor"},
      {"oidc: {issuer: a, audience: b, keys: c}", "must give somebody a role"},
      {"oidc: {issuer: a, audience: b, keys: c, rules: [{claim: d, role: viewer}]}", "'value' is missing"},
      {"oidc: {issuer: a, audience: b, keys: c, rules: [{claim: d, value: e, role: agent}]}", "'host_claim'"},
      {"oidc: {issuer: a, audience: b, keys: c, rules: [{claim: d, value: e, role: viewer, host_claim: f}]}",
       "'host_claim' is for an agent"},
      {"oidc: {issuer: a, audience: b, keys: c, rules: [{claim: d, value: e, role: viewer, jobs: [f]}]}",
       "'jobs' lists those of which an agent"},
      {"oidc: {issuer: 'https://a', audience: b, keys_token: c}", "shown to 'keys_url' alone"},
      {"oidc:\n - {issuer: a, audience: b, keys: c, rules: [{claim: d, value: e, role: viewer}]}\n"
       " - {issuer: a, audience: f, keys: c, rules: [{claim: d, value: e, role: viewer}]}",
       "line 3: issuer 'a' appears twice"},
      {"oidc: [a]", "line 1: expected a map"},
      {"oidc: [{}, {}, {}, {}, {}, {}, {}, {}, {}]", "more than 8 providers"},
      {"tenants: [a]", "a map of names"},
      {"tenants: {a: [b*c*]}", "may stand there once"},
      {"a: [", "line"},
  };
  for (const auto& [text, why] : wrong) {
    EXPECT_THAT(ParseAccessRules(text), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why))) << text;
  }
  EXPECT_THAT(ParseAccessRules(std::string(kMaxAccessBytes + 1, ' ')),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("longer")));
  std::string many = "tokens:\n";
  for (size_t i = 0; i <= kMaxAccessRules; ++i) many += "- x\n";
  EXPECT_THAT(ParseAccessRules(many), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than")));
}

TEST(AccessRulesTest, NoRulesLetNobodyIn) {
  const AccessRules rules = *ParseAccessRules("{}");
  EXPECT_FALSE(rules.takes_tokens());
  EXPECT_THAT(rules.certificates, IsEmpty());
}

}  // namespace
}  // namespace lockstep
