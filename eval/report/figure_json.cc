#include "eval/report/figure_json.h"

#include "eval/scoring/confidence_interval.h"
#include "nlohmann/json.hpp"

namespace lockstep {

nlohmann::ordered_json FigureJson(const Rate& rate) {
  const Interval interval = rate.interval();
  return {{"successes", rate.successes},
          {"trials", rate.trials},
          {"share", rate.share()},
          {"low", interval.low},
          {"high", interval.high}};
}

nlohmann::ordered_json FigureJson(const Mean& mean) {
  return {{"mean", mean.value}, {"low", mean.interval.low}, {"high", mean.interval.high}, {"count", mean.count}};
}

nlohmann::ordered_json FigureJson(const Spread& spread) {
  return {{"count", spread.count}, {"median", spread.median}, {"p95", spread.p95}, {"most", spread.most}};
}

nlohmann::ordered_json FigureJson(const Measure& measure) {
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

}  // namespace lockstep
