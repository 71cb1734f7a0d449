#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace lockstep {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "lockstep: invariant broken at %s:%d: %s\n", file, line, condition);
  std::abort();
}

}  // namespace lockstep
