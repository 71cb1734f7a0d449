#include "cli/render/evaluation_text.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/render/text_table.h"

namespace lockstep {
namespace {

constexpr size_t kFailuresShown = 10;

}  // namespace

std::string MeasuresText(const std::vector<Measure>& measures, int width) {
  TextTable table({{"MEASURE"}, {"PUBLISHED BEST"}, {"BEST BASELINE HERE"}, {"TARGET"}, {"MET"}, {"MEASURED"}});
  for (const Measure& measure : measures) {
    table.AddRow({measure.name, measure.published, measure.best_baseline.empty() ? "-" : measure.best_baseline,
                  measure.target, measure.met ? "yes" : "NO", measure.measured});
  }
  return table.Render(width);
}

std::string FailuresText(const FailureList& failures) {
  std::string text;
  const size_t shown = std::min(failures.listed.size(), kFailuresShown);
  for (size_t i = 0; i < shown; ++i) {
    const FailedEpisode& failed = failures.listed[i];
    absl::StrAppend(&text, i == 0 ? "\n" : "", "episode ", failed.number, ": ", failed.why,
                    "\n  simulated: ", Printable(failed.description), "\n  answered: ", Printable(failed.answer), "\n");
  }
  const int64_t hidden = failures.total() - static_cast<int64_t>(shown);
  if (hidden > 0) absl::StrAppend(&text, "and ", hidden, " more episodes that went wrong (-o json lists them)\n");
  return text;
}

std::string RateText(const Rate& rate) {
  if (rate.trials == 0) return "-";
  return absl::StrFormat("%.1f %% (%.0f-%.0f)", 100 * rate.share(), 100 * rate.interval().low,
                         100 * rate.interval().high);
}

std::string SpreadText(const Spread& spread) {
  if (spread.count == 0) return "-";
  return absl::StrFormat("median %.3g, p95 %.3g, most %.3g", spread.median, spread.p95, spread.most);
}

std::string PredictedText(const std::map<std::string, int64_t>& predicted) {
  std::string text;
  for (const auto& [name, count] : predicted) absl::StrAppend(&text, text.empty() ? "" : ", ", name, " ", count);
  return text;
}

}  // namespace lockstep
