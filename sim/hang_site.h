// At which instruction of its step a rank gets stuck.
//
// Pure; thread-safe.

#ifndef LOCKSTEP_SIM_HANG_SITE_H_
#define LOCKSTEP_SIM_HANG_SITE_H_

#include <cstdint>

#include "sim/fault_spec.h"
#include "sim/layout.h"
#include "sim/program.h"

namespace lockstep {

// The instruction nearest to the share `when` (0 to 1) of the program at which `rank` can get stuck in this way: any
// but the end for a program or GPU that stops; an operation that crosses hosts (any operation where there is none) for
// a transfer; a synchronous operation for a mismatch; the last operation on the data stream before the world's for a
// deadlock. -1 when the job has no such place.
int32_t HangSite(FaultKind kind, int32_t rank, const Layout& layout, const StageProgram& program, double when);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_HANG_SITE_H_
