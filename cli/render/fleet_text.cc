#include "cli/render/fleet_text.h"

#include <cstddef>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/render/evaluation_text.h"
#include "cli/render/text_table.h"
#include "eval/report/figures.h"

namespace lockstep {
namespace {

constexpr TextTable::Align kRight = TextTable::Align::kRight;
constexpr size_t kMostLines = 200;

std::string RowsText(const char* title, const std::map<std::string, FleetRow>& rows, int width) {
  TextTable table({{title},
                   {"EPISODES", kRight},
                   {"RIGHT %", kRight},
                   {"TOP-1 %", kRight},
                   {"EXACT %", kRight},
                   {"CLASS %", kRight},
                   {"INNOCENTS", kRight},
                   {"ACCUSING", kRight},
                   {"UNSOUND", kRight},
                   {"COST ERROR p50", kRight}});
  for (const auto& [name, row] : rows) {
    const Spread cost = SpreadOf(row.cost_errors);
    table.AddRow({name, absl::StrCat(row.right.trials), RateText(row.right), RateText(row.top1), RateText(row.exact),
                  RateText(row.class_right), absl::StrCat(row.innocents), absl::StrCat(row.accusing_episodes),
                  absl::StrCat(row.unsound), cost.count == 0 ? "-" : absl::StrFormat("%.2f", cost.median)});
  }
  return table.Render(width);
}

}  // namespace

std::string FleetLine(const FleetOutcome& outcome) {
  const FleetScore& score = outcome.score;
  std::string line = absl::StrCat(score.right ? "right" : "NO   ", score.unsound ? " unsound " : " ",
                                  score.class_right.value_or(true) ? "" : "other class ", outcome.kind, " --world ",
                                  outcome.number, ": ", outcome.answer);
  if (score.innocents > 0) absl::StrAppend(&line, "; innocent ", score.innocents);
  for (const second::TrueFault& fault : outcome.truth.faults) {
    absl::StrAppendFormat(&line, "; true %s %.1f %%", fault.kind, 100 * fault.cost.slowdown_fraction);
  }
  return absl::StrCat(line, " (", absl::StrJoin(outcome.truth.features, ", "), ")");
}

std::string FleetText(const FleetSummary& summary, int width) {
  std::string text = absl::StrCat("fleets: the second simulator; ", summary.all.right.trials, " episodes\n");
  std::map<std::string, FleetRow> total = {{"all", summary.all}, {"nobody to blame", summary.quiet}};
  absl::StrAppend(&text, RowsText("TOTAL", total, width), "\n", RowsText("KIND", summary.kinds, width), "\n",
                  RowsText("WORLD", summary.features, width), "\n");
  for (size_t i = 0; i < summary.failures.size() && i < kMostLines; ++i) {
    absl::StrAppend(&text, FleetLine(summary.failures[i]), "\n");
  }
  return text;
}

}  // namespace lockstep
