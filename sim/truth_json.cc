#include "sim/truth_json.h"

#include <vector>

#include "detector/verdict/verdict.h"
#include "nlohmann/json.hpp"
#include "sim/fault_spec.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json CostJson(const Cost& cost) {
  return {{"slowdown_fraction", cost.slowdown_fraction},
          {"seconds_per_step", cost.seconds_per_step},
          {"steps_affected_fraction", cost.steps_affected_fraction}};
}

Json CauseJson(const TrueCause& cause) {
  Json acceptable = Json::array();
  for (const VerdictClass verdict_class : cause.acceptable) acceptable.push_back(Name(verdict_class));
  Json culprits = Json::array();
  for (const Culprit& culprit : cause.culprits) {
    culprits.push_back({{"host", culprit.host},
                        {"rank", culprit.rank},
                        {"gpu", culprit.gpu},
                        {"device", culprit.device},
                        {"peer_host", culprit.peer_host}});
  }
  return {{"fault", std::string(InfoOf(cause.kind).name)},
          {"table_row", InfoOf(cause.kind).table_row},
          {"scope", Name(cause.scope)},
          {"class", Name(cause.verdict_class)},
          {"acceptable_classes", acceptable},
          {"culprits", culprits},
          {"indistinguishable_hosts", cause.indistinguishable_hosts},
          {"first_step", cause.first_step},
          {"last_step", cause.last_step},
          {"onset_ns", cause.onset_ns},
          {"cost", CostJson(cause.cost)},
          {"marginal_cost", CostJson(cause.marginal_cost)}};
}

Json Seconds(const std::vector<int64_t>& lengths_ns) {
  Json seconds = Json::array();
  for (const int64_t ns : lengths_ns) seconds.push_back(static_cast<double>(ns) * 1e-9);
  return seconds;
}

}  // namespace

std::string TruthJson(const JobSpec& job, uint64_t seed, const Truth& truth) {
  const Parallelism& cut = job.parallelism;
  Json causes = Json::array();
  for (const TrueCause& cause : truth.causes) causes.push_back(CauseJson(cause));
  const Json json = {{"job", job.name},
                     {"seed", seed},
                     {"gpus", cut.gpus()},
                     {"gpus_per_host", job.gpus_per_host},
                     {"tensor", cut.tensor},
                     {"context", cut.context},
                     {"data", cut.data},
                     {"pipeline", cut.pipeline},
                     {"expert", cut.expert},
                     {"virtual_stages", cut.virtual_stages},
                     {"state", Name(truth.state)},
                     {"negative", truth.is_negative},
                     {"hang_ns", truth.hang_ns},
                     {"causes", causes},
                     {"step_seconds", Seconds(truth.step_ns)},
                     {"healthy_step_seconds", Seconds(truth.healthy_step_ns)}};
  return json.dump(2) + "\n";
}

}  // namespace lockstep
