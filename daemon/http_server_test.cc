#include "daemon/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/counter.h>
#include <prometheus/registry.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "daemon/health_routes.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The whole answer of a server on the loopback interface to `request`, read until the server closes.
std::string Ask(int port, const std::string& request) {
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(send(connection, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t got; (got = read(connection, buffer, sizeof(buffer))) > 0;) answer.append(buffer, got);
  close(connection);
  return answer;
}

std::string Get(int port, const std::string& path) {
  return Ask(port, absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\n\r\n"));
}

std::unique_ptr<HttpServer> StartEcho() {
  auto server = HttpServer::Start("127.0.0.1:0", {{"/echo", [](const HttpRequest& request) {
                                                     return HttpResponse{200, "text/x-echo", request.query};
                                                   }}});
  EXPECT_OK(server);
  return std::move(*server);
}

TEST(HttpServerTest, AnswersARouteWithQueryStatusAndType) {
  const auto server = StartEcho();
  ASSERT_GT(server->port(), 0);
  EXPECT_THAT(Get(server->port(), "/echo?a=1"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("Content-Type: text/x-echo\r\n"),
                    HasSubstr("Content-Length: 3\r\n"), EndsWith("\r\n\r\na=1")));
}

TEST(HttpServerTest, MatchesPathsExactly) {
  const auto server = StartEcho();
  EXPECT_THAT(Get(server->port(), "/echo/more"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Get(server->port(), "/"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Get(server->port(), "/etc/passwd"), StartsWith("HTTP/1.1 404"));
}

TEST(HttpServerTest, RefusesOtherMethodsAndAnswersHeadWithoutBody) {
  const auto server = StartEcho();
  EXPECT_THAT(Ask(server->port(), "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"),
              StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(Ask(server->port(), "HEAD /echo?abc HTTP/1.1\r\nHost: x\r\n\r\n"),
              AllOf(HasSubstr("Content-Length: 3\r\n"), EndsWith("\r\n\r\n")));
}

TEST(HttpServerTest, StopsWithoutWaitingForALibrary) {
  for (const char* address : {"127.0.0.1:0", ":0"}) {
    auto server = HttpServer::Start(address, {});
    ASSERT_OK(server);
    EXPECT_THAT(Get((*server)->port(), "/"), StartsWith("HTTP/1.1 404"));
    const int64_t begin_ns = RealClock().MonotonicNanos();
    server->reset();
    // CivetWeb alone takes 2 s.
    EXPECT_LT(RealClock().MonotonicNanos() - begin_ns, 1500 * kNanosPerMilli) << address;
  }
}

TEST(HttpServerTest, PortInUseIsAnErrorThatNamesTheAddress) {
  const auto first = StartEcho();
  const std::string address = absl::StrCat("127.0.0.1:", first->port());
  EXPECT_THAT(HttpServer::Start(address, {}), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(address)));
}

TEST(HttpServerTest, UnreadableAddressIsRefused) {
  for (const char* address : {"", "localhost", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:70000", "1.2.3.4:1,2"}) {
    EXPECT_THAT(HttpServer::Start(address, {}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("address")))
        << address;
  }
}

TEST(HealthRoutesTest, ServesHealthReadinessAndMetrics) {
  prometheus::Registry registry;
  auto& family = prometheus::BuildCounter().Name("lockstep_test_total").Help("test").Register(registry);
  auto& counter = family.Add({});
  absl::Status ready = absl::UnavailableError("not yet connected");
  auto server =
      HttpServer::Start("127.0.0.1:0", HealthRoutes(
                                           registry, [&ready] { return ready; }, [&counter] { counter.Increment(2); }));
  ASSERT_OK(server);
  const int port = (*server)->port();
  EXPECT_THAT(Get(port, "/healthz"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Get(port, "/readyz"), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("not ready: not yet connected")));
  EXPECT_THAT(Get(port, "/metrics"),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("version=0.0.4"), HasSubstr("\nlockstep_test_total 2\n")));
}

TEST(HealthRoutesTest, ReadyIsTwoHundred) {
  prometheus::Registry registry;
  auto server = HttpServer::Start("127.0.0.1:0", HealthRoutes(registry, [] { return absl::OkStatus(); }));
  ASSERT_OK(server);
  EXPECT_THAT(Get((*server)->port(), "/readyz"), AllOf(StartsWith("HTTP/1.1 200"), Not(HasSubstr("not ready"))));
}

}  // namespace
}  // namespace lockstep
