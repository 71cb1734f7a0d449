#include "cli/render/fleet_overview.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/render/colour.h"
#include "cli/render/incident_text.h"
#include "cli/render/ledger_text.h"
#include "cli/render/quantity_text.h"
#include "cli/render/text_table.h"

namespace lockstep {
namespace {

bool IsOver(const wire::Job& job) {
  const std::string& state = job.state();
  return state == "ended" || state == "stopped" || state == "failed" || state == "gone";
}

std::string RanksText(const wire::Job& job) {
  return job.world_size() > 0 ? absl::StrCat(job.ranks(), "/", job.world_size()) : absl::StrCat(job.ranks());
}

// By job: the open incident that costs most, of which a standstill costs more than all else.
std::map<std::string, const wire::Incident*> Costliest(const wire::ListIncidentsResponse& incidents) {
  const auto cost = [](const wire::Incident& incident) {
    const wire::Verdict& verdict = incident.verdict();
    return JobStandsStill(verdict) ? std::numeric_limits<double>::infinity() : verdict.cost().slowdown_fraction();
  };
  std::map<std::string, const wire::Incident*> costliest;
  for (const wire::Incident& incident : incidents.incidents()) {
    const wire::Incident*& known = costliest[incident.job()];
    if (known == nullptr || cost(incident) > cost(*known)) known = &incident;
  }
  return costliest;
}

std::string HeadLine(const FleetOverview& overview) {
  const wire::GetStatusResponse& status = overview.status;
  const auto connected = std::count_if(status.agents().begin(), status.agents().end(),
                                       [](const wire::AgentStatus& agent) { return agent.connected(); });
  const uint32_t missing = static_cast<uint32_t>(status.missing_hosts_size()) + status.missing_hosts_left_out();
  return absl::StrCat(WallText(status.time_line_wall_ns()), "  agents ", connected, " connected of ",
                      static_cast<uint32_t>(status.agents_size()) + status.left_out(), ", hosts missing ", missing,
                      ", jobs ", static_cast<uint32_t>(overview.jobs.jobs_size()) + overview.jobs.left_out(),
                      ", open incidents ", status.open_incidents());
}

TextTable JobTable(const FleetOverview& overview) {
  TextTable table({{"JOB"},
                   {"STATE", TextTable::Align::kLeft, StateColour},
                   {"RANKS", TextTable::Align::kRight},
                   {"STEP", TextTable::Align::kRight},
                   {"STEPS/S", TextTable::Align::kRight},
                   {"LOST", TextTable::Align::kRight},
                   {"SUSPECT"}});
  const auto costliest = Costliest(overview.incidents);
  for (const wire::Job& job : overview.jobs.jobs()) {
    const auto found = costliest.find(job.job());
    const wire::Incident* worst = found == costliest.end() ? nullptr : found->second;
    table.AddRow(
        {job.job(), job.state(), RanksText(job), SecondsText(job.step_seconds_median()),
         job.steps_per_second() > 0 ? NumberText(job.steps_per_second()) : "-",
         worst == nullptr ? "-" : CostText(worst->verdict()),
         worst == nullptr ? job.note() : absl::StrCat(CulpritsText(worst->verdict()), " ", worst->verdict().class_())});
  }
  return table;
}

TextTable IncidentTable(const FleetOverview& overview) {
  TextTable table({{"ID", TextTable::Align::kRight},
                   {"STATE", TextTable::Align::kLeft, StateColour},
                   {"FOR", TextTable::Align::kRight},
                   {"JOB"},
                   {"LOST", TextTable::Align::kRight},
                   {"SUMMARY"}});
  const int64_t now_ns = overview.status.time_line_wall_ns();
  for (const wire::Incident& incident : overview.incidents.incidents()) {
    table.AddRow({absl::StrCat(incident.id()), StateText(incident), AgeText(incident.opened_wall_ns(), now_ns),
                  incident.job(), CostText(incident.verdict()), SummaryText(incident.verdict())});
  }
  return table;
}

}  // namespace

std::vector<JobGap> JobGaps(const wire::ListJobsResponse& jobs) {
  std::vector<JobGap> gaps;
  for (const wire::Job& job : jobs.jobs()) {
    if (IsOver(job)) continue;
    JobGap gap{job.job(), job.ranks(), job.world_size(), ""};
    if (job.world_size() > 0 && job.ranks() < job.world_size()) {
      gap.why = absl::StrCat(job.world_size() - job.ranks(),
                             " ranks tell nothing: no recorder is in them, or no agent on their hosts");
    } else if (job.state() == "unknown") {
      gap.why = job.note().empty() ? "it cannot be judged yet" : Printable(job.note());
    }
    if (!gap.why.empty()) gaps.push_back(std::move(gap));
  }
  return gaps;
}

std::string OverviewText(const FleetOverview& overview, int width, int height, bool coloured) {
  std::string text =
      absl::StrCat(Shortened(HeadLine(overview), width > 0 ? static_cast<size_t>(width) : SIZE_MAX), "\n\n");
  text += overview.jobs.jobs().empty() ? "no jobs\n" : JobTable(overview).Render(width, coloured);
  const std::string ledgers = LedgersText(overview.jobs, overview.status.time_line_wall_ns());
  if (!ledgers.empty()) absl::StrAppend(&text, "\n", ledgers);
  if (!overview.incidents.incidents().empty()) {
    absl::StrAppend(&text, "\n", IncidentTable(overview).Render(width, coloured));
  }
  if (height <= 0) return text;
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  lines.pop_back();  // behind the last newline
  if (lines.size() <= static_cast<size_t>(height)) return text;
  const size_t shown = static_cast<size_t>(std::max(height - 1, 1));
  const size_t left_out = lines.size() - shown;
  lines.resize(shown);
  return absl::StrCat(absl::StrJoin(lines, "\n"), "\n... ", left_out, " lines more\n");
}

}  // namespace lockstep
