#include "eval/counters/counter_suite_json.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "eval/report/evaluation_json.h"
#include "eval/report/figure_json.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json CountsJson(const AlarmCounts& counts) {
  return {{"episodes", counts.episodes},
          {"recall", FigureJson(counts.recall)},
          {"precision", FigureJson(counts.precision)},
          {"f1", counts.f1()},
          {"onset_to_alarm_s", FigureJson(counts.delay_seconds)}};
}

Json MethodJson(const CounterMethodSummary& method) {
  Json json = {{"name", method.name}, {"source", method.source}};
  json.update(CountsJson(method.all));
  json["f1_low"] = method.f1.low;
  json["f1_high"] = method.f1.high;
  json["false_accusations"] = {{"count", method.accusations.accusations},
                               {"machine_days", method.accusations.machine_days},
                               {"per_10000_machine_days", method.accusations.per_10000_days()},
                               {"upper_per_10000_machine_days", method.accusations.upper_per_10000_days()}};
  json["detect_seconds"] = FigureJson(method.detect_seconds);
  json["rows"] = Json::object();
  for (const auto& [name, counts] : method.rows) json["rows"][name] = CountsJson(counts);
  json["sizes"] = Json::object();
  for (const auto& [hosts, counts] : method.sizes) json["sizes"][absl::StrCat(hosts)] = CountsJson(counts);
  return json;
}

}  // namespace

nlohmann::ordered_json CounterSuiteJson(const CounterSummary& summary) {
  Json json = {{"suite", summary.name},
               {"what", summary.what},
               {"episodes", summary.episodes},
               {"samples", FigureJson(summary.samples)},
               {"simulate_seconds", FigureJson(summary.simulate_seconds)},
               {"methods", Json::array()}};
  for (const CounterMethodSummary& method : summary.methods) {
    if (method.all.episodes > 0) json["methods"].push_back(MethodJson(method));
  }
  AddFailures(summary.failures, json);
  return json;
}

}  // namespace lockstep
