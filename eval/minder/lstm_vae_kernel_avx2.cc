#include "eval/minder/lstm_vae_kernel.h"

namespace lockstep {

LstmVaeKernel Avx2LstmVaeKernel() {
#if defined(__AVX2__) && defined(__FMA__)
  return LaneKernel<8>::Run;
#else
  return nullptr;
#endif
}

}  // namespace lockstep
