// A curve in one line of text.

#ifndef LOCKSTEP_CLI_RENDER_SPARKLINE_H_
#define LOCKSTEP_CLI_RENDER_SPARKLINE_H_

#include <string>
#include <vector>

namespace lockstep {

// One of eight bars per value, from the smallest to the largest value; a blank for NaN. Equal values give a middle
// line. Pure.
std::string Sparkline(const std::vector<double>& values);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_SPARKLINE_H_
