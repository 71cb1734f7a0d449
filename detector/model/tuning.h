// How a library carried an operation out: the algorithm, the protocol and the number of channels that NCCL chose.
//
// Members of one collective must have chosen the same, or they never meet. Everything is 0 where the recorder does not
// tell (MPI, the preloaded recorder, an agent before these columns). Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_MODEL_TUNING_H_
#define LOCKSTEP_DETECTOR_MODEL_TUNING_H_

#include <cstdint>
#include <string>

namespace lockstep {

// Numbered as in agent/recorder/ring_format_nccl.h and on the wire.
enum class CollectiveAlgorithm : uint8_t {
  kUnknown = 0,
  kTree,
  kRing,
  kCollnetDirect,
  kCollnetChain,
  kNvls,
  kNvlsTree,
  kPat,
  kSymmetric,   // a kernel on symmetric memory
  kCopyEngine,  // no kernel at all
};
enum class CollectiveProtocol : uint8_t { kUnknown = 0, kLl, kLl128, kSimple };

struct Tuning {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kUnknown;
  CollectiveProtocol protocol = CollectiveProtocol::kUnknown;
  uint16_t channels = 0;  // 0 = unknown

  bool operator==(const Tuning&) const = default;
};
static_assert(sizeof(Tuning) == 4, "a record holds one, in what would be padding");

// Whether the two cannot be of one collective: something that both tell differs. Pure.
bool Contradict(const Tuning& a, const Tuning& b);

// "ring, LL128, 16 channels"; what is not known is left out, and nothing is left of nothing. Pure.
std::string Describe(const Tuning& tuning);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_TUNING_H_
