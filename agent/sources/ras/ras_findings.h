// What an answer of NCCL's RAS service says about each communicator, boiled down to what is wrong.

#ifndef LOCKSTEP_AGENT_SOURCES_RAS_RAS_FINDINGS_H_
#define LOCKSTEP_AGENT_SOURCES_RAS_RAS_FINDINGS_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

struct RasAnswer;

struct RasMember {
  int32_t rank = -1;
  std::string host;
  int32_t async_error = 0;
  bool aborted = false;
};

struct RasMissingMember {
  int32_t rank = -1;
  std::string host;
  int32_t pid = 0;
  bool unresponsive = false;
  bool considered_dead = false;
};

// One communicator of the answer, complete. Thread-compatible.
struct RasCommunicator {
  static constexpr size_t kKinds = 5;  // of operations that RAS counts

  // `name` as RAS spells the operation; one that we do not know is skipped.
  void AddCount(absl::string_view name, int32_t rank, uint64_t launched);

  uint64_t id = 0;
  int32_t size = 0;
  std::vector<RasMember> members;
  std::vector<RasMissingMember> missing;
  std::array<std::vector<std::pair<int32_t, uint64_t>>, kKinds> launched;  // (rank, operations)
};

// Adds up communicators. Not thread-safe.
class RasSummary {
 public:
  void Add(RasCommunicator communicator);

  // Everything but what stands outside of the communicators.
  void MoveInto(RasAnswer& answer);

 private:
  void AddMissing(const RasCommunicator& communicator, wire::NcclRasCommunicator& finding);
  void LookForLeader(const RasCommunicator& communicator);

  wire::NcclRasReport report_;
  uint64_t missing_ranks_ = 0;
  uint64_t dead_ranks_ = 0;
  uint64_t unequal_communicators_ = 0;
  int32_t leader_size_ = -1;  // of the largest communicator so far
  uint64_t leader_id_ = 0;
  std::string leader_host_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RAS_RAS_FINDINGS_H_
