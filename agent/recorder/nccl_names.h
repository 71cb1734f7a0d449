// NCCL's names of functions, datatypes, algorithms and protocols, and what they are in the ring.
//
// From version 2 on events carry names as texts. Comparing four texts for each operation would be a third of the
// price of recording it, so that a memo remembers the first sixteen bytes of each and what they meant; two loads and
// a comparison for each then tell that they are the same again. Unknown texts and nullptr are normal and mean
// "unknown". Pure but for the memo, which is thread-compatible. Allocates nothing.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_NAMES_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_NAMES_H_

#include <string.h>

#include <cstdint>

#include "agent/recorder/ring_format.h"

namespace lockstep::ring {

OperationKind NcclKind(const char* name);
uint8_t NcclDatatypeBytes(const char* name);  // 0 = unknown
Algorithm NcclAlgorithm(const char* name);
Protocol NcclProtocol(const char* name);

// Version 1 carries NCCL's own enumerations.
OperationKind NcclKind(uint8_t code);
uint8_t NcclDatatypeBytes(uint8_t code);
Algorithm NcclAlgorithm(uint8_t code);
Protocol NcclProtocol(uint8_t code);

// What the names of one operation mean. All zero = nothing is known.
struct NameMeanings {
  OperationKind kind = OperationKind::kUnknown;
  uint8_t datatype_bytes = 0;
  Algorithm algorithm = Algorithm::kUnknown;
  Protocol protocol = Protocol::kUnknown;
};

// The names of one operation; one that it does not have is NameMemo::kNoName.
struct OperationNames {
  const char* function;
  const char* datatype;
  const char* algorithm;
  const char* protocol;
};

// Remembers what the names of operations mean, all of an operation together.
class NameMemo {
 public:
  alignas(16) static constexpr char kNoName[16] = {};

  constexpr NameMemo() = default;

  // Inlined: the four names would travel through memory.
  [[gnu::always_inline]] NameMeanings Find(const OperationNames& names) {
    const uintptr_t mixed = Address(names.function) >> 3 ^ Address(names.datatype) >> 4 ^ Address(names.algorithm) >> 2;
    Entry& entry = entries_[mixed % kEntries];
    const bool is_readable = IsReadable(names.function) && IsReadable(names.datatype) && IsReadable(names.algorithm) &&
                             IsReadable(names.protocol);
    if (!is_readable) [[unlikely]]
      return LookUp(names);
    const uint64_t difference = entry.function.Difference(names.function) | entry.datatype.Difference(names.datatype) |
                                entry.algorithm.Difference(names.algorithm) | entry.protocol.Difference(names.protocol);
    if (difference != 0) [[unlikely]]
      Learn(names, &entry);
    return entry.meanings;
  }

 private:
  static constexpr size_t kEntries = 16;
  static constexpr uintptr_t kPageBytes = 4096;
  // The first bytes of a text; no known name is longer than fifteen characters.
  struct Prefix {
    uint64_t words[2] = {};

    // 0 = the text begins like this.
    uint64_t Difference(const char* text) const {
      uint64_t begin[2];
      memcpy(begin, text, sizeof(begin));
      return (begin[0] ^ words[0]) | (begin[1] ^ words[1]);
    }
  };
  // Empty texts, which mean nothing, at first.
  struct Entry {
    Prefix function;
    Prefix datatype;
    Prefix algorithm;
    Prefix protocol;
    NameMeanings meanings;
  };

  static uintptr_t Address(const char* name) { return reinterpret_cast<uintptr_t>(name); }
  // A text may end just before memory that must not be touched: sixteen bytes are read only within a page.
  // LOCKSTEP_SANITIZED: what lies behind a text is no business of a sanitized program.
  static bool IsReadable(const char* name) {
#if defined(LOCKSTEP_SANITIZED)
    return false;
#else
    return name != nullptr && (Address(name) & (kPageBytes - 1)) <= kPageBytes - sizeof(Prefix);
#endif
  }
  static NameMeanings LookUp(const OperationNames& names);
  static void Learn(const OperationNames& names, Entry* entry);

  Entry entries_[kEntries] = {};
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_NAMES_H_
