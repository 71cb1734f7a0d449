// The activation mask: one process-wide word inside NCCL that says which events it reports, and who decides about it.
//
// Wanted = what the interface offers by default, or what the agent asks for in the ring's control word (bounded by
// kMaxRequestNanos; Coll and P2p always, since sequence numbers need all of them), less what the governor and the
// release forbid, plus what a chained plugin asks for. Somebody else (NCCL's RAS) may write the word at any time: that
// is respected and published until the word is again what we wrote, or a new communicator begins.
//
// Thread-compatible: under the recorder's begin lock; Current() may be called by any thread.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_MASK_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_MASK_H_

#include <atomic>
#include <cstdint>

#include "agent/recorder/nccl_abi.h"
#include "agent/recorder/ring_access.h"
#include "agent/recorder/ring_format.h"

namespace lockstep::ring {

class NcclMask {
 public:
  static constexpr int64_t kMaxRequestNanos = 60'000'000'000;
  static constexpr uint64_t kAlways = nccl_abi::kColl | nccl_abi::kP2p;
  static constexpr uint64_t kProxyEvents = nccl_abi::kProxyOp | nccl_abi::kProxyStep;
  // What the agent may ask for.
  static constexpr uint64_t kRequestable = kAlways | kProxyEvents | nccl_abi::kKernelCh | nccl_abi::kCeColl;

  // What is recorded unless somebody says otherwise. Without kernel events the network proxy must tell the times.
  static constexpr uint64_t DefaultFor(int abi) {
    return kAlways | (abi >= 3 ? nccl_abi::kKernelCh : nccl_abi::kProxyOp);
  }

  constexpr NcclMask() = default;

  // `word` is NCCL's. Called by every init; `abi` and `denied` are the same each time.
  void Attach(int* word, int abi, uint64_t denied) {
    word_.store(word, std::memory_order_relaxed);
    default_ = DefaultFor(abi);
    denied_ = denied;
  }
  // The word that a chained plugin takes for NCCL's; it may change at any time. Lives for ever.
  void set_chained_word(const std::atomic<int>* word) { chained_word_ = word; }

  uint64_t Current() const {
    int* const word = word_.load(std::memory_order_relaxed);
    return word == nullptr ? 0 : static_cast<uint32_t>(Atomic(*word).load(std::memory_order_relaxed));
  }

  // Decides and writes. `is_new` = an init: NCCL's word is ours again.
  void Update(RingHeader* header, uint32_t governor_level, bool is_new, int64_t now_ns) {
    const uint64_t wanted = Wanted(header, governor_level, now_ns);
    const uint64_t current = Current();
    if (is_new || current == written_) {
      if (current != wanted) Write(wanted);
      written_ = wanted;
      foreign_ = 0;
    } else if (current != foreign_) {
      foreign_ = current;
      Add(header->nccl.foreign_masks, 1, false);
    }
    const uint64_t in_force = Current();
    auto published = Atomic(header->active_mask);
    if (published.load(std::memory_order_relaxed) != in_force) published.store(in_force, std::memory_order_relaxed);
  }

  // Asks for nothing more, unless somebody else asks.
  void Withdraw() {
    if (Current() == written_) Write(Chained());
  }

  // Something that Update obeys may have changed: the control word, its expiry, NCCL's word. Asked for each operation:
  // no branches.
  bool IsStale(RingHeader* header, int64_t now_ns) const {
    const uint64_t request = Atomic(header->control.event_mask).load(std::memory_order_relaxed);
    const bool expires = (requested_ != 0) & (now_ns >= expires_at_ns_) & !expired_;
    const uint64_t expected = foreign_ != 0 ? foreign_ : written_;
    return ((request ^ requested_) | (Chained() ^ chained_) | (Current() ^ expected) | uint64_t{expires}) != 0;
  }

 private:
  void Write(uint64_t mask) {
    int* const word = word_.load(std::memory_order_relaxed);
    if (word != nullptr) Atomic(*word).store(static_cast<int>(mask), std::memory_order_relaxed);
  }

  uint64_t Chained() const {
    return chained_word_ == nullptr ? 0 : static_cast<uint32_t>(chained_word_->load(std::memory_order_relaxed));
  }

  uint64_t Wanted(RingHeader* header, uint32_t governor_level, int64_t now_ns) {
    uint64_t wanted = default_;
    const uint64_t request = Atomic(header->control.event_mask).load(std::memory_order_acquire);
    const auto until = static_cast<int64_t>(Atomic(header->control.expires_at_ns).load(std::memory_order_relaxed));
    if (request != requested_ || until != asked_until_ns_) {
      requested_ = request;
      asked_until_ns_ = until;
      expires_at_ns_ = until < now_ns + kMaxRequestNanos ? until : now_ns + kMaxRequestNanos;
    }
    expired_ = now_ns >= expires_at_ns_;
    if (requested_ != 0 && !expired_) wanted = (requested_ & kRequestable) | kAlways;
    if (governor_level >= 1) wanted &= ~kProxyEvents;
    if (governor_level >= 2) wanted &= ~nccl_abi::kKernelCh;
    chained_ = Chained();
    return (wanted & ~denied_) | chained_;
  }

  std::atomic<int*> word_{nullptr};
  uint64_t default_ = 0;
  uint64_t denied_ = 0;
  const std::atomic<int>* chained_word_ = nullptr;
  uint64_t chained_ = 0;  // what it said last
  uint64_t written_ = 0;
  uint64_t foreign_ = 0;    // what somebody else wrote and we have seen; 0 = nothing
  uint64_t requested_ = 0;  // as the control word said last, as the next
  int64_t asked_until_ns_ = 0;
  int64_t expires_at_ns_ = 0;
  bool expired_ = true;
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_MASK_H_
