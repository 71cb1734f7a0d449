// Which file the code at an address of a process comes from, and how far its stacks reach, by the text of
// /proc/PID/maps.

#ifndef LOCKSTEP_AGENT_STACKS_MAPPED_CODE_H_
#define LOCKSTEP_AGENT_STACKS_MAPPED_CODE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace lockstep {

// A range of executable memory. Plain value; thread-compatible.
struct MappedCode {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t base = 0;  // where the ELF header of the file is; 0 = not mapped
  std::string file;   // its name without the folders, printable; "[vdso]"
};

inline constexpr size_t kMaxMappedCode = 4'096;

// By rising address; at most kMaxMappedCode. Memory without a file, of which nobody knows what it holds, is not in it.
// Pure.
std::vector<MappedCode> FindMappedCode(absl::string_view maps);

// Memory that is written and comes from no file: stacks are in it. Plain value; thread-compatible.
struct MappedData {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// By rising address; at most kMaxMappedData. Pure.
inline constexpr size_t kMaxMappedData = 65'536;
std::vector<MappedData> FindMappedData(absl::string_view maps);

// Where the range with the address ends; the address itself = it is in none. Pure.
uint64_t EndOfData(const std::vector<MappedData>& data, uint64_t address);

// The range with the address; nullptr = it is no code. Pure.
const MappedCode* CodeAt(const std::vector<MappedCode>& code, uint64_t address);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_MAPPED_CODE_H_
