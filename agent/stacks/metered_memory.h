// The memory of another process, read within a budget of work.

#ifndef LOCKSTEP_AGENT_STACKS_METERED_MEMORY_H_
#define LOCKSTEP_AGENT_STACKS_METERED_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "agent/stacks/remote_memory.h"
#include "agent/stacks/work_budget.h"

namespace lockstep {

// Reads nothing once the budget is spent. Borrows both. Not thread-safe.
class MeteredMemory final : public RemoteMemory {
 public:
  static constexpr uint64_t kUnitsOfRead = 32;  // a call of the kernel
  static constexpr size_t kBytesOfUnit = 16;    // copied, and looked at once

  MeteredMemory(RemoteMemory& memory, WorkBudget& budget) : memory_(memory), budget_(budget) {}

  bool Read(uint64_t address, void* to, size_t bytes) override {
    return budget_.Take(kUnitsOfRead + bytes / kBytesOfUnit) && memory_.Read(address, to, bytes);
  }

 private:
  RemoteMemory& memory_;
  WorkBudget& budget_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_METERED_MEMORY_H_
