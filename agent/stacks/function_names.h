// Names of functions of C and C++ by their addresses, from the exported symbols of the files that a process has mapped.
//
// Functions that a file does not export have no name in memory: they are told by the distance of their beginning from
// the file's. Everything read is hostile: tables are bounded, names are cut and made printable. A table that the budget
// of work did not suffice for is none, and is read anew the next time.

#ifndef LOCKSTEP_AGENT_STACKS_FUNCTION_NAMES_H_
#define LOCKSTEP_AGENT_STACKS_FUNCTION_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/stacks/elf_tables.h"
#include "agent/stacks/mapped_code.h"
#include "agent/stacks/remote_memory.h"
#include "agent/stacks/work_budget.h"

namespace lockstep {

// Borrows all. Not thread-safe.
class FunctionNames {
 public:
  static constexpr size_t kMaxSymbols =
      1 << 19;  // of all files together; 16 bytes each, half as much while they are read
  static constexpr size_t kMaxNameBytes = 120;
  // A demangler goes as deep as a name asks for: what is longer stays as it is.
  static constexpr size_t kMaxMangledBytes = 256;
  // Each reference of a mangled name repeats what stands before it, so that 60 of them make gigabytes of 200 bytes: a
  // name with more stays as it is. The text of so many has at most some megabytes.
  static constexpr int kMaxReferences = 24;

  // `tables`: where what is read once comes from, whatever has its size. `names`: where names come from.
  FunctionNames(RemoteMemory& tables, RemoteMemory& names, const WorkBudget& budget)
      : tables_(tables), names_(names), budget_(budget) {}

  // "ncclGroupEnd (libnccl.so.2)", "+0x1a2b0 (libcuda.so.1)". `function_begin`: of the function with the address, by
  // its frame rules; 0 = unknown.
  std::string Describe(const MappedCode& code, const ElfTables& tables, uint64_t address, uint64_t function_begin);

  // What people read of a name in a table of symbols: demangled where that is bounded, printable. Pure.
  static std::string Readable(std::string name);

  // Files whose symbols found no room.
  size_t left_out() const { return left_out_; }
  size_t bytes_kept() const { return kept_ * sizeof(Symbol); }

 private:
  struct Symbol {
    uint64_t begin;
    uint32_t bytes;
    uint32_t name;  // index into the file's strings
  };

  const std::vector<Symbol>& SymbolsOf(const MappedCode& code, const ElfTables& tables);
  // How many symbols the table has; 0 = it cannot be told.
  size_t Count(const ElfTables& tables);
  std::string NameAt(uint64_t address);

  // Those of the functions; empty where the budget did not suffice.
  std::vector<Symbol> ReadSymbols(const ElfTables& tables, size_t count);

  RemoteMemory& tables_;
  RemoteMemory& names_;
  const WorkBudget& budget_;
  const std::vector<Symbol> none_;
  std::map<uint64_t, std::vector<Symbol>> symbols_;  // by the base of the file, each by rising begin
  size_t kept_ = 0;
  size_t left_out_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_FUNCTION_NAMES_H_
