#include "eval/report/report_json.h"

#include <string>

#include "eval/scoring/confidence_interval.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const Rate& rate) {
  const Interval interval = rate.interval();
  return {{"successes", rate.successes},
          {"trials", rate.trials},
          {"share", rate.share()},
          {"low", interval.low},
          {"high", interval.high}};
}

Json ToJson(const Mean& mean) {
  return {{"mean", mean.value}, {"low", mean.interval.low}, {"high", mean.interval.high}, {"count", mean.count}};
}

Json ToJson(const Spread& spread) {
  return {{"count", spread.count}, {"median", spread.median}, {"p95", spread.p95}, {"most", spread.most}};
}

Json ToJson(const KindRow& row) {
  return {{"episodes", row.episodes},
          {"too_cheap", row.too_cheap},
          {"top1", ToJson(row.top1)},
          {"top3", ToJson(row.top3)},
          {"class_right", ToJson(row.class_right)},
          {"exact_set", ToJson(row.exact_set)},
          {"state_right", ToJson(row.state_right)},
          {"episodes_accusing_innocents", row.episodes_accusing_innocents},
          {"predicted", row.predicted}};
}

Json ToJson(const BaselineRow& row) {
  Json json = {{"name", row.name},
               {"top1", ToJson(row.top1)},
               {"top1_host", ToJson(row.top1_host)},
               {"top3", ToJson(row.top3)},
               {"recall", ToJson(row.recall)}};
  json["accuses_innocents"] = row.accuses ? ToJson(row.accuses_innocents) : Json();
  return json;
}

Json ToJson(const SuiteSummary& summary) {
  Json json = {{"suite", summary.name},
               {"what", summary.what},
               {"episodes", summary.episodes},
               {"too_cheap", summary.too_cheap},
               {"top1", ToJson(summary.top1)},
               {"top1_host", ToJson(summary.top1_host)},
               {"top3", ToJson(summary.top3)},
               {"class_right", ToJson(summary.class_right)},
               {"macro_class", ToJson(summary.macro_class)},
               {"exact_set", ToJson(summary.exact_set)},
               {"all_named", ToJson(summary.all_named)},
               {"recall", ToJson(summary.recall)},
               {"state_right", ToJson(summary.state_right)},
               {"accuses_innocents", ToJson(summary.accuses_innocents)},
               {"cost_error", ToJson(summary.cost_error)},
               {"soon_enough", ToJson(summary.soon_enough)},
               {"steps_to_verdict", ToJson(summary.steps_to_verdict)},
               {"hang_to_culprits_seconds", ToJson(summary.hang_seconds)},
               {"diagnose_seconds", ToJson(summary.diagnose_seconds)},
               {"simulate_seconds", ToJson(summary.simulate_seconds)},
               {"records", ToJson(summary.records)}};
  json["kinds"] = Json::object();
  for (const auto& [name, row] : summary.kinds) json["kinds"][name] = ToJson(row);
  json["baselines"] = Json::array();
  for (const BaselineRow& row : summary.baselines) json["baselines"].push_back(ToJson(row));
  json["failures"] = Json::array();
  for (const FailedEpisode& failed : summary.failures) {
    json["failures"].push_back({{"episode", failed.number},
                                {"why", failed.why},
                                {"simulated", failed.description},
                                {"answer", failed.answer}});
  }
  json["failures_not_listed"] = summary.failures_not_listed;
  return json;
}

Json ToJson(const Measure& measure) {
  return {{"measure", measure.name},
          {"published_best", measure.published},
          {"best_baseline", measure.best_baseline},
          {"target", measure.target},
          {"measured", measure.measured},
          {"value", measure.value},
          {"low", measure.low},
          {"high", measure.high},
          {"count", measure.count},
          {"met", measure.met}};
}

}  // namespace

nlohmann::ordered_json ReportJson(absl::string_view seeds, const std::vector<SuiteSummary>& summaries,
                                  const std::vector<Measure>& measures) {
  Json json = {{"seeds", std::string(seeds)}, {"measures", Json::array()}, {"suites", Json::array()}};
  for (const Measure& measure : measures) json["measures"].push_back(ToJson(measure));
  for (const SuiteSummary& summary : summaries) json["suites"].push_back(ToJson(summary));
  return json;
}

}  // namespace lockstep
