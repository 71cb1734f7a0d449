#include "cli/render/counter_suite_text.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/render/evaluation_text.h"
#include "cli/render/text_table.h"
#include "eval/report/figures.h"

namespace lockstep {
namespace {

constexpr TextTable::Align kRight = TextTable::Align::kRight;

std::string ShareText(const Rate& rate) {
  if (rate.trials == 0) return "-";
  return absl::StrFormat("%.3f (%.2f-%.2f)", rate.share(), rate.interval().low, rate.interval().high);
}

std::string DelayText(const Spread& delay) {
  if (delay.count == 0) return "-";
  return absl::StrFormat("%.0f / %.0f", delay.median, delay.p95);
}

std::string MethodsText(const CounterSummary& summary, int width) {
  TextTable table({{"METHOD"},
                   {"EPISODES", kRight},
                   {"PRECISION", kRight},
                   {"RECALL", kRight},
                   {"F1", kRight},
                   {"DELAY P50/P95 S", kRight},
                   {"FALSE", kRight},
                   {"MACHINE-DAYS", kRight},
                   {"SECONDS P50", kRight}});
  for (const CounterMethodSummary& method : summary.methods) {
    if (method.all.episodes == 0) continue;
    table.AddRow({method.name, absl::StrCat(method.all.episodes), ShareText(method.all.precision),
                  ShareText(method.all.recall),
                  absl::StrFormat("%.3f (%.2f-%.2f)", method.all.f1(), method.f1.low, method.f1.high),
                  DelayText(method.all.delay_seconds), absl::StrCat(method.accusations.accusations),
                  absl::StrFormat("%.4g", method.accusations.machine_days),
                  absl::StrFormat("%.2g", method.detect_seconds.median)});
  }
  return table.Render(width);
}

void AddCounts(const std::string& name, const AlarmCounts& counts, TextTable* table) {
  table->AddRow({name, absl::StrCat(counts.episodes), ShareText(counts.precision), ShareText(counts.recall),
                 DelayText(counts.delay_seconds), absl::StrCat(counts.precision.trials - counts.precision.successes)});
}

// Of the method under test.
std::string RowsText(const CounterMethodSummary& method, int width) {
  TextTable table({{method.name},
                   {"EPISODES", kRight},
                   {"PRECISION", kRight},
                   {"RECALL", kRight},
                   {"DELAY P50/P95 S", kRight},
                   {"FALSE", kRight}});
  for (const auto& [name, counts] : method.rows) AddCounts(name, counts, &table);
  for (const auto& [hosts, counts] : method.sizes) {
    AddCounts(absl::StrCat("from ", hosts, " machines"), counts, &table);
  }
  return table.Render(width);
}

}  // namespace

std::string CounterSuiteText(const CounterSummary& summary, int width) {
  std::string text = absl::StrCat(summary.name, ": ", summary.what, "; ", summary.episodes, " episodes\n");
  absl::StrAppendFormat(&text, "  %.3g samples in the median episode, simulated in %.2g s\n\n", summary.samples.median,
                        summary.simulate_seconds.median);
  absl::StrAppend(&text, MethodsText(summary, width));
  if (!summary.methods.empty()) absl::StrAppend(&text, "\n", RowsText(summary.methods.front(), width));
  absl::StrAppend(&text, FailuresText(summary.failures));
  return text;
}

}  // namespace lockstep
