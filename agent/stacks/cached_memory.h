// Pages of another process that are read once: tables of its files are read again and again, and do not change.

#ifndef LOCKSTEP_AGENT_STACKS_CACHED_MEMORY_H_
#define LOCKSTEP_AGENT_STACKS_CACHED_MEMORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "agent/stacks/remote_memory.h"

namespace lockstep {

// Keeps at most `max_pages` of 4 KiB; what is beyond is read each time. Borrows `memory`. Not thread-safe.
class CachedMemory final : public RemoteMemory {
 public:
  CachedMemory(RemoteMemory& memory, size_t max_pages) : memory_(memory), max_pages_(max_pages) {}

  bool Read(uint64_t address, void* to, size_t bytes) override;
  void Clear() { pages_.clear(); }
  // Pages that were asked of the process so far.
  uint64_t fetched() const { return fetched_; }

 private:
  static constexpr size_t kPageBytes = 4'096;
  using Page = std::array<char, kPageBytes>;

  const Page* Fetch(uint64_t number);

  RemoteMemory& memory_;
  const size_t max_pages_;
  uint64_t fetched_ = 0;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Page>> pages_;  // nullptr = it cannot be read
  std::unique_ptr<Page> beyond_;                                // the last one that found no room
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_CACHED_MEMORY_H_
