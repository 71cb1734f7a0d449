#include "collector/alert/webhook_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/testing/sim_clock.h"
#include "collector/alert/testing/http_receiver.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

IncidentEvent Event(uint64_t id, Kind kind) {
  IncidentEvent event{kind, {}};
  event.incident.set_id(id);
  event.incident.set_job("job");
  return event;
}

class WebhookSinkTest : public ::testing::Test {
 protected:
  WebhookSinkTest() {
    options_.first_retry_ns = 1 * kNanosPerMilli;
    options_.longest_retry_ns = 20 * kNanosPerMilli;
    options_.drain_ns = 10 * kNanosPerSecond;
  }

  std::unique_ptr<WebhookSink> NewSink(const std::string& url) {
    options_.http.url = url;
    return std::make_unique<WebhookSink>(options_, clock_, Random(1),
                                         [this](const std::vector<uint64_t>& numbers) { NoteDone(numbers); });
  }

  // Destroys the sink, which sends what waits, and tells what the receiver has seen: "id status".
  std::vector<std::string> Received(std::unique_ptr<WebhookSink> sink, const HttpReceiver& receiver) {
    sink.reset();
    std::vector<std::string> received;
    for (const HttpReceiver::Request& request : receiver.requests()) {
      const auto payload = nlohmann::json::parse(request.body);
      received.push_back(payload["groupLabels"]["incident_id"].get<std::string>() + " " +
                         payload["status"].get<std::string>());
    }
    return received;
  }

  void NoteDone(const std::vector<uint64_t>& numbers) {
    MutexLock lock(mutex_);
    done_.insert(done_.end(), numbers.begin(), numbers.end());
  }
  // Of the events that history may forget.
  std::vector<uint64_t> done() {
    MutexLock lock(mutex_);
    return done_;
  }

  SimClock clock_;
  WebhookSinkOptions options_;
  uint64_t number_ = 0;

 private:
  Mutex mutex_;
  std::vector<uint64_t> done_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(WebhookSinkTest, PostsJsonOncePerEvent) {
  HttpReceiver receiver;
  auto sink = NewSink(receiver.url());
  sink->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(1));
  sink->Announce(Event(1, Kind::kResolved), {.number = ++number_});
  EXPECT_THAT(Received(std::move(sink), receiver), ElementsAre("1 firing", "1 resolved"));
  EXPECT_THAT(done(), ElementsAre(1, 2));
  EXPECT_EQ(receiver.requests()[0].method, "POST");
  EXPECT_EQ(receiver.requests()[0].content_type, "application/json");
}

TEST_F(WebhookSinkTest, AFailingReceiverIsTriedAgainUntilItTakesTheEvent) {
  HttpReceiver receiver;
  receiver.AnswerNext({{500, ""}, {503, ""}, {408, ""}, {429, "Retry-After: 0"}});
  auto sink = NewSink(receiver.url());
  sink->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(5));
  sink->Announce(Event(2, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(6));
  const WebhookSinkStats stats = sink->stats();
  EXPECT_EQ(stats.retried, 4u);
  EXPECT_GE(stats.sent, 1u);
  EXPECT_EQ(stats.failed, 0u);
  EXPECT_EQ(Received(std::move(sink), receiver).back(), "2 firing");
}

TEST_F(WebhookSinkTest, ARefusalIsFinalAndTheNextEventGoesOn) {
  HttpReceiver receiver;
  receiver.AnswerNext({{400, ""}});
  auto sink = NewSink(receiver.url());
  sink->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  sink->Announce(Event(2, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(2));
  EXPECT_EQ(sink->stats().failed, 1u);
  EXPECT_THAT(Received(std::move(sink), receiver), ElementsAre("1 firing", "2 firing"));
  EXPECT_THAT(done(), ElementsAre(1, 2));
}

TEST_F(WebhookSinkTest, AReceiverThatIsDownGetsTheEventWhenItIsUp) {
  auto receiver = std::make_unique<HttpReceiver>();
  const int port = receiver->port();
  const std::string url = receiver->url();
  receiver.reset();
  auto sink = NewSink(url);
  sink->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  while (sink->stats().retried == 0) std::this_thread::yield();
  receiver = std::make_unique<HttpReceiver>(port);
  ASSERT_TRUE(receiver->WaitForRequests(1));
  EXPECT_THAT(Received(std::move(sink), *receiver), ElementsAre("1 firing"));
}

TEST_F(WebhookSinkTest, AnEventThatIsWrittenWhileItWaitsIsForgottenOnceItIsTaken) {
  HttpReceiver receiver;
  receiver.AnswerNext({{503, "Retry-After: 1"}});
  auto sink = NewSink(receiver.url());
  sink->Announce(Event(1, Kind::kOpened), {.ticket = 7});
  ASSERT_TRUE(receiver.WaitForRequests(1));
  EXPECT_TRUE(sink->NoteWritten(7, 42));
  EXPECT_FALSE(sink->NoteWritten(8, 43)) << "never heard of";
  ASSERT_TRUE(receiver.WaitForRequests(2));
  sink.reset();
  EXPECT_THAT(done(), ElementsAre(42));
}

TEST_F(WebhookSinkTest, RetryAfterIsHonoured) {
  HttpReceiver receiver;
  receiver.AnswerNext({{429, "Retry-After: 1"}});
  auto sink = NewSink(receiver.url());
  const int64_t start = RealClock().MonotonicNanos();
  sink->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(2));
  EXPECT_GE(RealClock().MonotonicNanos() - start, kNanosPerSecond);
}

TEST_F(WebhookSinkTest, ASlowReceiverBlocksNobodyAndGetsOnlyTheNewest) {
  options_.max_waiting = 3;
  HttpReceiver receiver;
  receiver.Hold(true);
  auto sink = NewSink(receiver.url());
  sink->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(1));
  for (int i = 0; i < 1'000; ++i) sink->Announce(Event(1, Kind::kUpdated), {.number = ++number_});
  EXPECT_EQ(sink->stats().waiting, 2u) << "the one being sent and the newest update";
  for (uint64_t id = 2; id <= 10; ++id) sink->Announce(Event(id, Kind::kOpened), {.number = ++number_});
  EXPECT_EQ(sink->stats().waiting, 3u);
  EXPECT_EQ(sink->stats().dropped, 8u) << "the update made room for one opening";
  receiver.Hold(false);
  EXPECT_THAT(Received(std::move(sink), receiver), ElementsAre("1 firing", "2 firing", "3 firing"));
  std::vector<uint64_t> all(number_);
  std::iota(all.begin(), all.end(), 1);
  EXPECT_THAT(done(), UnorderedElementsAreArray(all)) << "sent, folded into what was sent, or dropped";
}

TEST_F(WebhookSinkTest, AnEventThatIsTooOldIsGivenUp) {
  HttpReceiver receiver;
  receiver.AnswerNext(std::deque<HttpReceiver::Answer>(1'000, {500, ""}));
  auto sink = NewSink(receiver.url());
  sink->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(2));
  EXPECT_EQ(sink->stats().failed, 0u);
  clock_.Advance(options_.give_up_after_ns);
  while (sink->stats().failed == 0) std::this_thread::yield();
  EXPECT_EQ(sink->stats().waiting, 0u);
}

TEST_F(WebhookSinkTest, StoppingDoesNotWaitForAReceiverThatHangs) {
  options_.drain_ns = 1;
  HttpReceiver receiver;
  receiver.Hold(true);
  auto sink = NewSink(receiver.url());
  sink->Announce(Event(1, Kind::kOpened), {.number = ++number_});
  sink->Announce(Event(2, Kind::kOpened), {.number = ++number_});
  ASSERT_TRUE(receiver.WaitForRequests(1));
  const int64_t start = RealClock().MonotonicNanos();
  sink.reset();
  EXPECT_LT(RealClock().MonotonicNanos() - start, 5 * kNanosPerSecond);
  EXPECT_THAT(done(), IsEmpty()) << "what was not sent is for the next life to send";
}

}  // namespace
}  // namespace lockstep
