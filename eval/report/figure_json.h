// Rates, means, spreads and measures as JSON, each with what says how far it can be trusted. Pure.

#ifndef LOCKSTEP_EVAL_REPORT_FIGURE_JSON_H_
#define LOCKSTEP_EVAL_REPORT_FIGURE_JSON_H_

#include "eval/report/figures.h"
#include "eval/report/measure.h"
#include "nlohmann/json_fwd.hpp"

namespace lockstep {

nlohmann::ordered_json FigureJson(const Rate& rate);
nlohmann::ordered_json FigureJson(const Mean& mean);
nlohmann::ordered_json FigureJson(const Spread& spread);
nlohmann::ordered_json FigureJson(const Measure& measure);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_REPORT_FIGURE_JSON_H_
