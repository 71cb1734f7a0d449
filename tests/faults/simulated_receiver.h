// Who is told of incidents: what it took, and how it answers. libcurl's functions lead here (curl_hooks.cc).
//
// Single-threaded, as all of a ThreadWorld: calls never overlap, and sleep in between.

#ifndef LOCKSTEP_TESTS_FAULTS_SIMULATED_RECEIVER_H_
#define LOCKSTEP_TESTS_FAULTS_SIMULATED_RECEIVER_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tests/faults/thread_world.h"

namespace lockstep::faults {

enum class ReceiverMood { kTakes, kSlow, kFails, kRefuses, kLosesAnswer, kHangs };

// An alert that was taken.
struct Delivery {
  int64_t world_ns = 0;
  Machine from = 0;  // life of the collector
  bool is_answered = false;
  std::string incident;  // id
  std::string status;    // firing, resolved
  std::string starts_at;
  std::string body;
};

class SimulatedReceiver {
 public:
  // What a sender sees: an HTTP status, 0 = no answer; and how long it has waited.
  // `abort` is asked about once a second.
  int Post(const std::string& body, int64_t timeout_ns, const std::function<bool()>& abort);

  void SetMood(ReceiverMood mood) { mood_ = mood; }
  // Nothing of that life of the collector gets through any more.
  void CutOff(Machine machine) { cut_off_.insert(machine); }

  const std::vector<Delivery>& deliveries() const { return deliveries_; }
  uint64_t attempts() const { return attempts_; }

 private:
  ReceiverMood mood_ = ReceiverMood::kTakes;
  std::set<Machine> cut_off_;
  std::vector<Delivery> deliveries_;
  uint64_t attempts_ = 0;
};

// The one of this process; curl_hooks.cc posts to it.
SimulatedReceiver& Receiver();

}  // namespace lockstep::faults

#endif  // LOCKSTEP_TESTS_FAULTS_SIMULATED_RECEIVER_H_
