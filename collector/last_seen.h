// What is said of incidents that are open when a job is not heard of any more, or begins again: it depends on how the
// job was seen last. Pure.

#ifndef LOCKSTEP_COLLECTOR_LAST_SEEN_H_
#define LOCKSTEP_COLLECTOR_LAST_SEEN_H_

#include "absl/strings/string_view.h"
#include "detector/verdict/verdict.h"
#include "proto/incident.pb.h"

namespace lockstep {

struct LastSeen {
  JobState state;
  bool holds_on;  // what was open when nobody was left stays so
  wire::Incident::Resolution resolution;
  absl::string_view what;
};

// Of a job that was in `state`. What is said of any state that has no words of its own has kUnknown.
const LastSeen& LastSeenOf(JobState state);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_LAST_SEEN_H_
