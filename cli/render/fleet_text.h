// Episodes of the second simulator, scored, as text. Pure.

#ifndef LOCKSTEP_CLI_RENDER_FLEET_TEXT_H_
#define LOCKSTEP_CLI_RENDER_FLEET_TEXT_H_

#include <string>

#include "eval/fleets/fleet_run.h"
#include "eval/fleets/fleet_summary.h"

namespace lockstep {

// Tables by kind and by feature of the world, and what went wrong with the command that writes it again.
std::string FleetText(const FleetSummary& summary, int width);

// "NO compute 33: slow machine/nvlink_slow[1]; 1 innocent".
std::string FleetLine(const FleetOutcome& outcome);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_FLEET_TEXT_H_
