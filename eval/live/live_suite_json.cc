#include "eval/live/live_suite_json.h"

#include "eval/report/evaluation_json.h"
#include "eval/report/figure_json.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const LiveKindRow& row) {
  return {{"episodes", row.episodes},
          {"too_cheap", row.too_cheap},
          {"top1", FigureJson(row.top1)},
          {"named", FigureJson(row.named)},
          {"class_right", FigureJson(row.class_right)},
          {"named_after_seconds", FigureJson(row.named_seconds)},
          {"episodes_accusing_innocents", row.episodes_accusing_innocents},
          {"predicted", row.predicted}};
}

Json ToJson(const InnocentRate& innocents) {
  return {{"hosts", innocents.accused},
          {"episodes", innocents.episodes},
          {"false_incidents", innocents.false_incidents},
          {"job_hours", innocents.job_hours},
          {"per_job_hour", innocents.per_job_hour()},
          {"accusing_episodes_per_job_hour_upper", innocents.upper_per_job_hour()}};
}

}  // namespace

nlohmann::ordered_json LiveSuiteJson(const LiveSummary& summary) {
  Json json = {{"suite", summary.name},
               {"what", summary.what},
               {"episodes", summary.episodes},
               {"too_cheap", summary.too_cheap},
               {"top1", FigureJson(summary.top1)},
               {"named", FigureJson(summary.named)},
               {"class_right", FigureJson(summary.class_right)},
               {"state_right", FigureJson(summary.state_right)},
               {"within_5_steps_and_5_seconds", FigureJson(summary.within_median)},
               {"within_5_steps_and_12_seconds", FigureJson(summary.within_p95)},
               {"hang_exact_within_10_seconds", FigureJson(summary.hang_in_time)},
               {"all_named", FigureJson(summary.all_named)},
               {"accused_rightly", FigureJson(summary.accused_rightly)},
               {"recall", FigureJson(summary.recall)},
               {"cost_error", FigureJson(summary.cost_error)},
               {"named_after_seconds", FigureJson(summary.named_seconds)},
               {"named_after_steps", FigureJson(summary.named_steps)},
               {"hang_exact_after_seconds", FigureJson(summary.exact_seconds)},
               {"innocents", ToJson(summary.innocents)},
               {"unknown_share", FigureJson(summary.unknown_share)},
               {"pulled_bytes_per_machine_second", FigureJson(summary.pulled_bytes)},
               {"report_bytes_per_machine_second", FigureJson(summary.report_bytes)},
               {"engine_cores_per_1000_machines", FigureJson(summary.cores_per_1000)},
               {"play_cpu_seconds", FigureJson(summary.play_seconds)},
               {"simulate_seconds", FigureJson(summary.simulate_seconds)},
               {"operations", FigureJson(summary.operations)},
               {"agrees_with_file", FigureJson(summary.agrees_with_file)},
               {"file_top1", FigureJson(summary.file_top1)}};
  json["kinds"] = Json::object();
  for (const auto& [name, row] : summary.kinds) json["kinds"][name] = ToJson(row);
  AddFailures(summary.failures, json);
  Json differences = Json::object();
  AddFailures(summary.disagreements, differences);
  json["differences_from_file"] = differences["failures"];
  json["differences_not_listed"] = differences["failures_not_listed"];
  return json;
}

}  // namespace lockstep
