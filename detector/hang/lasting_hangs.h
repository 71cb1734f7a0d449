// Hangs that last: those found at every look for so long that each host has reported since.
//
// Hosts report a second apart, so that ranks which came to rest together seem to do so one after the other: whoever is
// heard first looks like a victim of those that are heard last. A dead process is certain at once. Pure; not
// thread-safe. Memory: what the newest look found.

#ifndef LOCKSTEP_DETECTOR_HANG_LASTING_HANGS_H_
#define LOCKSTEP_DETECTOR_HANG_LASTING_HANGS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "detector/verdict/verdict.h"

namespace lockstep {

class LastingHangs {
 public:
  // A report interval and the way of a report.
  static constexpr int64_t kLastingNs = 1'500'000'000;

  // `found` at `now_ns`, which must not decrease, without what has not lasted.
  std::vector<Verdict> Of(std::vector<Verdict> found, int64_t now_ns);

 private:
  std::map<std::string, int64_t> since_ns_;  // by cause key, of what is found now
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_LASTING_HANGS_H_
