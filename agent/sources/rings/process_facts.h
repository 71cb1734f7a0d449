// What a report says of a process as such: who it is, which rank on which GPU, how it is, and how it ended.
//
// Codes of the ring and of /proc become those of the wire; one that is not known becomes "unspecified". Text of a ring
// is cut and made printable (ring_text.h). Pure.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_PROCESS_FACTS_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_PROCESS_FACTS_H_

#include "agent/recorder/ring_format.h"
#include "agent/sources/rings/reading_time.h"
#include "agent/sources/rings/ring_directory.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// All but the communicators. `header`: of the ring's reader.
void AppendProcessFacts(const ring::RingHeader& header, const FollowedRing& ring, const ReadingTime& time,
                        wire::ProcessReport& to);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_PROCESS_FACTS_H_
