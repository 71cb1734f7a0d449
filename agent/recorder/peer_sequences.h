// Sequence numbers of Send and Recv: counted from 1 per (communicator, peer, direction), so that the n-th Send of one
// rank to another meets the n-th Recv of the other from the one.
//
// Bounded: when the table is full near the place of a key, its operations get sequence 0 (unknown). Entries are never
// removed. Thread-safe. Allocates nothing; constant-initialized.

#ifndef LOCKSTEP_AGENT_RECORDER_PEER_SEQUENCES_H_
#define LOCKSTEP_AGENT_RECORDER_PEER_SEQUENCES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/recorder/ring_format.h"

namespace lockstep::ring {

class PeerSequences {
 public:
  static constexpr size_t kCapacity = 8192;  // a power of two
  static constexpr size_t kWindow = 32;

  constexpr PeerSequences() = default;
  PeerSequences(const PeerSequences&) = delete;
  PeerSequences& operator=(const PeerSequences&) = delete;

  // `direction` is kSend or kRecv.
  uint64_t Next(uint32_t communicator, int32_t peer, OperationKind direction) {
    const uint64_t key = Key(communicator, peer, direction);
    const size_t home = (key * 0x9E3779B97F4A7C15) >> 32;
    for (size_t i = 0; i < kWindow; ++i) {
      Entry& entry = entries_[(home + i) & (kCapacity - 1)];
      uint64_t seen = entry.key.load(std::memory_order_relaxed);
      if (seen == 0 && entry.key.compare_exchange_strong(seen, key, std::memory_order_relaxed)) seen = key;
      if (seen == key) return entry.count.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    return 0;
  }

 private:
  struct Entry {
    std::atomic<uint64_t> key{0};  // 0 = empty
    std::atomic<uint64_t> count{0};
  };

  static uint64_t Key(uint32_t communicator, int32_t peer, OperationKind direction) {
    const uint64_t is_send = direction == OperationKind::kSend ? 1 : 0;
    return uint64_t{communicator} << 34 | uint64_t{static_cast<uint32_t>(peer)} << 2 | is_send << 1 | 1;
  }

  Entry entries_[kCapacity] = {};
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_PEER_SEQUENCES_H_
