#include "eval/report/suite_json.h"

#include "eval/report/evaluation_json.h"
#include "eval/report/figure_json.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const KindRow& row) {
  return {{"episodes", row.episodes},
          {"too_cheap", row.too_cheap},
          {"top1", FigureJson(row.top1)},
          {"top3", FigureJson(row.top3)},
          {"class_right", FigureJson(row.class_right)},
          {"exact_set", FigureJson(row.exact_set)},
          {"state_right", FigureJson(row.state_right)},
          {"episodes_accusing_innocents", row.episodes_accusing_innocents},
          {"predicted", row.predicted}};
}

Json ToJson(const BaselineRow& row) {
  Json json = {{"name", row.name},
               {"top1", FigureJson(row.top1)},
               {"top1_host", FigureJson(row.top1_host)},
               {"top3", FigureJson(row.top3)},
               {"recall", FigureJson(row.recall)}};
  json["accuses_innocents"] = row.accuses ? FigureJson(row.accuses_innocents) : Json();
  return json;
}

}  // namespace

nlohmann::ordered_json SuiteJson(const SuiteSummary& summary) {
  Json json = {{"suite", summary.name},
               {"what", summary.what},
               {"episodes", summary.episodes},
               {"too_cheap", summary.too_cheap},
               {"top1", FigureJson(summary.top1)},
               {"top1_host", FigureJson(summary.top1_host)},
               {"top3", FigureJson(summary.top3)},
               {"class_right", FigureJson(summary.class_right)},
               {"macro_class", FigureJson(summary.macro_class)},
               {"exact_set", FigureJson(summary.exact_set)},
               {"exact_when_looked", FigureJson(summary.exact_when_looked)},
               {"all_named", FigureJson(summary.all_named)},
               {"recall", FigureJson(summary.recall)},
               {"state_right", FigureJson(summary.state_right)},
               {"accuses_innocents", FigureJson(summary.accuses_innocents)},
               {"cost_error", FigureJson(summary.cost_error)},
               {"soon_enough", FigureJson(summary.soon_enough)},
               {"steps_to_verdict", FigureJson(summary.steps_to_verdict)},
               {"hang_to_culprits_seconds", FigureJson(summary.hang_seconds)},
               {"diagnose_seconds", FigureJson(summary.diagnose_seconds)},
               {"simulate_seconds", FigureJson(summary.simulate_seconds)},
               {"records", FigureJson(summary.records)},
               {"pulled_bytes", FigureJson(summary.pulled_bytes)}};
  json["kinds"] = Json::object();
  for (const auto& [name, row] : summary.kinds) json["kinds"][name] = ToJson(row);
  json["baselines"] = Json::array();
  for (const BaselineRow& row : summary.baselines) json["baselines"].push_back(ToJson(row));
  AddFailures(summary.failures, json);
  return json;
}

}  // namespace lockstep
