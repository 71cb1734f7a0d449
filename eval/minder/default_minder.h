// The Minder model that ships inside the programs: models/minder_default.model, trained on simulated jobs.
//
// docs/counters.md says how it was made and how well it reconstructs. Pure; thread-safe.

#ifndef LOCKSTEP_EVAL_MINDER_DEFAULT_MINDER_H_
#define LOCKSTEP_EVAL_MINDER_DEFAULT_MINDER_H_

#include "eval/minder/minder_model.h"

namespace lockstep {

// The metrics of kPublishedMinderMetrics in learned order, and a network over all of them.
MinderModel DefaultMinderModel();

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_MINDER_DEFAULT_MINDER_H_
