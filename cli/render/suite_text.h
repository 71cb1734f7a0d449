// One suite of the evaluation of localization for people. Pure.

#ifndef LOCKSTEP_CLI_RENDER_SUITE_TEXT_H_
#define LOCKSTEP_CLI_RENDER_SUITE_TEXT_H_

#include <string>

#include "eval/report/suite_summary.h"

namespace lockstep {

// Rates by kind of fault, baselines, and the first failing episodes.
std::string SuiteText(const SuiteSummary& summary, int width);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_SUITE_TEXT_H_
