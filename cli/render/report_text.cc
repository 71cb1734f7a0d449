#include "cli/render/report_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/render/ledger_text.h"
#include "cli/render/quantity_text.h"
#include "cli/render/text_table.h"
#include "cli/render/words.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

constexpr size_t kShownCulprits = 8;
constexpr size_t kShownRanks = 10;

std::string Counted(int64_t count, const char* what) { return absl::StrCat(count, " ", what, count == 1 ? "" : "s"); }

std::string CulpritText(const Culprit& culprit) {
  std::vector<std::string> parts;
  if (!culprit.host.empty()) parts.push_back(Printable(culprit.host));
  if (culprit.rank >= 0) parts.push_back(absl::StrCat("rank ", culprit.rank));
  if (culprit.gpu >= 0) parts.push_back(absl::StrCat("gpu ", culprit.gpu));
  if (!culprit.device.empty()) parts.push_back(Printable(culprit.device));
  std::string text = absl::StrJoin(parts, ", ");
  if (!culprit.peer_host.empty()) absl::StrAppend(&text, " - ", Printable(culprit.peer_host));
  return absl::StrCat(text, " (", PercentText(culprit.confidence), " sure)");
}

std::string CostText(const Cost& cost) {
  if (cost.slowdown_fraction >= 1) return "everything: the job stands still";
  std::string text =
      absl::StrCat(PercentText(cost.slowdown_fraction), " of the step time, ", SecondsText(cost.seconds_per_step),
                   " per step, in ", PercentText(cost.steps_affected_fraction), " of the steps");
  if (cost.hidden_fraction > 0) {
    absl::StrAppend(&text, "; ", PercentText(cost.hidden_fraction), " more is hidden by other findings");
  }
  return text;
}

void AppendAbstention(const Verdict& verdict, std::string& text) {
  for (size_t i = 0; i < verdict.evidence.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "  not judged: " : "              ", Printable(verdict.evidence[i].text()), "\n");
  }
}

void AppendVerdict(size_t number, const Verdict& verdict, std::string& text) {
  absl::StrAppend(&text, "\n  ", number, ". ", Words(Name(verdict.verdict_class)), " (", Name(verdict.scope), ")");
  if (verdict.first_step >= 0) {
    absl::StrAppend(&text, ", steps ", verdict.first_step, " to ", std::max(verdict.first_step, verdict.last_step));
  }
  absl::StrAppend(&text, "\n");
  for (size_t i = 0; i < std::min(verdict.culprits.size(), kShownCulprits); ++i) {
    absl::StrAppend(&text, i == 0 ? "     who:    " : "             ", CulpritText(verdict.culprits[i]), "\n");
  }
  if (verdict.culprits.size() > kShownCulprits) {
    absl::StrAppend(&text, "             and ", verdict.culprits.size() - kShownCulprits, " more\n");
  }
  if (verdict.cost.any()) absl::StrAppend(&text, "     cost:   ", CostText(verdict.cost), "\n");
  for (size_t i = 0; i < verdict.evidence.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "     why:    " : "             ", Printable(verdict.evidence[i].text()), "\n");
  }
  absl::StrAppend(&text, "     advice: ", Words(Name(verdict.advice)), "\n");
}

void AppendCompleteness(const Completeness& completeness, std::string& text) {
  absl::StrAppend(&text, "  ", Counted(static_cast<int64_t>(completeness.records), "record"));
  if (completeness.lost_records > 0) absl::StrAppend(&text, ", ", completeness.lost_records, " lost");
  if (!completeness.missing_ranks.empty()) {
    const size_t shown = std::min(completeness.missing_ranks.size(), kShownRanks);
    const std::vector<int32_t> first(completeness.missing_ranks.begin(),
                                     completeness.missing_ranks.begin() + static_cast<std::ptrdiff_t>(shown));
    absl::StrAppend(&text, ", nothing from ", Counted(static_cast<int64_t>(completeness.missing_ranks.size()), "rank"),
                    " (", absl::StrJoin(first, ", "), completeness.missing_ranks.size() > shown ? ", ...)" : ")");
  }
  absl::StrAppend(&text, "\n");
}

// Where a step's time goes: only where there is anything to account for.
void AppendLedger(const TimeLedger& ledger, std::string& text) {
  const std::string line = LedgerText(ledger);
  if (!line.empty()) absl::StrAppend(&text, "\n  ", line, "\n");
}

}  // namespace

std::string ReportText(const JobReport& report) {
  std::string text = absl::StrCat(Printable(report.job), ": ", absl::AsciiStrToUpper(Name(report.state)), "\n  ",
                                  Counted(report.ranks, "rank"),
                                  report.hosts > 0 ? absl::StrCat(" on ", Counted(report.hosts, "host")) : "");
  if (report.steps > 0) {
    absl::StrAppend(&text, ", ", Counted(report.steps, "step"), " of ", SecondsText(report.step_seconds_median),
                    " (median)");
  }
  absl::StrAppend(&text, "\n");
  AppendCompleteness(report.completeness, text);
  if (report.verdicts.empty() && report.state == JobState::kHealthy) text += "  nothing is wrong\n";
  size_t number = 0;
  for (const Verdict& verdict : report.verdicts) {
    if (verdict.type() == FindingType::kAbstention) {
      AppendAbstention(verdict, text);
    } else {
      AppendVerdict(++number, verdict, text);
    }
  }
  AppendLedger(report.ledger, text);
  return text;
}

}  // namespace lockstep
