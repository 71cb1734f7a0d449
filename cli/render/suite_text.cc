#include "cli/render/suite_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/render/evaluation_text.h"
#include "cli/render/text_table.h"
#include "eval/report/figures.h"

namespace lockstep {
namespace {

constexpr TextTable::Align kRight = TextTable::Align::kRight;

std::string KindsText(const SuiteSummary& summary, int width) {
  TextTable table({{"KIND"},
                   {"EPISODES", kRight},
                   {"TOO CHEAP", kRight},
                   {"TOP-1 %", kRight},
                   {"SET %", kRight},
                   {"CLASS %", kRight},
                   {"STATE %", kRight},
                   {"ACCUSING", kRight},
                   {"ANSWERED AS"}});
  for (const auto& [name, row] : summary.kinds) {
    table.AddRow({name, absl::StrCat(row.episodes), absl::StrCat(row.too_cheap), RateText(row.top1),
                  RateText(row.exact_set), RateText(row.class_right), RateText(row.state_right),
                  absl::StrCat(row.episodes_accusing_innocents), PredictedText(row.predicted)});
  }
  return table.Render(width);
}

std::string BaselinesText(const SuiteSummary& summary, int width) {
  if (summary.baselines.empty()) return "";
  TextTable table({{"METHOD"},
                   {"TOP-1 %", kRight},
                   {"TOP-1 MACHINE %", kRight},
                   {"TOP-3 %", kRight},
                   {"RECALL %", kRight},
                   {"ACCUSES INNOCENTS %", kRight}});
  const auto recall = [](const Mean& mean) {
    return mean.count == 0 ? std::string("-") : absl::StrFormat("%.1f", 100 * mean.value);
  };
  table.AddRow({"lockstep", RateText(summary.top1), RateText(summary.top1_host), RateText(summary.top3),
                recall(summary.recall), RateText(summary.accuses_innocents)});
  for (const BaselineRow& row : summary.baselines) {
    table.AddRow({row.name, RateText(row.top1), RateText(row.top1_host), RateText(row.top3), recall(row.recall),
                  row.accuses ? RateText(row.accuses_innocents) : "-"});
  }
  return absl::StrCat("\n", table.Render(width));
}

}  // namespace

std::string SuiteText(const SuiteSummary& summary, int width) {
  std::string text = absl::StrCat(summary.name, ": ", summary.what, "; ", summary.episodes, " episodes, ",
                                  summary.too_cheap, " causes too cheap to accuse\n");
  absl::StrAppend(&text, "  seconds to simulate: ", SpreadText(summary.simulate_seconds),
                  "; to diagnose: ", SpreadText(summary.diagnose_seconds), "\n");
  absl::StrAppend(&text, "  records: ", SpreadText(summary.records),
                  "; accuses innocents: ", RateText(summary.accuses_innocents),
                  " %; state right: ", RateText(summary.state_right), " %\n");
  if (summary.cost_error.count > 0) {
    absl::StrAppendFormat(&text, "  cost off by %.2f points of slowdown in the mean, n = %d\n",
                          100 * summary.cost_error.value, summary.cost_error.count);
  }
  absl::StrAppend(&text, "\n", KindsText(summary, width), BaselinesText(summary, width));
  absl::StrAppend(&text, FailuresText(summary.failures));
  return text;
}

}  // namespace lockstep
