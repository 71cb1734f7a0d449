// When rings were read, CLOCK_MONOTONIC. Pure value.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_READING_TIME_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_READING_TIME_H_

#include <algorithm>
#include <cstdint>

namespace lockstep {

struct ReadingTime {
  int64_t tick_ns = 0;  // what the report goes by
  int64_t over_ns = 0;  // not before: nothing in them is newer

  // For how long something has lasted that began at `time_ns`, as a foreign process wrote it: from 0 to all of the
  // time.
  int64_t Since(int64_t time_ns) const { return tick_ns - std::clamp<int64_t>(time_ns, 0, tick_ns); }
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_READING_TIME_H_
