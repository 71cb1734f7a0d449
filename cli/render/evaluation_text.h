// What every evaluation shows to people, whatever it evaluates. Pure.

#ifndef LOCKSTEP_CLI_RENDER_EVALUATION_TEXT_H_
#define LOCKSTEP_CLI_RENDER_EVALUATION_TEXT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "eval/report/failure_list.h"
#include "eval/report/figures.h"
#include "eval/report/measure.h"

namespace lockstep {

// The rows of the table of quality.
std::string MeasuresText(const std::vector<Measure>& measures, int width);

// "97.1 % (95-98)" with the 95 % interval; "-" without trials.
std::string RateText(const Rate& rate);
// "-" of nothing.
std::string SpreadText(const Spread& spread);
// "compute_slow 3, none 1": how often each was answered.
std::string PredictedText(const std::map<std::string, int64_t>& predicted);

// The first episodes that went wrong, and how many more there are; empty without any.
std::string FailuresText(const FailureList& failures);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_EVALUATION_TEXT_H_
