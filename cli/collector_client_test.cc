#include "cli/collector_client.h"

#include <gtest/gtest.h>

#include <future>
#include <string>

#include "base/testing/status_matchers.h"
#include "cli/exit_code.h"
#include "cli/testing/fake_query_server.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CollectorAddressTest, HostAndPortOrUnixSocket) {
  for (const char* good : {"127.0.0.1:7070", "collector:1", "[::1]:65535", "unix:/run/lockstep.sock"}) {
    EXPECT_OK(CheckCollectorAddress(good)) << good;
  }
  for (const char* bad : {"", "host", ":7070", "host:", "host:0", "host:65536", "host:http", "unix:"}) {
    EXPECT_THAT(CheckCollectorAddress(bad), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("HOST:PORT")))
        << bad;
  }
}

TEST(CollectorClientTest, AnswersArrive) {
  FakeQueryServer::Answers answers;
  answers.status.set_version("1.2.3");
  answers.jobs.add_jobs()->set_job("demo");
  answers.incidents.add_incidents()->set_id(7);
  const FakeQueryServer server(answers);
  CollectorClient client(server.address());
  EXPECT_EQ(client.GetStatus()->version(), "1.2.3");
  EXPECT_EQ(client.ListJobs()->jobs(0).job(), "demo");
  EXPECT_EQ(client.GetIncident(7)->id(), 7);
}

TEST(CollectorClientTest, NotFoundKeepsTheCollectorsWords) {
  const FakeQueryServer server({});
  CollectorClient client(server.address());
  EXPECT_THAT(client.GetIncident(9), StatusIs(absl::StatusCode::kNotFound, "no incident 9"));
}

TEST(CollectorClientTest, NobodyListeningIsOneLineThatNamesTheAddress) {
  std::string address;
  {
    const FakeQueryServer server({});
    address = server.address();
  }
  CollectorClient client(address);
  const auto status = client.GetStatus();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kUnavailable, AllOf(HasSubstr("cannot reach the collector at " + address),
                                                             HasSubstr("--collector"), Not(HasSubstr("\n")))));
  EXPECT_EQ(ExitCodeOf(status.status()), ExitCode::kCollectorUnreachable);
  EXPECT_THAT(CollectorClient(address, CollectorClient::kDefaultDeadlineNanos, "--to").GetStatus(),
              StatusIs(absl::StatusCode::kUnavailable, AllOf(HasSubstr("--to"), Not(HasSubstr("--collector")))));
}

TEST(CollectorClientTest, ASilentCollectorIsGivenUp) {
  std::promise<void> client_gave_up;
  FakeQueryServer::Answers answers;
  answers.on_incidents = [answer = client_gave_up.get_future().share()](const wire::ListIncidentsRequest&) {
    answer.wait();
  };
  const FakeQueryServer server(answers);
  CollectorClient client(server.address(), /*deadline_nanos=*/20'000'000);
  const auto incidents = client.ListIncidents({});
  client_gave_up.set_value();  // the server cannot have answered before
  EXPECT_THAT(incidents, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("did not answer in time")));
}

TEST(CollectorClientTest, CaptureStreamsInOrderAndStopsWhenTold) {
  FakeQueryServer::Answers answers;
  answers.job = "demo";
  for (int i = 0; i < 100; ++i) answers.capture.emplace_back().mutable_watermark()->set_wall_ns(i);
  const FakeQueryServer server(answers);
  CollectorClient client(server.address());
  wire::CaptureRequest request;
  request.set_job("demo");

  int64_t next = 0;
  EXPECT_OK(client.Capture(request, [&](const wire::CaptureEntry& entry) {
    EXPECT_EQ(entry.watermark().wall_ns(), next++);
    return absl::OkStatus();
  }));
  EXPECT_EQ(next, 100);

  int seen = 0;
  EXPECT_EQ(client.Capture(request,
                           [&](const wire::CaptureEntry&) {
                             return ++seen == 3 ? absl::DataLossError("full") : absl::OkStatus();
                           }),
            absl::DataLossError("full"));
  EXPECT_EQ(seen, 3);

  request.set_job("other");
  EXPECT_THAT(client.Capture(request, [](const wire::CaptureEntry&) { return absl::OkStatus(); }),
              StatusIs(absl::StatusCode::kNotFound, "no job called other"));
}

TEST(ExitCodeTest, EveryErrorHasOne) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), ExitCode::kOk);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("")), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeOf(absl::DataLossError("")), ExitCode::kInputUnreadable);
  EXPECT_EQ(ExitCodeOf(absl::FailedPreconditionError("")), ExitCode::kInputUnreadable);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("")), ExitCode::kNotFound);
  EXPECT_EQ(ExitCodeOf(absl::PermissionDeniedError("")), ExitCode::kNotAllowed);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("")), ExitCode::kCollectorUnreachable);
}

}  // namespace
}  // namespace lockstep
