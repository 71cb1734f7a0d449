// What an ELF file says of itself, by what of it is mapped in a process: no file is opened, which could be anything by
// now.

#ifndef LOCKSTEP_AGENT_STACKS_ELF_TABLES_H_
#define LOCKSTEP_AGENT_STACKS_ELF_TABLES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "agent/stacks/remote_memory.h"

namespace lockstep {

// Addresses of the process; 0 = there is none. Plain value; thread-compatible.
struct ElfTables {
  uint64_t bias = 0;  // what is added to addresses of the file
  uint64_t symbols = 0;
  uint64_t strings = 0;
  uint64_t hash = 0;         // DT_GNU_HASH
  uint64_t frame_index = 0;  // .eh_frame_hdr
};

// Of the 64-bit file whose header is at `base`. Follows a bounded number of entries. INVALID_ARGUMENT for what is no
// such file.
absl::StatusOr<ElfTables> ReadElfTables(RemoteMemory& memory, uint64_t base);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_ELF_TABLES_H_
