// A fixed-size map from a library's handle (a pointer, never 0 or 1) to a small value, for the recorders' call path.
//
// Set-associative: a key lives in one of kWindow neighbouring places, so that a search is bounded and removal leaves no
// tombstones. Insert fails when the window is full; the caller degrades and counts. Allocates nothing.
//
// Thread-safe under the rule that the MPI standard imposes anyway: a handle is inserted and taken by one thread at a
// time; other threads may work on other handles meanwhile. Constant-initialized and trivially destructible.

#ifndef LOCKSTEP_AGENT_RECORDER_HANDLE_TABLE_H_
#define LOCKSTEP_AGENT_RECORDER_HANDLE_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lockstep::ring {

template <typename Value, size_t kCapacity>
class HandleTable {
  static_assert((kCapacity & (kCapacity - 1)) == 0, "a power of two");

 public:
  static constexpr size_t kWindow = 16;
  static_assert(kCapacity >= kWindow);

  constexpr HandleTable() = default;
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  // False = no room near the place of this key. The key must not be in the table.
  bool Insert(uint64_t key, const Value& value) {
    const size_t home = Home(key);
    for (size_t i = 0; i < kWindow; ++i) {
      const size_t place = (home + i) & (kCapacity - 1);
      uint64_t expected = kEmpty;
      if (keys_[place].load(std::memory_order_relaxed) != kEmpty ||
          !keys_[place].compare_exchange_strong(expected, kBusy, std::memory_order_acquire)) {
        continue;
      }
      values_[place] = value;
      keys_[place].store(key, std::memory_order_release);
      return true;
    }
    return false;
  }

  // False = not in the table; `value` is untouched then.
  bool Find(uint64_t key, Value* value) const {
    const size_t place = PlaceOf(key);
    if (place == kCapacity) return false;
    *value = values_[place];
    return true;
  }

  // Find and remove.
  bool Take(uint64_t key, Value* value) {
    const size_t place = PlaceOf(key);
    if (place == kCapacity) return false;
    *value = values_[place];
    keys_[place].store(kEmpty, std::memory_order_release);
    return true;
  }

 private:
  static constexpr uint64_t kEmpty = 0;
  static constexpr uint64_t kBusy = 1;

  // Handles are aligned pointers: the multiplication spreads their upper bits.
  static size_t Home(uint64_t key) { return (key * 0x9E3779B97F4A7C15) >> 32 & (kCapacity - 1); }

  // kCapacity = absent.
  size_t PlaceOf(uint64_t key) const {
    const size_t home = Home(key);
    for (size_t i = 0; i < kWindow; ++i) {
      const size_t place = (home + i) & (kCapacity - 1);
      if (keys_[place].load(std::memory_order_acquire) == key) return place;
    }
    return kCapacity;
  }

  std::atomic<uint64_t> keys_[kCapacity] = {};
  Value values_[kCapacity] = {};
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_HANDLE_TABLE_H_
