// What an ELF file says of itself, by what of it is mapped in a process: no file is opened, which could be anything by
// now.

#ifndef LOCKSTEP_AGENT_STACKS_ELF_TABLES_H_
#define LOCKSTEP_AGENT_STACKS_ELF_TABLES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
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

// Where the parts of DT_GNU_HASH are: the first symbol of each bucket, and a number for each symbol from `first_symbol`
// on, of which the last bit is set where a bucket ends. Plain value; thread-compatible.
struct SymbolHash {
  uint32_t buckets = 0;  // never 0
  uint32_t first_symbol = 0;
  uint64_t buckets_at = 0;
  uint64_t chains_at = 0;

  uint64_t ChainOf(uint64_t symbol) const { return chains_at + (symbol - first_symbol) * sizeof(uint32_t); }
};

// none = there is no such table, or it cannot be read.
absl::optional<SymbolHash> ReadSymbolHash(RemoteMemory& memory, const ElfTables& tables);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_ELF_TABLES_H_
