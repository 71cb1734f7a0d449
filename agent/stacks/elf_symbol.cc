#include "agent/stacks/elf_symbol.h"

#include <elf.h>

#include <string>

#include "absl/status/status.h"
#include "agent/stacks/elf_tables.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr int kMaxChain = 1'024;  // symbols of one bucket

absl::Status Broken() { return absl::InvalidArgumentError("the file of the interpreter is not as it should be"); }

}  // namespace

uint32_t GnuHash(absl::string_view name) {
  uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

absl::StatusOr<uint64_t> FindElfSymbol(RemoteMemory& memory, uint64_t base, absl::string_view name) {
  ASSIGN_OR_RETURN(const ElfTables tables, ReadElfTables(memory, base));
  if (tables.symbols == 0 || tables.strings == 0 || tables.hash == 0) return Broken();
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
