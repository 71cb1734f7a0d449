// Memory of a process that makes a reader of functions of C work without end: a stack full of addresses behind calls,
// code of which each address has frame information as long as it may be, which tells nothing.

#ifndef LOCKSTEP_AGENT_STACKS_TESTING_ENDLESS_MEMORY_H_
#define LOCKSTEP_AGENT_STACKS_TESTING_ENDLESS_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "agent/stacks/remote_memory.h"
#include "agent/stacks/testing/image_memory.h"

namespace lockstep {

// Not thread-safe.
class EndlessMemory final : public RemoteMemory {
 public:
  static constexpr uint64_t kCode = 0x1'0100'0000;
  static constexpr uint64_t kCodeBytes = 64 << 20;
  static constexpr uint64_t kStack = 0x7F00'0000'0000;
  static constexpr uint64_t kStackBytes = 64 << 20;

  EndlessMemory();

  bool Read(uint64_t address, void* to, size_t bytes) override;

  // As /proc/PID/maps has it.
  static std::string Maps();

  size_t reads = 0;

 private:
  ImageMemory file_;  // what is in front of the code
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_TESTING_ENDLESS_MEMORY_H_
