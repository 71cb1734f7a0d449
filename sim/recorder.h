// Turns what happened into what was recorded: host clocks, lost records, silent ranks.
//
// Pure; thread-safe.

#ifndef LOCKSTEP_SIM_RECORDER_H_
#define LOCKSTEP_SIM_RECORDER_H_

#include <cstdint>

#include "detector/model/trace.h"
#include "sim/job_spec.h"
#include "sim/layout.h"
#include "sim/record_rows.h"
#include "sim/replay.h"

namespace lockstep {

// A host's clock against true time.
struct HostClock {
  int64_t offset_ns = 0;
  double drift = 0;

  int64_t At(int64_t true_ns) const {
    return true_ns + offset_ns + static_cast<int64_t>(drift * static_cast<double>(true_ns));
  }
};

HostClock ClockOf(const JobSpec& job, int32_t host, uint64_t seed);

// Consumes `records`: its memory becomes the trace's.
Trace RecordTrace(const JobSpec& job, const Layout& layout, uint64_t seed, const ReplayResult& replay,
                  RecordTable records);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_RECORDER_H_
