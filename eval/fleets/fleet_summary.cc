#include "eval/fleets/fleet_summary.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "eval/report/figure_json.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

void Add(const FleetOutcome& outcome, FleetRow& row) {
  const FleetScore& score = outcome.score;
  row.right.Add(score.right);
  if (score.top1.has_value()) row.top1.Add(*score.top1);
  if (score.exact.has_value()) row.exact.Add(*score.exact);
  if (score.class_right.has_value()) row.class_right.Add(*score.class_right);
  row.innocents += score.innocents;
  row.accusing_episodes += score.innocents > 0 ? 1 : 0;
  row.unsound += score.unsound ? 1 : 0;
  if (score.cost_error.has_value()) row.cost_errors.push_back(*score.cost_error);
}

bool IsQuiet(const FleetOutcome& outcome) {
  return !outcome.truth.hang && std::none_of(outcome.truth.faults.begin(), outcome.truth.faults.end(),
                                             [](const second::TrueFault& fault) { return fault.machine_fault; });
}

nlohmann::ordered_json RowJson(const FleetRow& row) {
  return {{"right", FigureJson(row.right)}, {"top1", FigureJson(row.top1)},
          {"exact", FigureJson(row.exact)}, {"class", FigureJson(row.class_right)},
          {"innocents", row.innocents},     {"episodes_accusing_innocents", row.accusing_episodes},
          {"unsound", row.unsound},         {"cost_error", FigureJson(SpreadOf(row.cost_errors))}};
}

nlohmann::ordered_json RowsJson(const std::map<std::string, FleetRow>& rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, row] : rows) json[name] = RowJson(row);
  return json;
}

}  // namespace

FleetSummary SummarizeFleets(const std::vector<FleetOutcome>& outcomes) {
  FleetSummary summary;
  for (const FleetOutcome& outcome : outcomes) {
    Add(outcome, summary.all);
    if (IsQuiet(outcome)) Add(outcome, summary.quiet);
    Add(outcome, summary.kinds[outcome.kind]);
    for (const std::string& feature : outcome.truth.features) Add(outcome, summary.features[feature]);
    if (!outcome.score.flawless()) summary.failures.push_back(outcome);
  }
  return summary;
}

std::vector<Measure> FleetMeasures(const FleetSummary& summary) {
  constexpr Goal kRight = {"fleets", "right", "-", "90 %", 0.9};
  constexpr Goal kTop1 = {"fleets", "first accused is a culprit", "-", "95 %", 0.95};
  constexpr Goal kClass = {"fleets", "class right", "-", "90 %", 0.9};
  constexpr Goal kQuiet = {"fleets", "nobody accused where nobody is to blame", "-", "100 %", 1};
  Rate nobody = {summary.quiet.right.trials - summary.quiet.accusing_episodes, summary.quiet.right.trials};
  return {Judged(kRight, MeasuredRate(summary.all.right), ""), Judged(kTop1, MeasuredRate(summary.all.top1), ""),
          Judged(kClass, MeasuredRate(summary.all.class_right), ""), Judged(kQuiet, MeasuredRate(nobody), "")};
}

nlohmann::ordered_json FleetJson(const FleetSummary& summary) {
  nlohmann::ordered_json failures = nlohmann::ordered_json::array();
  for (const FleetOutcome& outcome : summary.failures) {
    failures.push_back({{"kind", outcome.kind},
                        {"world", outcome.number},
                        {"name", outcome.truth.name},
                        {"right", outcome.score.right},
                        {"unsound", outcome.score.unsound},
                        {"class_right", outcome.score.class_right.value_or(true)},
                        {"innocents", outcome.score.innocents},
                        {"answer", outcome.answer},
                        {"features", outcome.truth.features}});
  }
  return {{"suite", "fleets"},
          {"all", RowJson(summary.all)},
          {"quiet", RowJson(summary.quiet)},
          {"kinds", RowsJson(summary.kinds)},
          {"features", RowsJson(summary.features)},
          {"failures", std::move(failures)}};
}

}  // namespace lockstep
