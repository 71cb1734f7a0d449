#include "agent/stacks/function_names.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "agent/printable_text.h"

namespace lockstep {
namespace {

constexpr uint32_t kMaxBuckets = 1 << 20;
constexpr size_t kSymbolsOfRead = 256;
constexpr size_t kPageBytes = 4'096;
constexpr size_t kNumbersOfRead = kPageBytes / sizeof(uint32_t);

// Places of a mangled name that may repeat others: substitutions ("S0_"), parameters of templates ("T_"). A pack ("Dp")
// repeats for each of its elements, which 12 references would do as well. What only looks like one counts as well.
int CountReferences(absl::string_view name) {
  constexpr int kReferencesOfPack = 12;
  int references = 0;
  for (size_t i = 0; i + 1 < name.size(); ++i) {
    const char next = name[i + 1];
    const bool is_number = absl::ascii_isdigit(next) || absl::ascii_isupper(next) || next == '_';
    if ((name[i] == 'S' || name[i] == 'T') && is_number) ++references;
    if (name[i] == 'D' && next == 'p') references += kReferencesOfPack;
  }
  return references;
}

}  // namespace

// Without parameters and templates' arguments: what tells functions apart for a reader. ';' separates folded stacks.
std::string FunctionNames::Readable(std::string name) {
  if (absl::StartsWith(name, "_Z") && name.size() <= kMaxMangledBytes && CountReferences(name) <= kMaxReferences) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> plain(
        abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
    if (plain != nullptr) name = plain.get();
    const size_t parameters = name.find('(', absl::StartsWith(name, "(") ? 1 : 0);
    if (plain != nullptr && parameters != std::string::npos && parameters > 0) name.resize(parameters);
  }
  std::replace(name.begin(), name.end(), ';', ':');
  return PrintableText(name, kMaxNameBytes);
}

size_t FunctionNames::Count(const ElfTables& tables) {
  const absl::optional<SymbolHash> table = ReadSymbolHash(tables_, tables);
  if (!table.has_value() || table->buckets > kMaxBuckets) return 0;
  std::array<uint32_t, kNumbersOfRead> numbers;
  uint32_t last = 0;
  for (size_t first = 0; first < table->buckets; first += kNumbersOfRead) {
    const size_t count = std::min<size_t>(kNumbersOfRead, table->buckets - first);
    const uint64_t at = table->buckets_at + first * sizeof(uint32_t);
    if (!tables_.Read(at, numbers.data(), count * sizeof(uint32_t))) return 0;
    last = std::max(last, *std::max_element(numbers.begin(), numbers.begin() + count));
  }
  if (last < table->first_symbol) return table->first_symbol;
  // The chain of the last bucket ends with a number that is odd.
  for (uint64_t symbol = last; symbol - last < kMaxSymbols;) {
    // Up to the end of its page: what lies behind the table may not be readable.
    const uint64_t at = table->ChainOf(symbol);
    const size_t count = std::max<size_t>(1, (kPageBytes - at % kPageBytes) / sizeof(uint32_t));
    if (!tables_.Read(at, numbers.data(), count * sizeof(uint32_t))) return 0;
    const auto end = numbers.begin() + count;
    const auto odd = std::find_if(numbers.begin(), end, [](uint32_t number) { return (number & 1) != 0; });
    symbol += static_cast<uint64_t>(odd - numbers.begin());
    if (odd != end) return symbol + 1;
  }
  return 0;
}

std::vector<FunctionNames::Symbol> FunctionNames::ReadSymbols(const ElfTables& tables, size_t count) {
  std::vector<Symbol> symbols;
  std::vector<Elf64_Sym> read(kSymbolsOfRead);
  for (size_t first = 0; first < count; first += kSymbolsOfRead) {
    read.resize(std::min(kSymbolsOfRead, count - first));
    if (!tables_.Read(tables.symbols + first * sizeof(Elf64_Sym), read.data(), read.size() * sizeof(Elf64_Sym))) break;
    for (const Elf64_Sym& symbol : read) {
      const unsigned type = ELF64_ST_TYPE(symbol.st_info);
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_value == 0 || symbol.st_shndx == SHN_UNDEF) continue;
      symbols.push_back({symbol.st_value + tables.bias,
                         static_cast<uint32_t>(std::min<uint64_t>(symbol.st_size, UINT32_MAX)), symbol.st_name});
    }
  }
  if (budget_.spent()) return {};
  symbols.shrink_to_fit();
  std::stable_sort(symbols.begin(), symbols.end(), [](const Symbol& a, const Symbol& b) { return a.begin < b.begin; });
  return symbols;
}

const std::vector<FunctionNames::Symbol>& FunctionNames::SymbolsOf(const MappedCode& code, const ElfTables& tables) {
  const auto known = symbols_.find(code.base);
  if (known != symbols_.end()) return known->second;
  const bool has_table = tables.symbols != 0 && tables.strings != 0;
  const size_t count = has_table ? Count(tables) : 0;
  const bool has_room = kept_ + count <= kMaxSymbols;
  std::vector<Symbol> symbols;
  if (has_room) symbols = ReadSymbols(tables, count);
  if (budget_.spent()) return none_;
  if (!has_room) ++left_out_;
  kept_ += symbols.size();
  return symbols_[code.base] = std::move(symbols);
}

std::string FunctionNames::NameAt(uint64_t address) {
  std::string name;
  char part[32] = {};
  while (name.size() <= kMaxMangledBytes && names_.Read(address + name.size(), part, sizeof part)) {
    const char* const end = std::find(part, part + sizeof part, '\0');
    name.append(part, static_cast<size_t>(end - part));
    if (end != part + sizeof part) break;
  }
  return Readable(std::move(name));
}

std::string FunctionNames::Describe(const MappedCode& code, const ElfTables& tables, uint64_t address,
                                    uint64_t function_begin) {
  const std::vector<Symbol>& symbols = SymbolsOf(code, tables);
  auto symbol = std::upper_bound(symbols.begin(), symbols.end(), address,
                                 [](uint64_t value, const Symbol& one) { return value < one.begin; });
  std::string name;
  if (symbol != symbols.begin()) {
    --symbol;
    // Of several names of one function the first: stable, whatever the process does.
    while (symbol != symbols.begin() && std::prev(symbol)->begin == symbol->begin) --symbol;
    if (address - symbol->begin < symbol->bytes) name = NameAt(tables.strings + symbol->name);
  }
  if (name.empty()) {
    const uint64_t begin = function_begin != 0 ? function_begin : address;
    name = absl::StrCat("+0x", absl::Hex(begin - tables.bias));
  }
  return absl::StrCat(name, " (", code.file, ")");
}

}  // namespace lockstep
