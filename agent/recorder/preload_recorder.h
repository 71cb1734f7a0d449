// The process-wide recorder behind liblockstep-preload.so, which stands between a program and NCCL (LD_PRELOAD): the
// library defines ncclX, records, and calls the ncclX behind it. For NCCL before 2.23, which has no profiler interface.
//
// All it can see is the host: an operation is enqueued when it is called, and over, for this recorder, when NCCL has
// taken it (the call, or the group around it, has returned). What the GPU does with it later, nobody tells. Hence the
// timing quality of every operation is kHostEnqueue; what remains exact is the order of operations and how far a rank
// has got, which is what tells who never arrived.
//
// The ring opens when the first communicator is made. Where Lockstep's profiler plugin is in the process the recorder
// stays out of its way: it opens no ring, or disables the one it has opened (kOtherRecorder).
//
// Thread-safe like NCCL itself. Static storage, constant-initialized, never destroyed.

#ifndef LOCKSTEP_AGENT_RECORDER_PRELOAD_RECORDER_H_
#define LOCKSTEP_AGENT_RECORDER_PRELOAD_RECORDER_H_

#include <atomic>
#include <cstdint>

#include "agent/recorder/peer_sequences.h"
#include "agent/recorder/preload_communicators.h"
#include "agent/recorder/preload_nccl_api.h"
#include "agent/recorder/ring_writer.h"

// The only symbols that the library exports.
#define LOCKSTEP_NCCL_ENTRY extern "C" __attribute__((visibility("default"))) int
// An address in the code that called the entry.
#define LOCKSTEP_CALLER __builtin_return_address(0)

namespace lockstep::ring {

// Bits of RingControl::event_mask. Collectives are always recorded: the order of their sequence numbers is the product.
inline constexpr uint64_t kRecordCollectives = 1;
inline constexpr uint64_t kRecordPointToPoint = 2;

struct PreloadRecorder {
  RingWriter writer;
  NcclCommunicators communicators;
  PeerSequences sequences;
  // 0 = to be opened, 1 = being opened, 2 = opened, or never to be.
  std::atomic<uint32_t> opening{0};
  // Code that calls NCCL and made a communicator: where NextFunction may look for what the program itself never calls.
  std::atomic<const void*> caller{nullptr};
};
extern PreloadRecorder g_preload_recorder;

// Opens the ring at the first call; later calls only look whether the profiler plugin has come meanwhile. `first` is a
// communicator of the program: its rank stands in where the launcher has told none.
void OpenPreloadRecorder(const NcclMember& first);

// Asks NCCL for the size and the rank of a communicator.
bool AskNccl(nccl::Communicator communicator, NcclMember* member);

// One per entry, first thing. NCCL may call itself through its exported names: only the outermost entry records.
class NcclCall {
 public:
  NcclCall() : is_outermost_(depth_++ == 0) {}
  ~NcclCall() { --depth_; }
  NcclCall(const NcclCall&) = delete;
  NcclCall& operator=(const NcclCall&) = delete;

  bool is_outermost() const { return is_outermost_; }
  // False: forward and nothing else. Counts what it leaves out.
  bool is_recorded() const {
    if (!g_preload_recorder.writer.active()) return false;
    if (!is_outermost_) g_preload_recorder.writer.CountIgnored();
    return is_outermost_;
  }

 private:
  static constinit thread_local int depth_ __attribute__((tls_model("initial-exec")));
  bool is_outermost_;
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_PRELOAD_RECORDER_H_
