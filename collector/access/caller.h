// Who calls, as far as it matters: what he may do, for which hosts he may report and which jobs he may see.
//
// Plain value; thread-compatible. Shared by all that a call does, and immutable from then on.

#ifndef LOCKSTEP_COLLECTOR_ACCESS_CALLER_H_
#define LOCKSTEP_COLLECTOR_ACCESS_CALLER_H_

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "collector/access/role.h"
#include "collector/access/wildcard.h"

namespace lockstep {

struct Caller {
  std::string name;  // for people: "certificate spiffe://...", "token grafana", "alice of https://..."
  Role role = Role::kViewer;
  bool is_everybody = false;      // keys are not asked for: the caller may do everything
  bool reports_any_host = false;  // an agent that speaks for others
  std::set<std::string> hosts;    // for which an agent may report
  std::vector<Wildcard> reports;  // the jobs of which an agent is believed; empty = all
  int64_t token_judged_ns = 0;    // wall clock at which a provider's token was valid; 0 = there is none
  std::string tenant;             // "" = sees all jobs
  std::vector<Wildcard> jobs;     // of the tenant

  bool May(Role least) const { return is_everybody || Suffices(role, least); }

  bool MayReportFor(const std::string& host) const {
    return is_everybody || (role == Role::kAgent && (reports_any_host || hosts.contains(host)));
  }

  // What belongs to no job is the host's, and may be reported with it.
  bool MayReportOf(absl::string_view job) const { return reports.empty() || job.empty() || FitsAny(reports, job); }

  bool MayReportOfAll() const { return reports.empty(); }

  bool sees_all() const { return tenant.empty(); }

  // What belongs to no job, "", is seen by those who see all.
  bool Sees(absl::string_view job) const { return sees_all() || (!job.empty() && FitsAny(jobs, job)); }

  static bool FitsAny(const std::vector<Wildcard>& patterns, absl::string_view job) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [job](const Wildcard& one) { return one.Match(job).has_value(); });
  }
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ACCESS_CALLER_H_
