// The memory of another process, read while that runs on: nothing is stopped, so that what is read may change
// meanwhile.
//
// Everything in it is hostile: whoever reads checks what he gets and bounds what he follows.

#ifndef LOCKSTEP_AGENT_STACKS_REMOTE_MEMORY_H_
#define LOCKSTEP_AGENT_STACKS_REMOTE_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/optional.h"

namespace lockstep {

class RemoteMemory {
 public:
  virtual ~RemoteMemory() = default;

  // Copies `bytes` from `address` to `to`. False = not all of it could be read; `to` is then of no use.
  virtual bool Read(uint64_t address, void* to, size_t bytes) = 0;

  // A number at `address`, in the byte order of this machine.
  template <typename T>
  absl::optional<T> Get(uint64_t address) {
    T value;
    if (!Read(address, &value, sizeof value)) return absl::nullopt;
    return value;
  }
};

// By process_vm_readv(2), which needs the right to trace the process: the same user, or CAP_SYS_PTRACE. Not
// thread-safe.
class ProcessMemory final : public RemoteMemory {
 public:
  explicit ProcessMemory(int32_t pid) : pid_(pid) {}

  bool Read(uint64_t address, void* to, size_t bytes) override;

  // PERMISSION_DENIED or NOT_FOUND (it has ended) once that was the answer; OK else.
  const absl::Status& status() const { return status_; }

 private:
  const int32_t pid_;
  absl::Status status_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_REMOTE_MEMORY_H_
