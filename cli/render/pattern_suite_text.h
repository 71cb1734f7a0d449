// A suite of profiles as people read it. Pure.

#ifndef LOCKSTEP_CLI_RENDER_PATTERN_SUITE_TEXT_H_
#define LOCKSTEP_CLI_RENDER_PATTERN_SUITE_TEXT_H_

#include <string>

#include "eval/patterns/pattern_summary.h"

namespace lockstep {

std::string PatternSuiteText(const PatternSummary& summary, int width);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_PATTERN_SUITE_TEXT_H_
