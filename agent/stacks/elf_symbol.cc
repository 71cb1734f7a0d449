#include "agent/stacks/elf_symbol.h"

#include <elf.h>

#include <string>

#include "absl/status/status.h"
#include "absl/types/optional.h"
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
  const absl::optional<SymbolHash> hash_table = ReadSymbolHash(memory, tables);
  if (tables.symbols == 0 || tables.strings == 0 || !hash_table.has_value()) return Broken();
  const uint32_t wanted = GnuHash(name);
  auto index = memory.Get<uint32_t>(hash_table->buckets_at + uint64_t{wanted % hash_table->buckets} * sizeof(uint32_t));
  if (!index.has_value()) return Broken();
  if (*index < hash_table->first_symbol) return absl::NotFoundError("no such symbol");
  std::string text(name.size() + 1, '\0');
  for (int i = 0; i < kMaxChain; ++i, ++*index) {
    const auto hash = memory.Get<uint32_t>(hash_table->ChainOf(*index));
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
