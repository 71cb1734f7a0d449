// What was concluded in the course of a job, as text: states, and causes as they appear and vanish. Pure.

#ifndef LOCKSTEP_CLI_RENDER_TIMELINE_TEXT_H_
#define LOCKSTEP_CLI_RENDER_TIMELINE_TEXT_H_

#include <string>

#include "eval/live/conclusion_timeline.h"

namespace lockstep {

// States first, then each cause with its verdict in full, as it appeared and as it was told last.
std::string TimelineText(const ConclusionTimeline& timeline);

// A line for each state, and for each cause as it was told first and when it was told no longer, by time.
std::string TimelineSummaryText(const ConclusionTimeline& timeline);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_TIMELINE_TEXT_H_
