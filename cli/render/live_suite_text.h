// One suite of the evaluation of the live path for people. Pure.

#ifndef LOCKSTEP_CLI_RENDER_LIVE_SUITE_TEXT_H_
#define LOCKSTEP_CLI_RENDER_LIVE_SUITE_TEXT_H_

#include <string>

#include "eval/live/live_summary.h"

namespace lockstep {

// Delays, efforts, rates by kind of fault, the first failing episodes, and the first that differ from the file.
std::string LiveSuiteText(const LiveSummary& summary, int width);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_LIVE_SUITE_TEXT_H_
