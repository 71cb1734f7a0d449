// Which machine has the most evidence against it, and how much the next one has.
//
// Where something must be at fault, little evidence suffices; but then it is the likeliest machine, not any that has
// enough. Memory: two machines. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_SUSPECTS_H_
#define LOCKSTEP_DETECTOR_COUNTERS_SUSPECTS_H_

#include <algorithm>
#include <cstdint>

namespace lockstep {

class Suspects {
 public:
  // Evidence in nats against a host; of several for one host the most counts.
  void Add(int32_t host, double nats) {
    if (host == first_.host) {
      first_.nats = std::max(first_.nats, nats);
    } else if (nats > first_.nats) {
      second_ = first_;
      first_ = {host, nats};
    } else if (nats > second_.nats) {
      second_ = {host, nats};
    }
  }

  // The most that there is against any other host; 0 = nothing.
  double RivalOf(int32_t host) const { return host == first_.host ? second_.nats : first_.nats; }

 private:
  struct Suspect {
    int32_t host = -1;
    double nats = 0;
  };

  Suspect first_;
  Suspect second_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_SUSPECTS_H_
