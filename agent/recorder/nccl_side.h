// What the recorder alone knows of an operation in the ring, beside its slot.
//
// Thread-compatible: guarded by the hold of an event (nccl_event_hold.h), but for what is atomic. Zeroed memory until
// an operation begins. Nothing here allocates.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_SIDE_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_SIDE_H_

#include <atomic>
#include <cstdint>

#include "agent/recorder/ring_access.h"

namespace lockstep::ring {

inline constexpr uint64_t kNoGpuTime = ~uint64_t{0};

struct alignas(64) OperationSide {
  uint64_t started_bits;  // by channel, the first 64; atomic
  uint64_t stopped_bits;
  uint64_t gpu_start_ns;
  uint64_t gpu_stop_ns;
  int64_t host_start_ns;  // of the first kernel, as the host saw it, or of the first proxy
  int64_t host_stop_ns;   // of the last kernel
  uint32_t group;         // its low bits
  uint16_t context;
  uint16_t proxies_started;
  uint16_t proxies_stopped;
  bool has_kernel;
  bool lacks_gpu_time;  // of at least one channel
  bool host_has_ended;
  bool uses_wide_bits;
  uint8_t held;  // atomic; 1 = by an event (nccl_event_hold.h)
};
static_assert(sizeof(OperationSide) == 64);

// A channel in one of the words of an operation.
struct ChannelBits {
  uint64_t& started;
  uint64_t& stopped;
  uint64_t mask;

  bool has_started() const { return (Atomic(started).load(std::memory_order_relaxed) & mask) != 0; }
  bool has_stopped() const { return (Atomic(stopped).load(std::memory_order_relaxed) & mask) != 0; }
  void Start() const { Set(started); }
  void Stop() const { Set(stopped); }

 private:
  void Set(uint64_t& word) const {
    Atomic(word).store(Atomic(word).load(std::memory_order_relaxed) | mask, std::memory_order_relaxed);
  }
};

class OperationSides {
 public:
  static constexpr uint32_t kMaxSlots = 32768;
  static constexpr uint32_t kNarrowChannels = 64;

  constexpr OperationSides() = default;
  OperationSides(const OperationSides&) = delete;
  OperationSides& operator=(const OperationSides&) = delete;

  // As many as the ring has slots, a power of two: operations that share a slot share a side. All are unused.
  void SetCapacity(uint32_t slots) {
    last_ = slots - 1;
    TouchPages(sides_, slots * sizeof(OperationSide));
  }

  OperationSide& Of(uint64_t ticket) { return sides_[ticket & last_]; }

  ChannelBits BitsOf(uint64_t ticket, uint32_t channel) {
    OperationSide& side = Of(ticket);
    if (channel < kNarrowChannels) [[likely]]
      return {side.started_bits, side.stopped_bits, uint64_t{1} << channel};
    WideBits& wide = wide_bits_[ticket & last_];
    const uint32_t word = (channel / 64 - 1) % 3;
    return {wide.started[word], wide.stopped[word], uint64_t{1} << (channel % 64)};
  }

  // Makes room for channels from 64 on, of the operation that `ticket` is now.
  void UseWideBits(uint64_t ticket) {
    WideBits& wide = wide_bits_[ticket & last_];
    for (uint64_t& word : wide.started) Atomic(word).store(0, std::memory_order_relaxed);
    for (uint64_t& word : wide.stopped) Atomic(word).store(0, std::memory_order_relaxed);
    Of(ticket).uses_wide_bits = true;
  }

 private:
  // Channels 64 to 255, which no NCCL of today has.
  struct WideBits {
    uint64_t started[3];
    uint64_t stopped[3];
  };

  uint64_t last_ = 0;
  OperationSide sides_[kMaxSlots] = {};
  WideBits wide_bits_[kMaxSlots] = {};
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_SIDE_H_
