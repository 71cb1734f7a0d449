// A courier with a clock of the test, and what history hears of it. What history hears is thread-safe.

#ifndef LOCKSTEP_COLLECTOR_ALERT_TESTING_ALERT_COURIER_FIXTURE_H_
#define LOCKSTEP_COLLECTOR_ALERT_TESTING_ALERT_COURIER_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/testing/sim_clock.h"
#include "collector/alert/alert_courier.h"
#include "collector/alert/testing/http_receiver.h"

namespace lockstep {

// Of a job named "job".
inline IncidentEvent CourierEvent(uint64_t id, IncidentEvent::Kind kind) {
  IncidentEvent event{kind, {}};
  event.incident.set_id(id);
  event.incident.set_job("job");
  return event;
}

class AlertCourierTest : public ::testing::Test {
 protected:
  AlertCourierTest() {
    options_.first_retry_ns = 1 * kNanosPerMilli;
    options_.longest_retry_ns = 20 * kNanosPerMilli;
    options_.drain_ns = 10 * kNanosPerSecond;
  }

  std::unique_ptr<AlertCourier> NewCourier(const std::string& url) {
    options_.receiver.urls = {url};
    options_.url = url;
    return std::make_unique<AlertCourier>(
        options_, clock_, Random(1), [this](const std::vector<uint64_t>& numbers) { NoteDone(numbers); },
        [this](uint64_t incident, const std::string& thread, int64_t wall_ns) { NoteTold(incident, thread, wall_ns); });
  }

  // Destroys the courier, which sends what waits, and tells what the receiver has seen: "id status".
  std::vector<std::string> Received(std::unique_ptr<AlertCourier> courier, const HttpReceiver& receiver) {
    courier.reset();
    std::vector<std::string> received;
    for (const HttpReceiver::Request& request : receiver.requests()) {
      const auto payload = nlohmann::json::parse(request.body);
      received.push_back(payload["groupLabels"]["incident_id"].get<std::string>() + " " +
                         payload["status"].get<std::string>());
    }
    return received;
  }

  // Waits until `attempts` were in vain, one after the other, and lets the pause pass after each.
  void LetItFail(const AlertCourier& courier, uint64_t attempts) {
    const uint64_t before = courier.stats().retried;
    for (uint64_t failed = 1; failed <= attempts; ++failed) {
      while (courier.stats().retried < before + failed) std::this_thread::yield();
      clock_.Advance(options_.longest_retry_ns);
    }
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

  void NoteTold(uint64_t incident, const std::string& thread, int64_t wall_ns) {
    MutexLock lock(mutex_);
    told_.push_back(absl::StrCat(incident, " ", thread, " ", wall_ns == 0 ? "over" : "open"));
  }
  // "incident thread state" of what history has to keep.
  std::vector<std::string> told() {
    MutexLock lock(mutex_);
    return told_;
  }

  SimClock clock_;
  AlertCourierOptions options_;
  uint64_t number_ = 0;

 private:
  Mutex mutex_;
  std::vector<uint64_t> done_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> told_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_TESTING_ALERT_COURIER_FIXTURE_H_
