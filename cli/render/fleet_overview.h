// The whole fleet on one screen, and which of its jobs are not seen whole. Pure.

#ifndef LOCKSTEP_CLI_RENDER_FLEET_OVERVIEW_H_
#define LOCKSTEP_CLI_RENDER_FLEET_OVERVIEW_H_

#include <string>
#include <vector>

#include "proto/query.pb.h"

namespace lockstep {

// A job of which not every rank reports, or which cannot be judged.
struct JobGap {
  std::string job;
  int seen = 0;       // ranks
  int expected = -1;  // -1 = not known
  std::string why;    // one sentence
};

// By name.
std::vector<JobGap> JobGaps(const wire::ListJobsResponse& jobs);

struct FleetOverview {
  wire::GetStatusResponse status;
  wire::ListJobsResponse jobs;
  wire::ListIncidentsResponse incidents;  // open ones, newest first
};

// Head line, jobs with the costliest of their open incidents, then these incidents. Ends with a newline. At most
// `height` lines, 0 = no limit; `width` as of TextTable::Render.
std::string OverviewText(const FleetOverview& overview, int width, int height, bool coloured);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_FLEET_OVERVIEW_H_
