// From followed rings to the processes of a report. The gate for what foreign processes wrote: whatever a collector
// would refuse is left out and counted (ring_contents.h), so that one hostile ring cannot cost the reports of the whole
// host.
//
// A process whose job has no name yet (job_fingerprint.h) is left out: under one name for all it would be taken for a
// rank of somebody else's job.
//
// Operations beyond kMaxOperationsPerReport are thinned: each communicator with more than its fair share keeps those
// whose sequence is a multiple of a power of two, its `stride` (see OperationBatch), so that the samples of different
// hosts still meet. Shares are those of the users first, then of what each of them has (ring_shares.h); the same holds
// for communicators, transfers and what is in flight. No I/O, no clock.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_RING_REPORT_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_RING_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "agent/sources/rings/operation_archive.h"
#include "agent/sources/rings/reading_time.h"
#include "agent/sources/rings/ring_contents.h"
#include "agent/sources/rings/ring_directory.h"
#include "agent/sources/rings/ring_tally.h"
#include "base/clock.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

inline constexpr size_t kMaxOperationsPerReport = 16'384;    // about 400 KB on the wire
inline constexpr size_t kMaxCommunicatorsPerReport = 8'192;  // about 600 KB on the wire
// Operations in flight of one communicator beside the oldest; about 500 bytes on the wire. A circle of waits goes
// through the first few of what a GPU or a group call has begun.
inline constexpr size_t kMaxFurtherInFlight = 15;
inline constexpr size_t kMaxFurtherInFlightPerReport = 16'384;  // about 500 KB on the wire
inline constexpr size_t kMaxTransfersPerReport = 16'384;        // about 600 KB on the wire
// What a collector takes of one communicator; see collector/convert/report_limits.h.
inline constexpr size_t kMaxTransfersPerCommunicator = 4'096;
// A freed communicator is reported for this long after its last operation.
inline constexpr int64_t kFreedCommunicatorNanos = 60 * kNanosPerSecond;

// Appends one ProcessReport for each ring whose job has a name; all plausible operations go to `archive`, thinned out
// or not.
RingTally AppendRings(const std::map<std::string, FollowedRing>& rings, const ReadingTime& time,
                      OperationArchive& archive, wire::AgentReport& report);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_RING_REPORT_H_
