#include "eval/patterns/pattern_summary.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_format.h"
#include "eval/report/evaluation_json.h"
#include "eval/report/figure_json.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

void Add(const PatternScore& score, PatternCounts& counts) {
  counts.right.Add(score.right);
  counts.of_class.Add(score.class_right);
  counts.workers.Add(score.workers_right);
}

PatternMethodSummary SummarizeMethod(const PatternMethod& method, size_t index,
                                     const std::vector<PatternOutcome>& outcomes) {
  PatternMethodSummary summary;
  summary.name = method.name;
  summary.source = method.source;
  std::vector<double> seconds;
  for (const PatternOutcome& outcome : outcomes) {
    const PatternScore& score = outcome.methods[index];
    if (!score.asked) continue;
    Add(score, summary.all);
    Add(score, summary.rows[outcome.row]);
    summary.innocents.Add(score.innocent_answers > 0);
    seconds.push_back(score.seconds);
  }
  summary.seconds = SpreadOf(seconds);
  return summary;
}

Measure Right(const PatternMethodSummary& method) { return MeasuredRate(method.all.right); }

Measure Innocents(const PatternMethodSummary& method) {
  Measure measure;
  measure.value = static_cast<double>(method.innocents.successes);
  measure.low = measure.high = measure.value;
  measure.count = method.innocents.trials;
  measure.measured = absl::StrFormat("%d of %d (95 %%: below %.2g %%)", method.innocents.successes,
                                     method.innocents.trials, 100 * method.innocents.interval().high);
  return measure;
}

struct PatternMeasureRow {
  Goal goal;
  Measure (*measure)(const PatternMethodSummary&);
};

constexpr PatternMeasureRow kRows[] = {
    {{"faults", "function, class and workers of a fault in profiles", "78 of 80 (EROICA, real cases)", ">= 98 %", 0.98,
      /*at_least=*/true},
     Right},
    {{"healthy", "healthy jobs in whose profiles somebody is named", "unreported", "0", 0, /*at_least=*/false},
     Innocents},
};

std::string BestOfOthers(const PatternSummary& summary, const PatternMeasureRow& row) {
  const PatternMethodSummary* best = nullptr;
  for (size_t i = 1; i < summary.methods.size(); ++i) {
    const PatternMethodSummary& method = summary.methods[i];
    if (method.all.right.trials == 0) continue;
    const bool better = best == nullptr || (row.goal.at_least ? row.measure(method).value > row.measure(*best).value
                                                              : row.measure(method).value < row.measure(*best).value);
    if (better) best = &method;
  }
  return best == nullptr ? "" : absl::StrFormat("%s (%s)", row.measure(*best).measured, best->name);
}

Json CountsJson(const PatternCounts& counts) {
  return {{"right", FigureJson(counts.right)},
          {"class", FigureJson(counts.of_class)},
          {"class_and_workers", FigureJson(counts.workers)}};
}

}  // namespace

PatternSummary SummarizePatterns(const PatternSuite& suite, absl::Span<const PatternMethod> methods,
                                 const std::vector<PatternOutcome>& outcomes) {
  PatternSummary summary;
  summary.name = std::string(suite.name);
  summary.what = std::string(suite.what);
  summary.episodes = static_cast<int64_t>(outcomes.size());
  for (size_t i = 0; i < methods.size(); ++i) summary.methods.push_back(SummarizeMethod(methods[i], i, outcomes));
  for (const PatternOutcome& outcome : outcomes) {
    const PatternScore& score = outcome.methods.front();
    if (score.right) continue;
    const char* const why = score.innocent_answers > 0 ? "named innocents"
                            : score.workers_right      ? "named another function, or more than one cause"
                            : score.class_right        ? "named other workers"
                                                       : "did not find it";
    summary.failures.Add({outcome.number, why, outcome.description, score.answer});
  }
  return summary;
}

std::vector<Measure> PatternMeasuresOf(const std::vector<PatternSummary>& summaries) {
  std::vector<Measure> measures;
  for (const PatternMeasureRow& row : kRows) {
    const auto summary = std::find_if(summaries.begin(), summaries.end(), [&](const PatternSummary& candidate) {
      return candidate.name == row.goal.suite;
    });
    if (summary == summaries.end() || summary->methods.empty()) continue;
    const Measure measure = row.measure(summary->methods.front());
    if (measure.count > 0) measures.push_back(Judged(row.goal, measure, BestOfOthers(*summary, row)));
  }
  return measures;
}

nlohmann::ordered_json PatternSuiteJson(const PatternSummary& summary) {
  Json json = {
      {"suite", summary.name}, {"what", summary.what}, {"episodes", summary.episodes}, {"methods", Json::array()}};
  for (const PatternMethodSummary& method : summary.methods) {
    if (method.all.right.trials == 0) continue;
    Json one = {{"name", method.name}, {"source", method.source}};
    one.update(CountsJson(method.all));
    one["innocents"] = FigureJson(method.innocents);
    one["seconds"] = FigureJson(method.seconds);
    one["rows"] = Json::object();
    for (const auto& [name, counts] : method.rows) one["rows"][name] = CountsJson(counts);
    json["methods"].push_back(std::move(one));
  }
  AddFailures(summary.failures, json);
  return json;
}

}  // namespace lockstep
