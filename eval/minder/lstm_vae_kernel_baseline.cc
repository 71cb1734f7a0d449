#include "eval/minder/lstm_vae_kernel.h"

namespace lockstep {

LstmVaeKernel BaselineLstmVaeKernel() { return LaneKernel<4>::Run; }

}  // namespace lockstep
