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

// Remembers what the names of operations mean, all of an operation together.
class NameMemo {
 public:
  static constexpr int kNames = 4;
  // Function, datatype, algorithm, protocol; an operation that has no such name says kNoName.
  using Names = const char* [kNames];
  alignas(16) static constexpr char kNoName[16] = {};

  constexpr NameMemo() = default;

  NameMeanings Find(const Names& names) {
    Entry& entry = entries_[(Address(names[0]) >> 3 ^ Address(names[1]) >> 4 ^ Address(names[2]) >> 2) % kEntries];
    if (!IsReadable(names)) [[unlikely]]
      return LookUp(names);
    Prefixes prefixes;
    uint64_t difference = 0;
    for (int i = 0; i < kNames; ++i) {
      memcpy(prefixes.words[i], names[i], sizeof(prefixes.words[i]));
      difference |= prefixes.words[i][0] ^ entry.prefixes.words[i][0];
      difference |= prefixes.words[i][1] ^ entry.prefixes.words[i][1];
    }
    if (difference != 0) [[unlikely]]
      entry = {prefixes, LookUp(names)};
    return entry.meanings;
  }

 private:
  static constexpr size_t kEntries = 16;
  static constexpr uintptr_t kPageBytes = 4096;
  // Sixteen bytes each: no known name is longer than fifteen characters.
  struct Prefixes {
    uint64_t words[kNames][2] = {};
  };
  // Empty texts, which mean nothing, at first.
  struct Entry {
    Prefixes prefixes;
    NameMeanings meanings;
  };

  static uintptr_t Address(const char* name) { return reinterpret_cast<uintptr_t>(name); }
  // A text may end just before memory that must not be touched: sixteen bytes are read only within a page.
  // LOCKSTEP_SANITIZED: what lies behind a text is no business of a sanitized program.
  static bool IsReadable(const Names& names) {
#if defined(LOCKSTEP_SANITIZED)
    return false;
#else
    bool is_readable = true;
    for (const char* name : names) {
      is_readable &= name != nullptr && (Address(name) & (kPageBytes - 1)) <= kPageBytes - 16;
    }
    return is_readable;
#endif
  }
  static NameMeanings LookUp(const Names& names);

  Entry entries_[kEntries] = {};
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_NAMES_H_
