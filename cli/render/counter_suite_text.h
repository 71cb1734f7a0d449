// One suite of the evaluation of counters for people: methods, kinds of fault, sizes, the first failing episodes. Pure.

#ifndef LOCKSTEP_CLI_RENDER_COUNTER_SUITE_TEXT_H_
#define LOCKSTEP_CLI_RENDER_COUNTER_SUITE_TEXT_H_

#include <string>

#include "eval/counters/counter_summary.h"

namespace lockstep {

std::string CounterSuiteText(const CounterSummary& summary, int width);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_COUNTER_SUITE_TEXT_H_
