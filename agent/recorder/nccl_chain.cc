#include "agent/recorder/nccl_chain.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "agent/recorder/glibc_floor.h"

namespace lockstep::ring {

void* FindChainedTable(const char* symbol) {
  static constinit std::atomic<void*> library{nullptr};
  if (library.load(std::memory_order_acquire) == nullptr) {
    const char* path = getenv("LOCKSTEP_CHAIN_PROFILER");
    void* loaded = path == nullptr || path[0] == '\0' ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (loaded == nullptr) return nullptr;
    // Loaded twice by two threads: the same library, held twice.
    library.store(loaded, std::memory_order_release);
  }
  return dlsym(library.load(std::memory_order_acquire), symbol);
}

}  // namespace lockstep::ring
