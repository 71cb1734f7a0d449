// Builds a Trace from records in any order, with repetitions and holes.
//
// Use: AddHost, AddRank and AddCommunicator give handles; Add takes one operation of a rank, with the communicator's
// handle in it; Build sorts ranks by number, communicators by name and each rank's operations by time, so that the
// order of the calls leaves no mark on the result. A record that comes twice is kept once, the more complete of the
// two (a dump taken while the operation ran, and one after it). A record that contradicts itself (end before start)
// or exceeds a limit is dropped and counted in Trace::lost_records. Not thread-safe.
//
// Members: by the communicator rank of the records. Members of which no record tells it take the free places in the
// order of their ranks. A communicator whose members sit at their own rank numbers spans the job: places of it that
// nobody took are missing ranks.

#ifndef LOCKSTEP_DETECTOR_MODEL_TRACE_BUILDER_H_
#define LOCKSTEP_DETECTOR_MODEL_TRACE_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"

namespace lockstep {

struct TraceLimits {
  size_t max_operations = 80'000'000;
  size_t max_ranks = 262'144;
  size_t max_communicators = 1'000'000;
  size_t max_members = 64'000'000;  // over all communicators
};

class TraceBuilder {
 public:
  explicit TraceBuilder(std::string job, const TraceLimits& limits = {});

  // The same name gives the same handle.
  int32_t AddHost(absl::string_view name);

  // The same rank number gives the same handle; what an earlier call left unknown is filled in. `rank.host` is a
  // handle of AddHost. -1 when the limit is reached.
  int32_t AddRank(const TraceRank& rank);

  // The same name gives the same handle. `size` 0 = unknown; an empty hint says nothing. -1 when the limit is reached.
  int32_t AddCommunicator(absl::string_view name, absl::string_view hint, int32_t size);

  // `communicator_rank` -1 = a member, its place unknown.
  void AddMember(int32_t communicator, int32_t communicator_rank, int32_t rank_handle);

  // `operation.communicator` is a handle. Unknown enqueue time: that of the start. False: dropped and counted.
  bool Add(int32_t rank_handle, const TraceOperation& operation);

  // A rank that ought to exist.
  void ExpectRank(int32_t rank) { expected_ranks_.push_back(rank); }
  void AddLost(uint64_t records) { lost_ += records; }

  uint64_t duplicates() const { return duplicates_; }  // valid after Build

  Trace Build();

 private:
  struct Communicator {
    std::string name;
    std::string hint;
    int32_t size = 0;
    int32_t highest_peer = -1;                            // of its Send/Recv
    absl::flat_hash_map<int32_t, int32_t> place_of_rank;  // rank handle -> communicator rank, or -1
  };

  void BuildRanks(Trace* trace, std::vector<int32_t>* new_rank);
  // Finds out where members sit in communicators of which no communicator rank was recorded.
  void PlaceMembers();
  void BuildCommunicators(const std::vector<int32_t>& new_rank, Trace* trace, std::vector<int32_t>* new_communicator);
  void BuildOperations(const std::vector<int32_t>& new_communicator, Trace* trace);
  void FindMissingRanks(Trace* trace) const;

  std::string job_;
  TraceLimits limits_;
  std::vector<std::string> hosts_;
  absl::flat_hash_map<std::string, int32_t> host_handles_;
  std::vector<TraceRank> ranks_;
  absl::flat_hash_map<int32_t, int32_t> rank_handles_;
  std::vector<Communicator> communicators_;
  absl::flat_hash_map<std::string, int32_t> communicator_handles_;
  std::vector<std::vector<TraceOperation>> operations_;  // by rank handle
  std::vector<int32_t> rank_order_;                      // rank handles by rank number
  std::vector<int32_t> expected_ranks_;
  size_t members_ = 0;
  size_t stored_ = 0;
  uint64_t lost_ = 0;
  uint64_t duplicates_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_TRACE_BUILDER_H_
