// The ring of a driver process, by rank of communicator and in order, ready to be compared with the truth.

#ifndef LOCKSTEP_TESTS_NCCL_RECORDED_JOB_H_
#define LOCKSTEP_TESTS_NCCL_RECORDED_JOB_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/recorder/ring_format.h"
#include "agent/recorder/testing/ring_directory.h"
#include "tests/nccl/driver_process.h"
#include "tests/nccl/truth.h"

namespace lockstep::nccl {

// Communicator id and rank in it.
using RankKey = std::pair<uint64_t, int32_t>;
// Operations with their own sequence numbers: all collectives of a rank, or its sends to or receives from one peer.
struct SequenceKey {
  RankKey rank;
  int32_t peer = -1;  // of sends and receives
  bool is_send = false;

  auto operator<=>(const SequenceKey&) const = default;
};

// A copy of the ring's bytes. Immutable.
class RecordedJob {
 public:
  explicit RecordedJob(const std::string& ring_path);
  bool is_valid() const { return view_ != nullptr; }

  const ring::RingHeader& header() const { return view_->header; }
  const ring::RingView& view() const { return *view_; }
  // By ticket.
  const std::map<SequenceKey, std::vector<const ring::OperationSlot*>>& operations() const { return operations_; }
  const std::map<RankKey, const ring::CommunicatorEntry*>& communicators() const { return communicators_; }
  std::vector<const ring::TransferWaits*> transfers() const;

 private:
  std::string bytes_;
  std::unique_ptr<ring::RingView> view_;
  std::map<RankKey, const ring::CommunicatorEntry*> communicators_;
  std::map<SequenceKey, std::vector<const ring::OperationSlot*>> operations_;
};

// What the plugin was told of, in order of launch.
std::map<SequenceKey, std::vector<const TrueOperation*>> DeliveredOperations(const Truth& truth);

// The recorder's name for NCCL's function.
ring::OperationKind KindOf(const std::string& function);

}  // namespace lockstep::nccl

#endif  // LOCKSTEP_TESTS_NCCL_RECORDED_JOB_H_
