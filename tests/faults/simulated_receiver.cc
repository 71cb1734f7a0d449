#include "tests/faults/simulated_receiver.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/faults/trace.h"

namespace lockstep::faults {
namespace {

constexpr int64_t kTravelNanos = 2 * kNanosPerMilli;
constexpr int64_t kSlowNanos = 4 * kNanosPerSecond;
constexpr int kTaken = 200;
constexpr int kFailed = 503;

Delivery Parse(const std::string& body) {
  const nlohmann::json payload = nlohmann::json::parse(body);
  const nlohmann::json& alert = payload.at("alerts").at(0);
  Delivery delivery;
  delivery.world_ns = WorldNanos();
  delivery.from = CurrentMachine();
  delivery.incident = alert.at("labels").at("incident_id");
  delivery.status = alert.at("status");
  delivery.starts_at = alert.at("startsAt");
  delivery.body = body;
  return delivery;
}

}  // namespace

int SimulatedReceiver::Post(const std::string& body, int64_t timeout_ns, const std::function<bool()>& abort) {
  ++attempts_;
  const ReceiverMood mood = mood_;
  const Machine from = CurrentMachine();
  SleepFor(kTravelNanos);
  if (cut_off_.count(from) != 0 || mood == ReceiverMood::kRefuses) return 0;
  if (mood == ReceiverMood::kFails) return kFailed;
  const bool takes = mood != ReceiverMood::kHangs;
  const int64_t wait_ns = mood == ReceiverMood::kSlow    ? kSlowNanos
                          : mood == ReceiverMood::kTakes ? kTravelNanos
                                                         : timeout_ns;
  const size_t place = deliveries_.size();
  if (takes) {
    deliveries_.push_back(Parse(body));
    Trace(absl::StrCat("receiver took ", deliveries_.back().incident, " ", deliveries_.back().status));
  }
  for (int64_t waited_ns = 0; waited_ns < wait_ns; waited_ns += kNanosPerSecond) {
    if (abort()) return 0;
    SleepFor(std::min(kNanosPerSecond, wait_ns - waited_ns));
  }
  if (wait_ns >= timeout_ns || cut_off_.count(from) != 0) return 0;
  deliveries_[place].is_answered = true;
  return kTaken;
}

SimulatedReceiver& Receiver() {
  static SimulatedReceiver receiver;
  return receiver;
}

}  // namespace lockstep::faults
