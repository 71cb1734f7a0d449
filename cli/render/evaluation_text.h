// The evaluation for people: the table of quality, then one block per suite. Pure.

#ifndef LOCKSTEP_CLI_RENDER_EVALUATION_TEXT_H_
#define LOCKSTEP_CLI_RENDER_EVALUATION_TEXT_H_

#include <string>
#include <vector>

#include "eval/report/measures.h"
#include "eval/report/suite_summary.h"

namespace lockstep {

std::string MeasuresText(const std::vector<Measure>& measures, int width);

// Rates by kind of fault, baselines, and the first failing episodes.
std::string SuiteText(const SuiteSummary& summary, int width);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_EVALUATION_TEXT_H_
