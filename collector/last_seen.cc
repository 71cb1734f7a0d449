#include "collector/last_seen.h"

#include <algorithm>
#include <iterator>

namespace lockstep {
namespace {

constexpr LastSeen kLastSeen[] = {
    {JobState::kFailed, true, wire::Incident::RESOLUTION_JOB_DIED, "the job had died with this open"},
    {JobState::kGone, true, wire::Incident::RESOLUTION_JOB_LOST, "the job had gone with this open, nobody knows how"},
    {JobState::kUnknown, false, wire::Incident::RESOLUTION_JOB_LOST, "no report of this job for a long time"},
};

}  // namespace

const LastSeen& LastSeenOf(JobState state) {
  return *std::find_if(std::begin(kLastSeen), std::prev(std::end(kLastSeen)),
                       [&](const LastSeen& row) { return row.state == state; });
}

}  // namespace lockstep
