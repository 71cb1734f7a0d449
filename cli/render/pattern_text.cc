#include "cli/render/pattern_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/render/quantity_text.h"
#include "cli/render/text_table.h"
#include "detector/patterns/function_group.h"
#include "detector/patterns/function_kind.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

constexpr TextTable::Align kRight = TextTable::Align::kRight;
constexpr double kLeastDifference = 0.0005;  // of the window
constexpr double kBytesPerGigabyte = 1e9;

std::string ShareText(double share) { return absl::StrFormat("%.2f %%", 100 * share); }

std::string UtilisationText(const FunctionPattern& pattern) {
  if (pattern.utilisation == Utilisation::kNone) return "-";
  if (pattern.utilisation == Utilisation::kOccupancy) {
    return absl::StrFormat("%.0f ± %.0f %%", 100 * pattern.mu, 100 * pattern.sigma);
  }
  return absl::StrFormat("%.3g ± %.2g GB/s", pattern.mu / kBytesPerGigabyte, pattern.sigma / kBytesPerGigabyte);
}

std::string RankText(const RankPatterns& patterns) {
  return patterns.rank < 0 ? "a rank that is not named" : absl::StrCat("rank ", patterns.rank);
}

std::string Heading(const RankPatterns& patterns) {
  std::string text = absl::StrCat(RankText(patterns), patterns.host.empty() ? "" : " on ", Printable(patterns.host),
                                  ": ", SecondsText(patterns.window_seconds));
  if (patterns.steps > 0) absl::StrAppend(&text, ", ", patterns.steps, patterns.steps == 1 ? " step" : " steps");
  return absl::StrCat(text, ", nothing ran in ", PercentText(patterns.idle), "\n");
}

std::string LeftOutText(const PatternsLeftOut& left_out) {
  std::string text;
  if (left_out.functions > 0) {
    absl::StrAppend(&text, "not kept: ", left_out.functions,
                    left_out.functions == 1 ? " function with " : " functions with ", ShareText(left_out.beta),
                    " together\n");
  }
  if (left_out.events > 0) {
    absl::StrAppend(&text, "not looked at: ", left_out.events, " calls of ", SecondsText(left_out.event_seconds),
                    " together, the shortest ones\n");
  }
  if (left_out.unnamed_calls > 0) {
    absl::StrAppend(&text, "under one name: ", left_out.unnamed_calls, " calls of further functions\n");
  }
  return text;
}

// Four digits, as many as are true.
double Rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(std::fabs(value))));
  const double rounded = std::round(value * scale) / scale;
  return std::isfinite(rounded) ? rounded : 0;
}

struct Pair {
  const FunctionPattern* first = nullptr;
  const FunctionPattern* second = nullptr;

  const FunctionPattern& any() const { return first != nullptr ? *first : *second; }
  double difference() const { return (second != nullptr ? second->beta : 0) - (first != nullptr ? first->beta : 0); }
};

std::vector<Pair> PairsOf(const RankPatterns& first, const RankPatterns& second) {
  std::map<std::pair<FunctionKind, std::string>, Pair> by_name;
  for (const FunctionPattern& pattern : first.functions) by_name[{pattern.kind, pattern.name}].first = &pattern;
  for (const FunctionPattern& pattern : second.functions) by_name[{pattern.kind, pattern.name}].second = &pattern;
  std::vector<Pair> pairs;
  for (const auto& [key, pair] : by_name) {
    if (std::fabs(pair.difference()) >= kLeastDifference) pairs.push_back(pair);
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return std::fabs(a.difference()) > std::fabs(b.difference()); });
  return pairs;
}

}  // namespace

std::string PatternText(const RankPatterns& patterns, size_t rows, int width) {
  TextTable table({{"SHARE", kRight},
                   {"CALLS/S", kRight},
                   {"A CALL", kRight},
                   {"SPREAD", kRight},
                   {"UTILISATION", kRight},
                   {"KIND"},
                   {"PART OF"},
                   {"FUNCTION"}});
  for (size_t i = 0; i < std::min(rows, patterns.functions.size()); ++i) {
    const FunctionPattern& pattern = patterns.functions[i];
    table.AddRow({ShareText(pattern.beta), absl::StrFormat("%.4g", pattern.calls_per_second),
                  SecondsText(pattern.mean_seconds), PercentText(pattern.spread), UtilisationText(pattern),
                  Name(pattern.kind), TraitsOf(GroupOf(pattern.kind, pattern.name)).name, pattern.name});
  }
  std::string text = absl::StrCat(Heading(patterns), "\n", table.Render(width));
  if (patterns.functions.size() > rows) {
    absl::StrAppend(&text, "and ", patterns.functions.size() - rows, " more functions (--rows)\n");
  }
  return absl::StrCat(text, LeftOutText(patterns.left_out));
}

std::string PatternDifferenceText(const RankPatterns& first, const RankPatterns& second, size_t rows, int width) {
  TextTable table({{"DIFFERENCE", kRight},
                   {"SHARE", kRight},
                   {"SHARE", kRight},
                   {"A CALL", kRight},
                   {"A CALL", kRight},
                   {"CALLS/S", kRight},
                   {"CALLS/S", kRight},
                   {"FUNCTION"}});
  const std::vector<Pair> pairs = PairsOf(first, second);
  const FunctionPattern none;
  for (size_t i = 0; i < std::min(rows, pairs.size()); ++i) {
    const FunctionPattern& one = pairs[i].first != nullptr ? *pairs[i].first : none;
    const FunctionPattern& other = pairs[i].second != nullptr ? *pairs[i].second : none;
    table.AddRow({absl::StrFormat("%+.2f %%", 100 * pairs[i].difference()), ShareText(one.beta), ShareText(other.beta),
                  SecondsText(one.mean_seconds), SecondsText(other.mean_seconds),
                  absl::StrFormat("%.4g", one.calls_per_second), absl::StrFormat("%.4g", other.calls_per_second),
                  pairs[i].any().name});
  }
  std::string text = absl::StrCat("first:  ", Heading(first), "second: ", Heading(second), "\n");
  if (table.empty()) return absl::StrCat(text, "no function's share differs by 0.05 %\n");
  absl::StrAppend(&text, table.Render(width));
  if (pairs.size() > rows) absl::StrAppend(&text, "and ", pairs.size() - rows, " more functions (--rows)\n");
  return text;
}

nlohmann::ordered_json PatternJson(const RankPatterns& patterns) {
  nlohmann::ordered_json functions = nlohmann::ordered_json::array();
  for (const FunctionPattern& pattern : patterns.functions) {
    nlohmann::ordered_json function = {{"name", pattern.name},
                                       {"kind", Name(pattern.kind)},
                                       {"part_of", TraitsOf(GroupOf(pattern.kind, pattern.name)).name},
                                       {"beta", Rounded(pattern.beta)},
                                       {"calls_per_second", Rounded(pattern.calls_per_second)},
                                       {"mean_seconds", Rounded(pattern.mean_seconds)},
                                       {"spread", Rounded(pattern.spread)}};
    if (pattern.utilisation != Utilisation::kNone) {
      function["utilisation"] = Name(pattern.utilisation);
      function["mu"] = Rounded(pattern.mu);
      function["sigma"] = Rounded(pattern.sigma);
    }
    functions.push_back(std::move(function));
  }
  return {{"rank", patterns.rank},
          {"host", patterns.host},
          {"window_seconds", Rounded(patterns.window_seconds)},
          {"steps", patterns.steps},
          {"idle", Rounded(patterns.idle)},
          {"functions", std::move(functions)},
          {"left_out",
           {{"functions", patterns.left_out.functions},
            {"beta", Rounded(patterns.left_out.beta)},
            {"events", patterns.left_out.events},
            {"event_seconds", Rounded(patterns.left_out.event_seconds)},
            {"unnamed_calls", patterns.left_out.unnamed_calls}}}};
}

}  // namespace lockstep
