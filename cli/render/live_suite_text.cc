#include "cli/render/live_suite_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/render/evaluation_text.h"
#include "cli/render/text_table.h"
#include "eval/report/figures.h"

namespace lockstep {
namespace {

constexpr TextTable::Align kRight = TextTable::Align::kRight;

std::string KindsText(const LiveSummary& summary, int width) {
  TextTable table({{"KIND"},
                   {"EPISODES", kRight},
                   {"TOO CHEAP", kRight},
                   {"NAMED %", kRight},
                   {"TOP-1 %", kRight},
                   {"CLASS %", kRight},
                   {"SECONDS p50/p95", kRight},
                   {"ACCUSING", kRight},
                   {"ANSWERED AS"}});
  for (const auto& [name, row] : summary.kinds) {
    const Spread& seconds = row.named_seconds;
    table.AddRow({name, absl::StrCat(row.episodes), absl::StrCat(row.too_cheap), RateText(row.named),
                  RateText(row.top1), RateText(row.class_right),
                  seconds.count == 0 ? "-" : absl::StrFormat("%.1f / %.1f", seconds.median, seconds.p95),
                  absl::StrCat(row.episodes_accusing_innocents), PredictedText(row.predicted)});
  }
  return table.Render(width);
}

std::string DelaysText(const LiveSummary& summary) {
  std::string text;
  if (summary.named_seconds.count > 0) {
    absl::StrAppend(&text, "  onset to incident, seconds: ", SpreadText(summary.named_seconds),
                    "; steps: ", SpreadText(summary.named_steps),
                    "\n  within 5 steps + 5 s: ", RateText(summary.within_median),
                    "; within 5 steps + 12 s: ", RateText(summary.within_p95), "\n");
  }
  if (summary.exact_seconds.count > 0) {
    absl::StrAppend(&text, "  onset of a hang to the exact set, seconds: ", SpreadText(summary.exact_seconds),
                    "; within 10 s: ", RateText(summary.hang_in_time), "\n");
  }
  return text;
}

}  // namespace

std::string LiveSuiteText(const LiveSummary& summary, int width) {
  std::string text = absl::StrCat(summary.name, ": ", summary.what, "; ", summary.episodes, " episodes, ",
                                  summary.too_cheap, " causes too cheap to accuse\n", DelaysText(summary));
  absl::StrAppend(&text, "  top-1: ", RateText(summary.top1), "; as a file: ", RateText(summary.file_top1),
                  "; all named: ", RateText(summary.all_named),
                  "; agrees with file: ", RateText(summary.agrees_with_file),
                  "; state right: ", RateText(summary.state_right), "\n");
  absl::StrAppendFormat(&text,
                        "  innocent hosts accused: %d in %d episodes of %.2f job-hours; incidents about nothing: %d\n",
                        summary.innocents.accused, summary.innocents.episodes, summary.innocents.job_hours,
                        summary.innocents.false_incidents);
  absl::StrAppendFormat(&text, "  unknown while records were there: %.1f %% of looks\n",
                        100 * summary.unknown_share.value);
  absl::StrAppendFormat(&text, "  per machine and second: %.4g B pulled, %.4g B reported\n", summary.pulled_bytes.value,
                        summary.report_bytes.value);
  absl::StrAppend(&text, "  engine cores for 1,000 machines: ", SpreadText(summary.cores_per_1000),
                  "\n  seconds to simulate: ", SpreadText(summary.simulate_seconds),
                  "; CPU to play without the engine: ", SpreadText(summary.play_seconds), "\n\n",
                  KindsText(summary, width), FailuresText(summary.failures));
  if (summary.disagreements.total() > 0) {
    absl::StrAppend(&text, "\ndiffers from the file:", FailuresText(summary.disagreements));
  }
  return text;
}

}  // namespace lockstep
