// What every evaluation shows to people, whatever it evaluates. Pure.

#ifndef LOCKSTEP_CLI_RENDER_EVALUATION_TEXT_H_
#define LOCKSTEP_CLI_RENDER_EVALUATION_TEXT_H_

#include <string>
#include <vector>

#include "eval/report/failure_list.h"
#include "eval/report/measure.h"

namespace lockstep {

// The rows of the table of quality.
std::string MeasuresText(const std::vector<Measure>& measures, int width);

// The first episodes that went wrong, and how many more there are; empty without any.
std::string FailuresText(const FailureList& failures);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_EVALUATION_TEXT_H_
