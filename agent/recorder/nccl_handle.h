// What the recorder gives NCCL as the handle of an event: a number, not an address.
//
// NCCL keeps handles for as long as it likes: stops come twice, states come after stops, graphs replay handles of long
// ago, a proxy in another process is handed ours. A number that is looked up can be stale or foreign and nothing
// happens; an address could not. Never 0, which tells NCCL that the event was dropped. Pure.
//
//   bits 0-3  type    4-15  detail, by type    16-63  number, by type

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_HANDLE_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_HANDLE_H_

#include <cstdint>

namespace lockstep::ring {

enum class HandleType : uint8_t {
  kNone = 0,
  kApi = 1,        // of a call; detail: kApiHas...
  kGroup = 2,      // number: of the group
  kOperation = 3,  // detail: kOperationHasKernel; number: ticket
  kChannel = 4,    // a kernel on a channel; detail: channel; number: ticket
  kProxyOp = 5,    // detail: place in the table of transfers, NcclTransfers::kNoTransfer = none; number: ticket
  kStep = 6,       // detail: place in the table of steps; number: its generation
  kIgnored = 7,    // nothing to be known about it
  kPair = 8,       // ours and the chained plugin's; number: of the pair
};

// Of kApi: what the mask asked for when the call was made. NCCL copies the mask at that moment.
inline constexpr uint32_t kApiKnowsMask = 1;
inline constexpr uint32_t kApiHasKernel = 2;
// Of kOperation: kernel events are to come.
inline constexpr uint32_t kOperationHasKernel = 1;

// One word: as three fields it would travel through memory, where a wide load after narrow stores stalls.
class Handle {
 public:
  constexpr Handle() = default;  // kNone
  // `detail` below 4096, `number` below 2^48.
  constexpr Handle(HandleType type, uint32_t detail, uint64_t number)
      : bits_(number << 16 | uint64_t{detail & 0xFFF} << 4 | static_cast<uint64_t>(type)) {}
  // Any value is a handle; one that was never given out has a number that is not found.
  explicit Handle(const void* pointer) : bits_(reinterpret_cast<uint64_t>(pointer)) {}

  HandleType type() const { return static_cast<HandleType>(bits_ & 0xF); }
  uint32_t detail() const { return static_cast<uint32_t>(bits_ >> 4 & 0xFFF); }
  uint64_t number() const { return bits_ >> 16; }
  void* pointer() const { return reinterpret_cast<void*>(bits_); }

 private:
  uint64_t bits_ = 0;
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_HANDLE_H_
