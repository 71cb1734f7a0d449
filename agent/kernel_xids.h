// The Xids that the kernel log has told of lately: whoever hears of one in another way asks here whether it is news.
//
// Thread-safe: the source that asks has a thread of its own.

#ifndef LOCKSTEP_AGENT_KERNEL_XIDS_H_
#define LOCKSTEP_AGENT_KERNEL_XIDS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace lockstep {

class KernelXids {
 public:
  // Beyond these the oldest are forgotten; a GPU in trouble writes some dozens.
  static constexpr size_t kMaxXids = 256;
  // One fault is told within this time by all who tell of it, if they are asked. By judgement, not measured.
  static constexpr int64_t kSameFaultNs = 10 * kNanosPerSecond;

  // `logged_ns` on CLOCK_MONOTONIC.
  void Note(std::string pci_address, int64_t code, int64_t logged_ns) {
    MutexLock lock(mutex_);
    if (xids_.size() == kMaxXids) xids_.pop_front();
    xids_.push_back({std::move(pci_address), code, logged_ns});
  }

  // Whether the log told of an Xid that came about between the two moments.
  bool HasTold(const std::string& pci_address, int64_t code, int64_t from_ns, int64_t to_ns) const {
    MutexLock lock(mutex_);
    for (const Xid& xid : xids_) {
      const bool then = xid.logged_ns >= from_ns - kSameFaultNs && xid.logged_ns <= to_ns + kSameFaultNs;
      if (then && xid.code == code && xid.pci_address == pci_address) return true;
    }
    return false;
  }

 private:
  struct Xid {
    std::string pci_address;
    int64_t code;
    int64_t logged_ns;
  };

  mutable Mutex mutex_;
  std::deque<Xid> xids_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_KERNEL_XIDS_H_
