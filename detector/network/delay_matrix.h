// Where network transfers wait, flow by flow: what one rank sends to another within a communicator.
//
// A chunk of the sender waits for its own GPU to fill it, for the receiver's credit, and on the wire; one of the
// receiver waits for data, for the flush to the GPU, and for its own GPU to empty it. The *delay* of a flow is what
// only the network can be to blame for: time on the wire, and of the wait for credit what the receiver's GPU does not
// explain by emptying its buffers late. Per byte where all flows of a family tell their bytes, else per chunk.
//
// A flow's ratio is its delay over the lower quartile of its family (communicators of equal size and name, on the same
// side of the host boundary). A flow is slow when its ratio is high in both halves of the watch: by a quarter, by six
// deviations of what one half says and the other does not, and by three deviations of what flows differ in anyway. The
// slow flows' common part is voted on (path_vote.h). A rank is late when data wait for its GPU much longer than for
// others', in both halves, and no flow is slow: behind a slow flow buffers fill up, and GPUs that are fine wait.
//
// The matrix of delays with rows, columns and points is C4's (arXiv 2406.04594 section 4); the waits, the halves and
// the thresholds are ours. Pure. Cost O(flows log flows).

#ifndef LOCKSTEP_DETECTOR_NETWORK_DELAY_MATRIX_H_
#define LOCKSTEP_DETECTOR_NETWORK_DELAY_MATRIX_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "detector/network/path_vote.h"

namespace lockstep {

// Sums over one half of a watch.
struct FlowWaits {
  uint64_t chunks = 0;  // sent
  uint64_t bytes = 0;   // 0 = not told
  double credit_seconds = 0;
  double wire_seconds = 0;
  uint64_t received_chunks = 0;  // as the receiver counts; 0 = it was not watched
  double drain_seconds = 0;      // until the receiver's GPU had emptied the buffers
};

struct TransferFlow {
  int32_t source = -1;  // rank slots
  int32_t destination = -1;
  int32_t family = 0;  // flows of one family carry the same traffic; dense from 0
  std::array<FlowWaits, 2> halves;
};

struct LateRank {
  int32_t rank = -1;
  double ratio = 1;           // of its worst flow, to the usual wait of a chunk for a GPU; the smaller of the halves
  double excess_seconds = 0;  // of that flow, beyond the usual wait, over both halves; chunks wait beside each other
};

struct DelayJudgement {
  enum class Kind : uint8_t { kAbstained, kClear, kNetwork, kOwnGpu };
  Kind kind = Kind::kAbstained;
  std::string why;                     // of an abstention, one sentence
  size_t flows = 0;                    // that could be compared
  double limit = 0;                    // ratio from which on a flow is slow
  std::vector<double> ratio;           // by flow, the smaller of the two halves; NaN = not comparable
  std::vector<double> excess_seconds;  // by flow: delay beyond the usual one, over both halves
  std::vector<bool> slow;              // by flow
  std::vector<PathCause> causes;       // kNetwork; `paths` are flows
  std::vector<LateRank> late;          // kOwnGpu, the latest first
};

// `host_of`: by rank slot.
DelayJudgement JudgeDelays(const std::vector<TransferFlow>& flows, const std::vector<int32_t>& host_of);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_NETWORK_DELAY_MATRIX_H_
