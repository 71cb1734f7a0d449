// What metamorphic relations found, for people. Pure.

#ifndef LOCKSTEP_CLI_RENDER_METAMORPHIC_TEXT_H_
#define LOCKSTEP_CLI_RENDER_METAMORPHIC_TEXT_H_

#include <string>
#include <vector>

#include "eval/metamorphic/metamorphic_run.h"

namespace lockstep {

// Totals by relation, counts by source and relation, then each contradiction with the command that shows it again.
std::string MetamorphicText(const std::vector<SourceOutcome>& outcomes, int width);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_METAMORPHIC_TEXT_H_
