#include "daemon/web/tls_policy.h"

#include <gmock/gmock.h>
#include <gnutls/gnutls.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/testing/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

bool IsUnderstood(const std::string& priorities) {
  gnutls_priority_t parsed = nullptr;
  const bool understood = gnutls_priority_init(&parsed, priorities.c_str(), nullptr) == GNUTLS_E_SUCCESS;
  if (understood) gnutls_priority_deinit(parsed);
  return understood;
}

TEST(TlsPolicyTest, NothingBelowTls12IsSpoken) {
  const std::string left_alone = TlsPolicy().Priorities();
  EXPECT_TRUE(IsUnderstood(left_alone));
  EXPECT_THAT(left_alone, HasSubstr("-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"));
  TlsPolicy policy;
  ASSERT_OK(policy.SetVersions("TLS10", ""));
  EXPECT_EQ(policy.Priorities(), left_alone);
  ASSERT_OK(policy.SetVersions("TLS13", ""));
  EXPECT_THAT(policy.Priorities(), Not(HasSubstr("TLS1.2")));
  ASSERT_OK(policy.SetVersions("", "TLS12"));
  EXPECT_THAT(policy.Priorities(), Not(HasSubstr("TLS1.3")));
  EXPECT_THAT(policy.SetVersions("", "TLS11"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no version")));
  EXPECT_THAT(policy.SetVersions("TLS13", "TLS12"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no version")));
  EXPECT_THAT(policy.SetVersions("1.2", ""), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'1.2'")));
}

TEST(TlsPolicyTest, SuitesAndCurvesAreThoseOfTheListAndNoOthers) {
  TlsPolicy policy;
  ASSERT_OK(policy.SetCipherSuites(
      {"TLS_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"}));
  ASSERT_OK(policy.SetCurves({"X25519", "CurveP256"}));
  EXPECT_TRUE(IsUnderstood(policy.Priorities())) << policy.Priorities();
  EXPECT_THAT(policy.Priorities(), HasSubstr(":-KX-ALL:+ECDHE-RSA:+ECDHE-ECDSA:-CIPHER-ALL:+AES-256-GCM:-MAC-ALL:+AEAD"
                                             ":-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:%SERVER_PRECEDENCE"));
  policy.set_prefers_server(false);
  EXPECT_THAT(policy.Priorities(), Not(HasSubstr("PRECEDENCE")));
  EXPECT_THAT(policy.SetCipherSuites({"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_RSA_WITH_AES_128_CBC_SHA"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("every cipher")));
  EXPECT_THAT(policy.SetCipherSuites({"TLS_RSA_WITH_RC4_128_SHA"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not known")));
  EXPECT_THAT(policy.SetCurves({"P-256"}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'P-256'")));
}

}  // namespace
}  // namespace lockstep
