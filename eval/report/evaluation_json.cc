#include "eval/report/evaluation_json.h"

#include <string>

#include "eval/report/figure_json.h"
#include "nlohmann/json.hpp"

namespace lockstep {

nlohmann::ordered_json EvaluationJson(absl::string_view seeds, const std::vector<Measure>& measures,
                                      const std::vector<nlohmann::ordered_json>& suites) {
  nlohmann::ordered_json json = {{"seeds", std::string(seeds)}, {"measures", nlohmann::ordered_json::array()}};
  for (const Measure& measure : measures) json["measures"].push_back(FigureJson(measure));
  json["suites"] = suites;
  return json;
}

void AddFailures(const FailureList& failures, nlohmann::ordered_json& suite) {
  suite["failures"] = nlohmann::ordered_json::array();
  for (const FailedEpisode& failed : failures.listed) {
    suite["failures"].push_back({{"episode", failed.number},
                                 {"why", failed.why},
                                 {"simulated", failed.description},
                                 {"answer", failed.answer}});
  }
  suite["failures_not_listed"] = failures.not_listed;
}

}  // namespace lockstep
