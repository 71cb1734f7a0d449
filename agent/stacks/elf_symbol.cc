#include "agent/stacks/elf_symbol.h"

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr int kMaxProgramHeaders = 64;
constexpr int kMaxDynamicEntries = 256;
constexpr int kMaxChain = 1'024;  // symbols of one bucket
constexpr uint64_t kPageMask = ~uint64_t{4095};

absl::Status Broken() { return absl::InvalidArgumentError("the file of the interpreter is not as it should be"); }

// What the dynamic section says; addresses of the process.
struct DynamicTables {
  uint64_t bias = 0;  // what is added to addresses of the file
  uint64_t symbols = 0;
  uint64_t strings = 0;
  uint64_t hash = 0;
};

absl::StatusOr<DynamicTables> ReadTables(RemoteMemory& memory, uint64_t base) {
  const auto header = memory.Get<Elf64_Ehdr>(base);
  if (!header.has_value() || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(Elf64_Phdr)) {
    return Broken();
  }
  DynamicTables tables;
  uint64_t dynamic = 0;
  bool has_load = false;
  for (int i = 0; i < header->e_phnum && i < kMaxProgramHeaders; ++i) {
    const auto part = memory.Get<Elf64_Phdr>(base + header->e_phoff + static_cast<uint64_t>(i) * sizeof(Elf64_Phdr));
    if (!part.has_value()) return Broken();
    if (part->p_type == PT_LOAD && !has_load) {
      has_load = true;
      tables.bias = base - (part->p_vaddr & kPageMask);
    }
    if (part->p_type == PT_DYNAMIC) dynamic = part->p_vaddr;
  }
  if (!has_load || dynamic == 0) return Broken();
  for (int i = 0; i < kMaxDynamicEntries; ++i) {
    const auto entry = memory.Get<Elf64_Dyn>(tables.bias + dynamic + static_cast<uint64_t>(i) * sizeof(Elf64_Dyn));
    if (!entry.has_value()) return Broken();
    if (entry->d_tag == DT_NULL) break;
    // The loader of glibc has made addresses of the process of them, others leave them as they are in the file.
    const uint64_t address = entry->d_un.d_ptr < tables.bias ? entry->d_un.d_ptr + tables.bias : entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) tables.symbols = address;
    if (entry->d_tag == DT_STRTAB) tables.strings = address;
    if (entry->d_tag == DT_GNU_HASH) tables.hash = address;
  }
  if (tables.symbols == 0 || tables.strings == 0 || tables.hash == 0) return Broken();
  return tables;
}

}  // namespace

uint32_t GnuHash(absl::string_view name) {
  uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

absl::StatusOr<uint64_t> FindElfSymbol(RemoteMemory& memory, uint64_t base, absl::string_view name) {
  ASSIGN_OR_RETURN(const DynamicTables tables, ReadTables(memory, base));
  struct HashHeader {
    uint32_t buckets;
    uint32_t first_symbol;
    uint32_t bloom_words;
    uint32_t bloom_shift;
  };
  const auto header = memory.Get<HashHeader>(tables.hash);
  if (!header.has_value() || header->buckets == 0) return Broken();
  const uint64_t buckets = tables.hash + sizeof(HashHeader) + uint64_t{header->bloom_words} * sizeof(uint64_t);
  const uint64_t chains = buckets + uint64_t{header->buckets} * sizeof(uint32_t);
  const uint32_t wanted = GnuHash(name);
  auto index = memory.Get<uint32_t>(buckets + uint64_t{wanted % header->buckets} * sizeof(uint32_t));
  if (!index.has_value()) return Broken();
  if (*index < header->first_symbol) return absl::NotFoundError("no such symbol");
  std::string text(name.size() + 1, '\0');
  for (int i = 0; i < kMaxChain; ++i, ++*index) {
    const auto hash = memory.Get<uint32_t>(chains + uint64_t{*index - header->first_symbol} * sizeof(uint32_t));
    if (!hash.has_value()) return Broken();
    if ((*hash | 1) == (wanted | 1)) {
      const auto symbol = memory.Get<Elf64_Sym>(tables.symbols + uint64_t{*index} * sizeof(Elf64_Sym));
      if (!symbol.has_value()) return Broken();
      const bool is_read = memory.Read(tables.strings + symbol->st_name, text.data(), text.size());
      if (is_read && text == std::string(name) + '\0' && symbol->st_value != 0) return tables.bias + symbol->st_value;
    }
    if ((*hash & 1) != 0) break;
  }
  return absl::NotFoundError("no such symbol");
}

}  // namespace lockstep
