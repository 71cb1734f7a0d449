// The data symbols that NCCL looks for, one for each version of its profiler interface.

#include <stdlib.h>
#include <string.h>

#include "agent/recorder/nccl_abi.h"
#include "agent/recorder/nccl_callbacks.h"

namespace lockstep::ring {
namespace {

constexpr char kForceVariable[] = "LOCKSTEP_FORCE_ABI";
constexpr char kChainVariable[] = "LOCKSTEP_CHAIN_PROFILER";

// Versions whose init has the same arguments: their tables can stand for each other.
constexpr int ShapeOf(int abi) { return abi <= 3 ? 1 : (abi == 4 ? 4 : 5); }

template <int kAbi>
void CopyTable(bool is_chained, void* to) {
  const TableOf<kAbi> table = is_chained ? ChainedCallbacks<kAbi>() : Callbacks<kAbi>();
  memcpy(to, &table, sizeof(table));
}

using CopyFunction = void (*)(bool is_chained, void* to);
constexpr CopyFunction kCopyFunctions[] = {CopyTable<1>, CopyTable<2>, CopyTable<3>, CopyTable<4>,
                                           CopyTable<5>, CopyTable<6>, CopyTable<7>};

// The callbacks of this version; those of another one where the user vouches for it: for a fork whose events do not
// look like its symbol says.
template <int kAbi>
TableOf<kAbi> Choose() {
  const char* forced_text = getenv(kForceVariable);
  const int forced = forced_text == nullptr ? 0 : atoi(forced_text);
  const bool is_forced =
      forced >= nccl_abi::kOldestVersion && forced <= nccl_abi::kNewestVersion && ShapeOf(forced) == ShapeOf(kAbi);
  const char* chained = getenv(kChainVariable);
  TableOf<kAbi> table;
  kCopyFunctions[(is_forced ? forced : kAbi) - 1](chained != nullptr && chained[0] != '\0', &table);
  return table;
}

}  // namespace
}  // namespace lockstep::ring

// Filled when the library is loaded, before anybody can look them up. Not const: NCCL's ports to other GPUs would take
// that for memory of the GPU.
#define LOCKSTEP_PROFILER(version)                                                                  \
  __attribute__((visibility("default"))) lockstep::ring::TableOf<version> ncclProfiler_v##version = \
      lockstep::ring::Choose<version>()

extern "C" {
LOCKSTEP_PROFILER(1);
LOCKSTEP_PROFILER(2);
LOCKSTEP_PROFILER(3);
LOCKSTEP_PROFILER(4);
LOCKSTEP_PROFILER(5);
LOCKSTEP_PROFILER(6);
LOCKSTEP_PROFILER(7);
}
