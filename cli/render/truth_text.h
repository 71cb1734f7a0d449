// The truth of an episode for people. Pure.

#ifndef LOCKSTEP_CLI_RENDER_TRUTH_TEXT_H_
#define LOCKSTEP_CLI_RENDER_TRUTH_TEXT_H_

#include <string>

#include "sim/episode.h"

namespace lockstep {

// One line per cause, and one for the state.
std::string TruthText(const Truth& truth);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_TRUTH_TEXT_H_
