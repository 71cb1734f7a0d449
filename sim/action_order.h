// The order in which a replay can compute the instructions of all stages.
//
// Kahn's algorithm over (stage, instruction): a Send/Recv group starts when the one before it on its stream has ended,
// and ends when the groups of all its other sides have started. Pure; thread-safe.

#ifndef LOCKSTEP_SIM_ACTION_ORDER_H_
#define LOCKSTEP_SIM_ACTION_ORDER_H_

#include "sim/plan.h"

namespace lockstep {

// Fills plan.actions and plan.joins from plan.stages and plan.transfers. CHECKs that the schedule cannot deadlock.
void OrderActions(Plan& plan);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_ACTION_ORDER_H_
