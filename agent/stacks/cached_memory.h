// Pages of another process that are read once: tables of its files are read again and again, and do not change.

#ifndef LOCKSTEP_AGENT_STACKS_CACHED_MEMORY_H_
#define LOCKSTEP_AGENT_STACKS_CACHED_MEMORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "agent/stacks/metered_memory.h"
#include "agent/stacks/remote_memory.h"
#include "agent/stacks/work_budget.h"

namespace lockstep {

// Keeps at most `max_pages` of 4 KiB: when one more comes, all of them go. What a page holds costs work as well, as it
// is interpreted. Borrows memory and budget. Not thread-safe.
class CachedMemory final : public RemoteMemory {
 public:
  static constexpr size_t kPageBytes = 4'096;
  static constexpr size_t kBytesOfUnit = 4;  // read out of a page, and interpreted

  CachedMemory(MeteredMemory& memory, size_t max_pages, WorkBudget& budget)
      : memory_(memory), max_pages_(max_pages), budget_(budget) {}

  bool Read(uint64_t address, void* to, size_t bytes) override;
  void Clear() { pages_.clear(); }
  size_t bytes_kept() const { return pages_.size() * kPageBytes; }

 private:
  using Page = std::array<char, kPageBytes>;

  const Page* Fetch(uint64_t number);

  MeteredMemory& memory_;
  const size_t max_pages_;
  WorkBudget& budget_;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Page>> pages_;  // nullptr = it cannot be read
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_CACHED_MEMORY_H_
