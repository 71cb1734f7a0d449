// Finds an exported symbol of an ELF file by what of it is mapped in a process: no file is opened, which could be
// anything by now.

#ifndef LOCKSTEP_AGENT_STACKS_ELF_SYMBOL_H_
#define LOCKSTEP_AGENT_STACKS_ELF_SYMBOL_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/stacks/remote_memory.h"

namespace lockstep {

// What the table DT_GNU_HASH has instead of a name. Pure.
uint32_t GnuHash(absl::string_view name);

// The address of `name` in the 64-bit file whose header is at `base`, by its table DT_GNU_HASH. Follows a bounded
// number of entries. NOT_FOUND where there is no such symbol; INVALID_ARGUMENT for what is no such file.
absl::StatusOr<uint64_t> FindElfSymbol(RemoteMemory& memory, uint64_t base, absl::string_view name);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_ELF_SYMBOL_H_
