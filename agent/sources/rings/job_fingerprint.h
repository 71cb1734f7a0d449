// A name for the job of a process that tells none: that of the communicator in which all its ranks meet.
//
// NCCL gives a communicator an identity that is equal on all its members and that no other job has. The first one of as
// many members as the job has ranks names the job, on every machine alike. Where nobody says how many these are, it is
// the largest one that there is after kSettledNanos; most programs have made theirs by then. The identity of a
// communicator of MPI is made of its ranks, which are those of any other job: such a process stays without a name.
//
// Pure. What a ring says is untrusted, and so is the name.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_JOB_FINGERPRINT_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_JOB_FINGERPRINT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "agent/recorder/ring_format.h"
#include "agent/sources/rings/ring_snapshot.h"
#include "base/clock.h"

namespace lockstep {

// From the recorder's begin on.
inline constexpr int64_t kSettledNanos = 60 * kNanosPerSecond;

// "" = not yet, or never. `now_ns` is CLOCK_MONOTONIC.
std::string JobFingerprint(const ring::RingHeader& header, const std::vector<RingCommunicator>& communicators,
                           int64_t now_ns);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_JOB_FINGERPRINT_H_
