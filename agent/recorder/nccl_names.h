// NCCL's names of functions, datatypes, algorithms and protocols, and what they are in the ring.
//
// From version 2 on events carry names as texts. Comparing four texts for each operation would be a third of the
// price of recording it, so that a memo remembers the first sixteen bytes of a text and what they meant; two loads and
// two comparisons then tell that it is the same text again. Unknown texts and nullptr are normal and mean "unknown".
// Pure but for the memo, which is thread-compatible. Allocates nothing.

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

// Remembers what texts mean.
template <typename Meaning, Meaning (*kLookUp)(const char*)>
class NameMemo {
 public:
  Meaning Find(const char* name) {
    const auto address = reinterpret_cast<uintptr_t>(name);
    // A text may end just before memory that must not be touched: sixteen bytes are read only within a page. LOCKSTEP_
    // SANITIZED: what lies behind a text is no business of a sanitized program.
#if defined(LOCKSTEP_SANITIZED)
    constexpr bool is_readable = false;
#else
    const bool is_readable = name != nullptr && (address & (kPageBytes - 1)) <= kPageBytes - sizeof(Prefix);
#endif
    if (!is_readable) return kLookUp(name);
    Prefix prefix;
    memcpy(&prefix, name, sizeof(prefix));
    Entry& entry = entries_[(address >> 3 ^ address >> 9) % kEntries];
    if (entry.prefix.words[0] != prefix.words[0] || entry.prefix.words[1] != prefix.words[1] || !entry.is_used) {
      entry = {prefix, kLookUp(name), true};
    }
    return entry.meaning;
  }

 private:
  static constexpr size_t kEntries = 16;
  static constexpr uintptr_t kPageBytes = 4096;
  // No known name is longer than fifteen characters.
  struct Prefix {
    uint64_t words[2] = {};
  };
  struct Entry {
    Prefix prefix;
    Meaning meaning = {};
    bool is_used = false;
  };

  Entry entries_[kEntries] = {};
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_NAMES_H_
