#include "daemon/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <prometheus/counter.h>
#include <prometheus/registry.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/stop_signal.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "daemon/health_routes.h"
#include "daemon/http_route.h"
#include "daemon/web/web_guard.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kHalfRequest[] = "GET /echo HTTP/1.1\r\nHost: x\r\n";

// A connection to a server on the loopback interface, closed at its end.
class Connection {
 public:
  explicit Connection(int port, const std::string& first_bytes = "") : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_TRUE(Send(first_bytes));
  }
  ~Connection() { close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool Send(const std::string& bytes) {
    return send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }

  // Everything until the server closes, with a pause after each 64 KiB.
  std::string ReadAll(int64_t pause_ns = 0) {
    std::string answer;
    std::vector<char> buffer(64 << 10);
    for (ssize_t got; (got = read(socket_, buffer.data(), buffer.size())) > 0; StopSignal().WaitFor(pause_ns)) {
      answer.append(buffer.data(), got);
    }
    return answer;
  }

  // True when the server has ended it, or does so within `nanos`.
  bool Ended(int64_t nanos = 0) {
    pollfd event = {socket_, POLLRDHUP, 0};
    return poll(&event, 1, static_cast<int>(nanos / kNanosPerMilli)) == 1;
  }

 private:
  const int socket_;
};

using Connections = std::vector<std::unique_ptr<Connection>>;

Connections Connect(int port, int count, const std::string& first_bytes) {
  Connections connections;
  for (int i = 0; i < count; ++i) connections.push_back(std::make_unique<Connection>(port, first_bytes));
  return connections;
}

std::string Ask(int port, const std::string& request) { return Connection(port, request).ReadAll(); }

std::string GetRequest(const std::string& path) { return absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\n\r\n"); }

std::string Get(int port, const std::string& path) { return Ask(port, GetRequest(path)); }

int64_t NanosOf(const std::function<void()>& work) {
  const int64_t begin_ns = RealClock().MonotonicNanos();
  work();
  return RealClock().MonotonicNanos() - begin_ns;
}

HttpRoute EchoRoute() {
  return {"/echo", [](const HttpRequest& request) { return HttpResponse{200, "text/x-echo", request.query}; }};
}

std::unique_ptr<HttpServer> StartEcho(const HttpLimits& limits = {}) {
  auto server = HttpServer::Start("127.0.0.1:0", {EchoRoute()}, limits);
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

TEST(HttpServerTest, ARouteThatEndsInASlashStandsForAllBelowIt) {
  const HttpRoute below = {"/below/", [](const HttpRequest& request) { return HttpResponse{200, "", request.path}; }};
  auto server = HttpServer::Start("127.0.0.1:0", {EchoRoute(), below});
  ASSERT_OK(server);
  EXPECT_THAT(Get((*server)->port(), "/below/7/graph.svg"), EndsWith("\r\n\r\n/below/7/graph.svg"));
  EXPECT_THAT(Get((*server)->port(), "/below/"), StartsWith("HTTP/1.1 200"));
  for (const char* path : {"/below", "/", "/above/7", "/echo/7"}) {
    EXPECT_THAT(Get((*server)->port(), path), StartsWith("HTTP/1.1 404")) << path;
  }
}

TEST(HttpServerTest, APrivatePageAnswersOnlyWhereTheGuardAsksWhoComes) {
  const TemporaryDirectory directory;
  const std::string users = "basic_auth_users:\n  me: $2a$05$bvIG6Nmid91Mu9RcmmWZfO5HJIMCT8riNW0hEp8f6/FuA2/mHZFpe\n";
  const std::string tls_alone = "http_server_config:\n  headers:\n    X-Frame-Options: deny\n";
  const auto statuses = [&](const std::string& file) {
    HttpRoute open = EchoRoute();
    HttpRoute hidden = EchoRoute();
    hidden.path = "/private";
    hidden.is_private = true;
    auto guard = WebGuard::Open(file, /*needs_tls=*/false, RealClock());
    EXPECT_OK(guard);
    auto server = HttpServer::Start("127.0.0.1:0", {open, hidden}, {}, *std::move(guard));
    EXPECT_OK(server);
    const int port = (*server)->port();
    const std::string as_me = "GET /private HTTP/1.1\r\nHost: x\r\nAuthorization: Basic bWU6cGFzc3dvcmQ=\r\n\r\n";
    return absl::StrCat(Get(port, "/echo").substr(9, 3), " ", Get(port, "/private").substr(9, 3), " ",
                        Ask(port, as_me).substr(9, 3));
  };
  EXPECT_EQ(statuses(""), "200 403 403") << "without a guard";
  EXPECT_EQ(statuses(directory.Write("open.yaml", tls_alone).string()), "200 403 403");
  EXPECT_EQ(statuses(directory.Write("users.yaml", users).string()), "401 401 200");
}

TEST(HttpServerTest, RefusesOtherMethodsAndAnswersHeadWithoutBody) {
  const auto server = StartEcho();
  EXPECT_THAT(Ask(server->port(), "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"),
              StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(Ask(server->port(), "HEAD /echo?abc HTTP/1.1\r\nHost: x\r\n\r\n"),
              AllOf(HasSubstr("Content-Length: 3\r\n"), EndsWith("\r\n\r\n")));
}

TEST(HttpServerTest, EveryAnswerIsForNowAndEndsItsConnection) {
  const auto server = StartEcho();
  for (const char* path : {"/echo", "/none"}) {
    EXPECT_THAT(Get(server->port(), path),
                AllOf(HasSubstr("Cache-Control: no-store\r\n"), HasSubstr("X-Content-Type-Options: nosniff\r\n"),
                      HasSubstr("Connection: close\r\n"), Not(HasSubstr("Date:"))));
  }
}

TEST(HttpServerTest, QueryIsAsSentAndABodyMeansNothing) {
  const auto server = StartEcho();
  EXPECT_THAT(Get(server->port(), "/echo?a=%41+b"), EndsWith("\r\n\r\na=%41+b"));
  EXPECT_THAT(Ask(server->port(), "GET /echo?c HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12345"),
              AllOf(StartsWith("HTTP/1.1 200"), EndsWith("\r\n\r\nc")));
}

TEST(HttpServerTest, EndlessHeadIsRefused) {
  HttpLimits limits;
  limits.head_bytes = 4096;
  const auto server = StartEcho(limits);
  Connection connection(server->port(), kHalfRequest);
  connection.Send(absl::StrCat("X-Long: ", std::string(limits.head_bytes, 'x')));
  EXPECT_THAT(connection.ReadAll(), StartsWith("HTTP/1.1 4"));
}

TEST(HttpServerTest, AnswersBesideClientsThatSayNothing) {
  const auto server = StartEcho();
  for (const char* first_bytes : {"", kHalfRequest}) {
    for (const int count : {2, 64, 300}) {
      const Connections silent = Connect(server->port(), count, first_bytes);
      for (int probe = 0; probe < 3; ++probe) {
        std::string answer;
        // On a crowded machine a connection may be asked for twice, a second apart.
        EXPECT_LT(NanosOf([&] { answer = Get(server->port(), "/echo?here"); }), 4 * kNanosPerSecond) << count;
        EXPECT_THAT(answer, EndsWith("here"));
      }
    }
  }
}

TEST(HttpServerTest, BeyondTheLimitTheOldestMakesRoom) {
  HttpLimits limits;
  limits.connections = 4;
  limits.waiting_per_page = 1;
  const auto server = StartEcho(limits);
  const Connections silent = Connect(server->port(), 6, kHalfRequest);
  EXPECT_TRUE(silent[0]->Ended(kNanosPerSecond));
  EXPECT_TRUE(silent[1]->Ended(kNanosPerSecond));
  for (int i = 2; i < 6; ++i) EXPECT_FALSE(silent[i]->Ended()) << i;
  silent[5]->Send("\r\n");
  EXPECT_THAT(silent[5]->ReadAll(), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServerTest, TricklingClientIsHungUpOn) {
  HttpLimits limits;
  limits.request_ns = 300 * kNanosPerMilli;
  const auto server = StartEcho(limits);
  Connection connection(server->port(), kHalfRequest);
  const int64_t lasted_ns = NanosOf([&] {
    for (int i = 0; i < 500 && !connection.Ended(10 * kNanosPerMilli); ++i) connection.Send("x");
  });
  EXPECT_GE(lasted_ns, limits.request_ns / 2);
  EXPECT_LT(lasted_ns, 2 * kNanosPerSecond);
}

TEST(HttpServerTest, ClientThatReadsSlowlyIsHungUpOn) {
  constexpr size_t kHuge = 256 << 20;
  HttpLimits limits;
  limits.answer_ns = 200 * kNanosPerMilli;
  const HttpRoute huge = {"/huge", [](const HttpRequest&) {
                            return HttpResponse{200, "text/plain", std::string(kHuge, 'x')};
                          }};
  const auto server = HttpServer::Start("127.0.0.1:0", {huge, EchoRoute()}, limits);
  ASSERT_OK(server);
  Connection connection((*server)->port(), GetRequest("/huge"));
  EXPECT_THAT(Get((*server)->port(), "/echo?a"), EndsWith("a"));
  EXPECT_LT(connection.ReadAll(kNanosPerMilli).size(), kHuge);
}

TEST(HttpServerTest, SlowPageDelaysOnlyThoseWhoAskForIt) {
  StopSignal begun;
  StopSignal release;
  const HttpRoute slow = {"/slow", [&begun, &release](const HttpRequest&) {
                            begun.Stop();
                            release.WaitFor(60 * kNanosPerSecond);
                            return HttpResponse{};
                          }};
  HttpLimits limits;
  limits.waiting_per_page = 2;
  const auto server = HttpServer::Start("127.0.0.1:0", {slow, EchoRoute()}, limits);
  ASSERT_OK(server);
  const int port = (*server)->port();
  Connection first(port, GetRequest("/slow"));
  ASSERT_TRUE(begun.WaitFor(10 * kNanosPerSecond));
  const Connections others = Connect(port, 3, GetRequest("/slow"));
  const auto refused = [&others] {
    return std::find_if(others.begin(), others.end(), [](const auto& other) { return other->Ended(kNanosPerMilli); });
  };
  for (int i = 0; i < 10'000 && refused() == others.end(); ++i) continue;
  ASSERT_NE(refused(), others.end());
  EXPECT_THAT((*refused())->ReadAll(), StartsWith("HTTP/1.1 503"));
  // Those who wait for a page keep their connections, however many come later.
  const Connections silent = Connect(port, 200, "");
  EXPECT_LT(NanosOf([&] { EXPECT_THAT(Get(port, "/echo?a"), EndsWith("a")); }), kNanosPerSecond);
  release.Stop();
  EXPECT_THAT(first.ReadAll(), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(std::count_if(others.begin(), others.end(),
                          [](const auto& other) { return absl::StartsWith(other->ReadAll(), "HTTP/1.1 200"); }),
            2);
}

TEST(HttpServerTest, StopsAtOnceWhateverItsClientsDo) {
  for (const char* address : {"127.0.0.1:0", ":0"}) {
    auto server = HttpServer::Start(address, {EchoRoute()});
    ASSERT_OK(server);
    const int port = (*server)->port();
    const Connections silent = Connect(port, 8, "");
    const Connections half = Connect(port, 8, kHalfRequest);
    EXPECT_THAT(Get(port, "/"), StartsWith("HTTP/1.1 404"));
    EXPECT_LT(NanosOf([&] { server->reset(); }), 500 * kNanosPerMilli) << address;
    EXPECT_TRUE(silent[0]->Ended(kNanosPerSecond));
    EXPECT_TRUE(half[0]->Ended(kNanosPerSecond));
  }
}

TEST(HttpServerTest, StopsWhileAPageWorksAndOthersWaitForIt) {
  StopSignal begun;
  const HttpRoute slow = {"/slow", [&begun](const HttpRequest&) {
                            begun.Stop();
                            StopSignal().WaitFor(200 * kNanosPerMilli);
                            return HttpResponse{};
                          }};
  auto server = HttpServer::Start("127.0.0.1:0", {slow});
  ASSERT_OK(server);
  const Connections asking = Connect((*server)->port(), 5, GetRequest("/slow"));
  ASSERT_TRUE(begun.WaitFor(10 * kNanosPerSecond));
  EXPECT_LT(NanosOf([&] { server->reset(); }), kNanosPerSecond);
  for (const auto& connection : asking) EXPECT_TRUE(connection->Ended(kNanosPerSecond));
}

TEST(HttpServerTest, ListensOnBothFamilies) {
  for (const char* address : {"127.0.0.1:0", "[::]:0", ":0"}) {
    const auto server = HttpServer::Start(address, {EchoRoute()});
    ASSERT_OK(server);
    EXPECT_THAT(Get((*server)->port(), "/echo?a"), EndsWith("a")) << address;
  }
  const auto loopback = HttpServer::Start("[::1]:0", {});
  ASSERT_OK(loopback);
  const std::string address = absl::StrCat("[::1]:", (*loopback)->port());
  EXPECT_THAT(HttpServer::Start(address, {}), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(address)));
}

TEST(HttpServerTest, AddressOfAnotherMachineIsAnErrorThatNamesIt) {
  EXPECT_THAT(HttpServer::Start("192.0.2.1:0", {}), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("192.0.2.1")));
}

TEST(HttpServerTest, PortInUseIsAnErrorThatNamesTheAddress) {
  const auto first = StartEcho();
  const std::string address = absl::StrCat("127.0.0.1:", first->port());
  EXPECT_THAT(HttpServer::Start(address, {}), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(address)));
}

TEST(HttpServerTest, UnreadableAddressIsRefused) {
  for (const char* address : {"", "localhost", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:70000", "1.2.3.4:1,2",
                              "localhost:0", "::1:0", "[]:0", "[127.0.0.1]:0", "[::1]", "[::1:0"}) {
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
      HttpServer::Start("127.0.0.1:0", HealthRoutes(registry, {.ready = [&ready] { return ready; },
                                                               .before_scrape = [&counter] { counter.Increment(2); }}));
  ASSERT_OK(server);
  const int port = (*server)->port();
  EXPECT_THAT(Get(port, "/healthz"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Get(port, "/readyz"), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("not ready: not yet connected")));
  EXPECT_THAT(Get(port, "/metrics"),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("version=0.0.4"), HasSubstr("\nlockstep_test_total 2\n")));
}

TEST(HealthRoutesTest, HealthFailsForWhatIsStuckAndForNothingElse) {
  prometheus::Registry registry;
  absl::Status alive = absl::UnavailableError("shard 0 has not moved");
  auto server =
      HttpServer::Start("127.0.0.1:0", HealthRoutes(registry, {.alive = [&alive] { return alive; },
                                                               .ready = [] { return absl::UnavailableError("ill"); }}));
  ASSERT_OK(server);
  EXPECT_THAT(Get((*server)->port(), "/healthz"),
              AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("stuck: shard 0 has not moved")));
  alive = absl::OkStatus();
  EXPECT_THAT(Get((*server)->port(), "/healthz"), StartsWith("HTTP/1.1 200"));
}

TEST(HealthRoutesTest, ReadyIsTwoHundred) {
  prometheus::Registry registry;
  auto server = HttpServer::Start("127.0.0.1:0", HealthRoutes(registry, {.ready = [] { return absl::OkStatus(); }}));
  ASSERT_OK(server);
  EXPECT_THAT(Get((*server)->port(), "/readyz"), AllOf(StartsWith("HTTP/1.1 200"), Not(HasSubstr("not ready"))));
}

}  // namespace
}  // namespace lockstep
