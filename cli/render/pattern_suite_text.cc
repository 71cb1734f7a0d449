#include "cli/render/pattern_suite_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/render/evaluation_text.h"
#include "cli/render/text_table.h"

namespace lockstep {
namespace {

constexpr TextTable::Align kRight = TextTable::Align::kRight;

std::string MethodsText(const PatternSummary& summary, int width) {
  TextTable table({{"METHOD"},
                   {"JOBS", kRight},
                   {"RIGHT", kRight},
                   {"CLASS", kRight},
                   {"AND WORKERS", kRight},
                   {"INNOCENTS", kRight},
                   {"SECONDS P50", kRight}});
  for (const PatternMethodSummary& method : summary.methods) {
    if (method.all.right.trials == 0) continue;
    table.AddRow({method.name, absl::StrCat(method.all.right.trials), RateText(method.all.right),
                  RateText(method.all.of_class), RateText(method.all.workers), absl::StrCat(method.innocents.successes),
                  absl::StrFormat("%.2g", method.seconds.median)});
  }
  return table.Render(width);
}

// Of the method under test.
std::string RowsText(const PatternMethodSummary& method, int width) {
  TextTable table({{method.name}, {"JOBS", kRight}, {"RIGHT", kRight}, {"CLASS", kRight}, {"AND WORKERS", kRight}});
  for (const auto& [name, counts] : method.rows) {
    table.AddRow({name, absl::StrCat(counts.right.trials), RateText(counts.right), RateText(counts.of_class),
                  RateText(counts.workers)});
  }
  return table.Render(width);
}

}  // namespace

std::string PatternSuiteText(const PatternSummary& summary, int width) {
  std::string text = absl::StrCat(summary.name, ": ", summary.what, "; ", summary.episodes, " episodes\n\n",
                                  MethodsText(summary, width));
  if (!summary.methods.empty()) absl::StrAppend(&text, "\n", RowsText(summary.methods.front(), width));
  return absl::StrCat(text, FailuresText(summary.failures));
}

}  // namespace lockstep
