#include "agent/stacks/elf_tables.h"

#include <elf.h>

#include <cstring>

#include "absl/status/status.h"

namespace lockstep {
namespace {

constexpr int kMaxProgramHeaders = 64;
constexpr int kMaxDynamicEntries = 256;
constexpr uint64_t kPageMask = ~uint64_t{4095};

absl::Status Broken() { return absl::InvalidArgumentError("a mapped file is not as it should be"); }

absl::Status ReadDynamic(RemoteMemory& memory, uint64_t dynamic, ElfTables& tables) {
  for (int i = 0; i < kMaxDynamicEntries; ++i) {
    const auto entry = memory.Get<Elf64_Dyn>(dynamic + static_cast<uint64_t>(i) * sizeof(Elf64_Dyn));
    if (!entry.has_value()) return Broken();
    if (entry->d_tag == DT_NULL) break;
    // The loader of glibc has made addresses of the process of them, others leave them as they are in the file.
    const uint64_t address = entry->d_un.d_ptr < tables.bias ? entry->d_un.d_ptr + tables.bias : entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) tables.symbols = address;
    if (entry->d_tag == DT_STRTAB) tables.strings = address;
    if (entry->d_tag == DT_GNU_HASH) tables.hash = address;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ElfTables> ReadElfTables(RemoteMemory& memory, uint64_t base) {
  const auto header = memory.Get<Elf64_Ehdr>(base);
  if (!header.has_value() || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(Elf64_Phdr)) {
    return Broken();
  }
  ElfTables tables;
  uint64_t dynamic = 0, frame_index = 0;
  bool has_load = false;
  for (int i = 0; i < header->e_phnum && i < kMaxProgramHeaders; ++i) {
    const auto part = memory.Get<Elf64_Phdr>(base + header->e_phoff + static_cast<uint64_t>(i) * sizeof(Elf64_Phdr));
    if (!part.has_value()) return Broken();
    if (part->p_type == PT_LOAD && !has_load) {
      has_load = true;
      tables.bias = base - (part->p_vaddr & kPageMask);
    }
    if (part->p_type == PT_DYNAMIC) dynamic = part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) frame_index = part->p_vaddr;
  }
  if (!has_load) return Broken();
  if (frame_index != 0) tables.frame_index = tables.bias + frame_index;
  if (dynamic != 0) {
    const absl::Status read = ReadDynamic(memory, tables.bias + dynamic, tables);
    if (!read.ok()) return read;
  }
  return tables;
}

absl::optional<SymbolHash> ReadSymbolHash(RemoteMemory& memory, const ElfTables& tables) {
  struct Header {
    uint32_t buckets;
    uint32_t first_symbol;
    uint32_t filter_words;
    uint32_t filter_shift;
  };
  const auto header = tables.hash == 0 ? absl::nullopt : memory.Get<Header>(tables.hash);
  if (!header.has_value() || header->buckets == 0) return absl::nullopt;
  SymbolHash hash = {.buckets = header->buckets, .first_symbol = header->first_symbol};
  hash.buckets_at = tables.hash + sizeof(Header) + uint64_t{header->filter_words} * sizeof(uint64_t);
  hash.chains_at = hash.buckets_at + uint64_t{header->buckets} * sizeof(uint32_t);
  return hash;
}

}  // namespace lockstep
