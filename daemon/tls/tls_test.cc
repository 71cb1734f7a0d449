// Keys and certificates from files: what is refused, what is taken on while it changes, and who gets through.

#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "daemon/tls/channel_security.h"
#include "daemon/tls/server_credentials.h"
#include "daemon/tls/testing/empty_call.h"
#include "daemon/tls/testing/test_keys.h"
#include "daemon/tls/tls_files.h"
#include "daemon/tls/tls_watch.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TlsTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

  // Starts a server that knows no methods: whoever is let in is told so.
  void Serve(const TlsFiles& files, ClientCertificate client) {
    auto watch = TlsWatch::Open(files);
    ASSERT_OK(watch);
    watch_ = *std::move(watch);
    credentials_ = MakeServerCredentials(*watch_, client);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", credentials_, &port_);
    builder.RegisterCallbackGenericService(&nothing_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }

  // Whether a connection with these keys comes up.
  bool Connects(const ChannelSecurity& security) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto credentials = MakeChannelCredentials(security, arguments);
    EXPECT_OK(credentials);
    const auto channel = grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port_), *credentials, arguments);
    return CallWithNothing(channel, "/nothing/here").error_code() == grpc::StatusCode::UNIMPLEMENTED;
  }

  TemporaryDirectory directory_;
  TestAuthority authority_{directory_.path(), "fleet"};
  std::unique_ptr<TlsWatch> watch_;
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  grpc::CallbackGenericService nothing_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

TEST_F(TlsTest, FilesThatAreOfNoUseAreNamed) {
  const TlsFiles good = authority_.Issue("good", "good", "");
  const TlsFiles other = authority_.Issue("other", "other", "");
  EXPECT_OK(ReadTlsFiles(good));
  EXPECT_OK(ReadTlsFiles({}));
  const std::string garbage = directory_.path().string() + "/garbage";
  Write(garbage, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  const auto refused = [](const TlsFiles& files, const std::string& file, const std::string& why) {
    EXPECT_THAT(ReadTlsFiles(files),
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr(file), HasSubstr(why))));
  };
  refused({good.certificate, other.key, ""}, other.key, "is not the key of " + good.certificate);
  refused({good.certificate, "", ""}, good.certificate, "needs its key");
  refused({"", good.key, ""}, good.key, "needs its certificate");
  refused({garbage, good.key, ""}, garbage, "holds no certificate in PEM");
  refused({good.certificate, garbage, ""}, garbage, "holds no private key");
  refused({"", "", garbage}, garbage, "holds no certificate");
  refused({"", "", directory_.path().string() + "/absent"}, "/absent", "No such file");
  refused({"", "", directory_.path().string()}, directory_.path().string(), "cannot be read");
  refused({"", "", "/dev/zero"}, "/dev/zero", "is longer than");
}

TEST_F(TlsTest, AClientNeedsTheAuthoritiesOfWhatElseItNames) {
  const TlsFiles files = authority_.Issue("client", "client", "");
  EXPECT_OK(CheckChannelSecurity({}));
  EXPECT_OK(CheckChannelSecurity({files, "name"}));
  EXPECT_THAT(CheckChannelSecurity({{files.certificate, files.key, ""}, ""}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("only with the authorities")));
  EXPECT_THAT(CheckChannelSecurity({{}, "name"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("only with the authorities")));
}

TEST_F(TlsTest, OnlyCertificatesOfTheAuthorityGetThrough) {
  TestAuthority stranger(directory_.path(), "stranger");
  Serve(authority_.Issue("server", "server", "IP:127.0.0.1"), ClientCertificate::kRequired);
  const TlsFiles client = authority_.Issue("client", "client", "");
  EXPECT_TRUE(Connects({client, ""}));
  EXPECT_FALSE(Connects({})) << "plain text";
  EXPECT_FALSE(Connects({{"", "", authority_.path()}, ""})) << "no certificate";
  const TlsFiles forged = stranger.Issue("forged", "client", "");
  EXPECT_FALSE(Connects({{forged.certificate, forged.key, authority_.path()}, ""})) << "of another authority";
  EXPECT_FALSE(Connects({{client.certificate, client.key, stranger.path()}, ""})) << "the server is not believed";
  EXPECT_FALSE(Connects({client, "other-collector"})) << "the server is another one";
}

TEST_F(TlsTest, AClientMayStayUnnamedWhereCertificatesAreOptional) {
  TestAuthority stranger(directory_.path(), "stranger");
  Serve(authority_.Issue("server", "server", "DNS:collector"), ClientCertificate::kOptional);
  EXPECT_TRUE(Connects({{"", "", authority_.path()}, "collector"}));
  const TlsFiles forged = stranger.Issue("forged", "client", "");
  EXPECT_FALSE(Connects({{forged.certificate, forged.key, authority_.path()}, "collector"}));
}

TEST_F(TlsTest, RenewedKeysServeTheNextConnectionAndHalfRenewedOnesDoNot) {
  const TlsFiles server = authority_.Issue("server", "server", "DNS:before");
  Serve({server.certificate, server.key, ""}, ClientCertificate::kNotAsked);
  const ChannelSecurity before = {{"", "", authority_.path()}, "before"};
  const ChannelSecurity after = {{"", "", authority_.path()}, "after"};
  EXPECT_TRUE(Connects(before));
  EXPECT_FALSE(watch_->Refresh()) << "nothing has changed";

  const TlsFiles renewed = authority_.Issue("renewed", "server", "DNS:after");
  ASSERT_EQ(std::rename(renewed.certificate.c_str(), server.certificate.c_str()), 0);
  EXPECT_FALSE(watch_->Refresh()) << "the key does not fit yet";
  EXPECT_TRUE(Connects(before));
  ASSERT_EQ(std::rename(renewed.key.c_str(), server.key.c_str()), 0);
  EXPECT_TRUE(watch_->Refresh());
  EXPECT_EQ(watch_->current().number, 2);
  EXPECT_TRUE(Connects(after));
  EXPECT_FALSE(Connects(before));
}

TEST_F(TlsTest, AnAuthorityThatIsTakenAwayOpensNoMore) {
  TestAuthority next(directory_.path(), "next");
  const TlsFiles server = authority_.Issue("server", "server", "IP:127.0.0.1");
  const std::string clients = directory_.path().string() + "/clients";
  Write(clients, "");
  std::filesystem::copy_file(authority_.path(), clients, std::filesystem::copy_options::overwrite_existing);
  Serve({server.certificate, server.key, clients}, ClientCertificate::kRequired);
  const TlsFiles old_client = authority_.Issue("old", "client", "");
  TlsFiles new_client = next.Issue("new", "client", "");
  new_client.authorities = authority_.path();
  EXPECT_TRUE(Connects({old_client, ""}));
  EXPECT_FALSE(Connects({new_client, ""}));
  std::filesystem::copy_file(next.path(), clients, std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(watch_->Refresh());
  EXPECT_FALSE(Connects({old_client, ""}));
  EXPECT_TRUE(Connects({new_client, ""}));
}

}  // namespace
}  // namespace lockstep
