// One event of NCCL's profiler interface without regard to the version, and the calls that deliver it in the form of a
// version.
//
//   EventCaller caller(library.table(), library.version());
//   void* handle = caller.Start(context, {.type = kColl, .parent = group, .communicator = &world, .operation = &call});
//   caller.Stop(handle);
//
// A caller behaves as NCCL's core: it skips stops and states of events that the plugin dropped, and hands stale bytes
// to startEvent where the handle goes. What a plugin must never do is counted as a violation: an error as result, or a
// handle that it left as it was.

#ifndef LOCKSTEP_TESTS_NCCL_EVENT_H_
#define LOCKSTEP_TESTS_NCCL_EVENT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/nccl/abi_values.h"

namespace lockstep::nccl {

// One communicator as one of its ranks sees it. Thread-compatible, like the two structs below.
struct Communicator {
  uint64_t id = 0;   // NCCL's commHash
  std::string name;  // "" = NCCL passes a null pointer
  int32_t nodes = 1;
  int32_t ranks = 1;
  int32_t rank = 0;
};

struct DatatypeFacts {
  const char* name;  // from v2 on
  uint8_t v1_value;  // ncclDataType_t
  uint32_t size_bytes;
};

struct FunctionFacts {
  const char* name;  // from v2 on
  uint8_t v1_value;  // ncclFunc_t
  bool is_point_to_point;
};

// One call of the program. Texts are static.
struct Operation {
  const FunctionFacts* function = nullptr;
  const DatatypeFacts* datatype = nullptr;
  uint64_t sequence = 0;  // NCCL's: per communicator and function, from 0
  size_t count = 0;       // elements
  int32_t root = 0;
  int32_t peer = -1;     // of Send and Recv
  int32_t channels = 1;  // up to 256; travels as one byte
  const char* algorithm = "RING";
  const char* protocol = "SIMPLE";
  bool is_symmetric = false;
  bool is_copy_engine = false;
  bool is_graph_captured = false;
  uint64_t user_tag = 0;
};

// What is not set is zero in the descriptor. Pointers are borrowed for the call.
struct Event {
  EventType type;
  void* parent = nullptr;
  void* parent_group = nullptr;
  const Communicator* communicator = nullptr;
  const Operation* operation = nullptr;
  int32_t depth = 1;         // GroupApi
  int32_t channel = 0;       // ProxyOp, KernelCh, KernelPhase
  uint64_t gpu_time = 0;     // KernelCh from v4, KernelPhase
  int32_t pid = 0;           // ProxyOp
  int32_t peer = 0;          // ProxyOp
  int32_t step = 0;          // ProxyStep; ProxyOp: how many; KernelPhase: which
  bool is_send = false;      // ProxyOp
  int64_t net_id = 0;        // NetPlugin
  void* net_data = nullptr;  // NetPlugin
};

// Whether NCCL sends events of this type in this version of the interface. Pure.
bool HasEvent(int version, EventType type);

// Thread-safe, as far as the plugin is. The plugin must outlive it.
class EventCaller {
 public:
  EventCaller(const PluginTable& table, int version) : table_(table), version_(version) {}

  // `mask` is NCCL's one global word; must live until finalize. nullptr = the plugin declined.
  bool Init(const Communicator& communicator, int32_t* mask, void** context);
  void Finalize(void* context);

  // Returns the plugin's handle; nullptr = dropped. REQUIRES: HasEvent(version, event.type).
  void* Start(void* context, const Event& event);
  void Stop(void* handle);
  // `argument` goes where v4 and later have it (bytes, steps or GPU time); nullptr as argument for GroupApi states.
  void Record(void* handle, int32_t state, uint64_t argument = 0, int32_t old_steps = 0);

  int version() const { return version_; }
  uint64_t violations() const { return violations_.load(std::memory_order_relaxed); }

 private:
  void Expect(bool holds) {
    if (!holds) violations_.fetch_add(1, std::memory_order_relaxed);
  }

  const PluginTable& table_;
  const int version_;
  std::atomic<uint64_t> violations_{0};
};

}  // namespace lockstep::nccl

#endif  // LOCKSTEP_TESTS_NCCL_EVENT_H_
