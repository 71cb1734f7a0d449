#include "eval/minder/lstm_vae_kernel.h"

namespace lockstep {

LstmVaeKernel Avx512LstmVaeKernel() {
#if defined(__AVX512F__)
  return LaneKernel<16>::Run;
#else
  return nullptr;
#endif
}

}  // namespace lockstep
