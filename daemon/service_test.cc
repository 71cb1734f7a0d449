#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/stop_signal.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "daemon/ports_file.h"
#include "daemon/service_notify.h"
#include "daemon/shutdown_signals.h"
#include "daemon/watchdog_feed.h"

namespace lockstep {
namespace {

constexpr int64_t kTestDeadlineNs = 30 * kNanosPerSecond;

// What systemd would be: a datagram socket that is read from.
class NotifySocket {
 public:
  explicit NotifySocket(const std::string& path) : socket_(socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    if (path[0] == '@') address.sun_path[0] = '\0';
    const socklen_t length = offsetof(sockaddr_un, sun_path) + path.size();
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), length), 0);
  }
  ~NotifySocket() { close(socket_); }

  std::string Receive() {
    char buffer[256];
    const ssize_t got = recv(socket_, buffer, sizeof(buffer), 0);
    return got < 0 ? "" : std::string(buffer, got);
  }

 private:
  int socket_;
};

TEST(ServiceNotifierTest, SpeaksTheProtocolOverAPathOrAnAbstractName) {
  TemporaryDirectory directory;
  for (const std::string& path :
       {(directory.path() / "notify").string(), "@lockstep-test-" + std::to_string(getpid())}) {
    NotifySocket systemd(path);
    const ServiceNotifier notifier(path);
    notifier.Ready();
    EXPECT_EQ(systemd.Receive(), "READY=1");
    notifier.Watchdog();
    EXPECT_EQ(systemd.Receive(), "WATCHDOG=1");
    notifier.Status("following 4 rings");
    EXPECT_EQ(systemd.Receive(), "STATUS=following 4 rings");
    notifier.Stopping();
    EXPECT_EQ(systemd.Receive(), "STOPPING=1");
  }
}

TEST(ServiceNotifierTest, NobodyListeningIsFine) {
  ServiceNotifier("").Ready();
  ServiceNotifier("relative").Ready();
  ServiceNotifier("/nonexistent/socket").Ready();
  ServiceNotifier("/" + std::string(200, 'x')).Ready();
}

TEST(WatchdogFeedTest, FeedsWhileEverythingMovesAndSaysOtherwiseWhatDoesNot) {
  NotifySocket systemd("@lockstep-feed-test-" + std::to_string(getpid()));
  const ServiceNotifier notifier("@lockstep-feed-test-" + std::to_string(getpid()));
  WatchdogFeed watchdog(notifier);
  watchdog.Feed(absl::OkStatus());
  EXPECT_EQ(systemd.Receive(), "WATCHDOG=1");
  testing::internal::CaptureStderr();
  watchdog.Feed(absl::UnavailableError("shard 0 has not moved for 31 s"));
  EXPECT_EQ(systemd.Receive(), "STATUS=stuck: shard 0 has not moved for 31 s");
  watchdog.Feed(absl::UnavailableError("shard 0 has not moved for 32 s"));
  EXPECT_EQ(systemd.Receive(), "STATUS=stuck: shard 0 has not moved for 32 s");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, ::testing::HasSubstr("shard 0 has not moved for 31 s"));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  watchdog.Feed(absl::OkStatus());
  EXPECT_EQ(systemd.Receive(), "WATCHDOG=1");
  EXPECT_EQ(systemd.Receive(), "STATUS=");
}

TEST(PortsFileTest, HasEveryPortAndThePid) {
  TemporaryDirectory directory;
  const std::string path = (directory.path() / "ports.json").string();
  ASSERT_OK(WritePortsFile(path, {{"grpc", 7070}, {"http", 7071}}));
  std::string text;
  std::getline(std::ifstream(path), text);
  EXPECT_EQ(text, "{\"grpc\":7070,\"http\":7071,\"pid\":" + std::to_string(getpid()) + "}");
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST(PortsFileTest, WithoutAPathNothingIsWritten) { EXPECT_OK(WritePortsFile("", {{"grpc", 7070}})); }

TEST(PortsFileTest, APathThatCannotBeWrittenIsAnErrorThatNamesIt) {
  EXPECT_THAT(WritePortsFile("/nonexistent/ports.json", {}),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::HasSubstr("/nonexistent/ports.json")));
}

TEST(ShutdownSignalsTest, SigtermStops) {
  StopSignal stop;
  ShutdownSignals signals(stop);
  EXPECT_FALSE(stop.stopped());
  ASSERT_EQ(kill(getpid(), SIGTERM), 0);
  EXPECT_TRUE(stop.WaitFor(kTestDeadlineNs));
}

TEST(ShutdownSignalsTest, SighupIsToldOnceAndStopsNothing) {
  StopSignal stop;
  ShutdownSignals signals(stop);
  EXPECT_FALSE(signals.TakeHangup());
  EXPECT_EQ(signals.hangup_uid(), -1);
  ASSERT_EQ(kill(getpid(), SIGHUP), 0);
  const int64_t deadline = RealClock().MonotonicNanos() + kTestDeadlineNs;
  bool told = false;
  while (!told && RealClock().MonotonicNanos() < deadline) {
    told = signals.TakeHangup();
    stop.WaitFor(kNanosPerMilli);
  }
  EXPECT_TRUE(told);
  EXPECT_EQ(signals.hangup_uid(), static_cast<int64_t>(getuid()));
  EXPECT_FALSE(signals.TakeHangup());
  EXPECT_FALSE(stop.stopped());
  ASSERT_EQ(kill(getpid(), SIGTERM), 0);
  EXPECT_TRUE(stop.WaitFor(kTestDeadlineNs));
}

TEST(ShutdownSignalsTest, EndsWithoutASignal) {
  StopSignal stop;
  { ShutdownSignals signals(stop); }
  EXPECT_FALSE(stop.stopped());
}

TEST(ShutdownSignalsDeathTest, SecondSignalEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        StopSignal stop;
        ShutdownSignals signals(stop);
        kill(getpid(), SIGTERM);
        stop.WaitFor(kTestDeadlineNs);
        kill(getpid(), SIGTERM);
        pause();
      },
      ::testing::ExitedWithCode(128 + SIGTERM), "");
}

}  // namespace
}  // namespace lockstep
