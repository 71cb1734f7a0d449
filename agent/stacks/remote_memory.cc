#include "agent/stacks/remote_memory.h"

#include <sys/uio.h>

#include <cerrno>

namespace lockstep {

bool ProcessMemory::Read(uint64_t address, void* to, size_t bytes) {
  const iovec local = {to, bytes};
  const iovec remote = {reinterpret_cast<void*>(address), bytes};  // NOLINT: an address of the other process
  const ssize_t read = process_vm_readv(pid_, &local, 1, &remote, 1, 0);
  if (read < 0 && errno == EPERM) status_ = absl::PermissionDeniedError("its memory may not be read: CAP_SYS_PTRACE");
  if (read < 0 && errno == ESRCH) status_ = absl::NotFoundError("the process has ended");
  return read == static_cast<ssize_t>(bytes);
}

}  // namespace lockstep
