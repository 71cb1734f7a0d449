#include "eval/metamorphic/metamorphic_json.h"

#include <cstdint>

#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace lockstep {

nlohmann::ordered_json MetamorphicJson(const SourceOutcome& outcome) {
  using Json = nlohmann::ordered_json;
  Json json = {{"suite", outcome.source}, {"answers", outcome.answers}, {"relations", Json::object()}};
  if (!outcome.unreadable.empty()) json["unreadable"] = outcome.unreadable;
  for (const auto& [relation, count] : outcome.by_relation) {
    json["relations"][relation] = {{"trials", count.trials},
                                   {"contradictions", count.contradictions},
                                   {"not_applicable", count.not_applicable},
                                   {"why_not", count.why_not}};
  }
  json["contradictions"] = Json::array();
  for (const Contradiction& contradiction : outcome.contradictions) {
    json["contradictions"].push_back({{"relation", contradiction.relation},
                                      {"trial", contradiction.trial},
                                      {"job", contradiction.job},
                                      {"what", contradiction.what},
                                      {"answer", contradiction.answer},
                                      {"arguments", contradiction.arguments}});
  }
  return json;
}

Measure MetamorphicMeasure(const std::vector<SourceOutcome>& outcomes) {
  RelationCount all;
  for (const auto& [relation, count] : Totals(outcomes)) {
    all.trials += count.trials;
    all.contradictions += count.contradictions;
  }
  constexpr Goal kGoal = {"metamorphic", "contradictions under metamorphic relations", "-", "0", 0, /*at_least=*/false};
  Measure measured;
  measured.value = measured.low = measured.high = static_cast<double>(all.contradictions);
  measured.count = all.trials;
  measured.measured = absl::StrFormat("%d in %d transformed recordings", all.contradictions, all.trials);
  Measure judged = Judged(kGoal, std::move(measured), "");
  judged.met = judged.met && judged.count > 0;  // nothing that was tried contradicts nothing
  return judged;
}

}  // namespace lockstep
