// The clock of each host, told on the collector's: monotonic clocks of hosts are comparable with nothing else.
//
// A report was made before it was received, at best shortly before. The least distance between the two in the last
// kWindowNs to twice that is taken for the distance of the clocks: right up to the fastest of many ways through the
// network, and it follows clocks that drift. A host whose clock goes back has begun anew. Not thread-safe; 64 bytes per
// host.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_SAMPLE_CLOCK_H_
#define LOCKSTEP_DETECTOR_COUNTERS_SAMPLE_CLOCK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {

class SampleClock {
 public:
  // A clock that is 100 ppm off, worse than quartz, goes wrong by 0.1 s in that time.
  static constexpr int64_t kWindowNs = 600'000'000'000;

  // A report that host `host` made at `host_ns` of its clock was received. Returns what is to be added to its times.
  int64_t OffsetNs(int32_t host, int64_t host_ns, int64_t received_ns) {
    const auto index = static_cast<size_t>(host);
    if (index >= hosts_.size()) hosts_.resize(index + 1);
    Host& own = hosts_[index];
    const int64_t offset_ns = received_ns - host_ns;
    if (!own.known || host_ns < own.newest_ns) {
      own = {.known = true, .since_ns = received_ns, .least_ns = offset_ns, .before_ns = offset_ns};
    } else if (received_ns - own.since_ns > kWindowNs) {
      own.before_ns = own.least_ns;
      own.least_ns = offset_ns;
      own.since_ns = received_ns;
    }
    own.newest_ns = host_ns;
    own.least_ns = std::min(own.least_ns, offset_ns);
    return std::min(own.least_ns, own.before_ns);
  }

 private:
  struct Host {
    bool known = false;
    int64_t newest_ns = 0;  // of its clock
    int64_t since_ns = 0;   // when this window began
    int64_t least_ns = 0;   // distance in it
    int64_t before_ns = 0;  // and in the one before
  };
  std::vector<Host> hosts_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_SAMPLE_CLOCK_H_
