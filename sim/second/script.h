// What the program of each rank tells its GPU to do in a step, in the order of the calls.
//
// Immutable; thread-safe.

#ifndef LOCKSTEP_SIM_SECOND_SCRIPT_H_
#define LOCKSTEP_SIM_SECOND_SCRIPT_H_

#include <array>
#include <cstdint>
#include <vector>

#include "detector/model/operation_kind.h"
#include "sim/second/fabric.h"
#include "sim/second/fault.h"
#include "sim/second/layout.h"
#include "sim/second/world.h"

namespace lockstep::second {

// Streams of one GPU.
enum Stream : uint8_t {
  kCompute,
  kReduce,
  kGather,
  kForwardIn,
  kForwardOut,
  kBackwardIn,
  kBackwardOut,
  kRingOut,
  kRingIn,
  kStreams,
};

struct Instruction {
  enum class Kind : uint8_t {
    kKernel,     // computes gpu_ns
    kCall,       // an operation of `group`
    kRecord,     // fires `event` when the stream gets there
    kAwait,      // the stream goes on when `event` has fired
    kStepBegin,  // marks
    kStepEnd,
    kHostWork,     // the host does something for host_ns
    kHostAwait,    // the host goes on when `event` has fired
    kHostDrain,    // the host goes on when the GPU has nothing left to do
    kHostMeeting,  // the hosts of `group` wait for each other
  };
  Kind kind = Kind::kKernel;
  Stream stream = kCompute;
  OperationKind operation = OperationKind::kUnknown;
  int32_t group = -1;
  int32_t peer = -1;  // member of `group`, of Send and Recv
  int32_t event = -1;
  double gpu_ns = 0;
  double host_ns = 0;  // what the call takes on the host
  uint64_t bytes = 0;
};

// Sizes of operations, so that they take the shares of the step that the world asks for.
struct Sizes {
  uint64_t tensor = 0;
  uint64_t context = 0;
  uint64_t expert = 0;
  uint64_t pipeline = 0;
  uint64_t gradients = 0;   // of a layer
  uint64_t parameters = 0;  // of a layer, or of all where the optimizer is sharded
};

class Script {
 public:
  // Keeps references to all but `fabric`.
  Script(const World& world, const Layout& layout, const std::vector<Fault>& faults, const Fabric& fabric);

  // Events are numbered from `first_event` on; the next free number goes there.
  std::vector<Instruction> Step(int rank, int step, int32_t& first_event) const;

 private:
  const World& world_;
  const Layout& layout_;
  const std::vector<Fault>& faults_;
  Sizes sizes_;
};

}  // namespace lockstep::second

#endif  // LOCKSTEP_SIM_SECOND_SCRIPT_H_
