// The operation records of one job on their way from files to a Trace: names to handles, and what files leave out.
//
// A rank of which no file says where it ran gets a host of its own with a stand-in name (IsStandInHost), since ranks
// thrown together on one host would look like a bad host. Members that a file lists and no file has records of become
// missing ranks. Not thread-safe.

#ifndef LOCKSTEP_FORMATS_TRACE_COLLECTION_H_
#define LOCKSTEP_FORMATS_TRACE_COLLECTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "formats/name_table.h"

namespace lockstep {

inline constexpr int32_t kMaxRank = (1 << 20) - 1;
inline constexpr size_t kMaxTraceNames = size_t{1} << 20;     // hosts, and communicators
inline constexpr size_t kMaxListedMembers = size_t{8} << 20;  // over all communicators

// True for the made-up host of a rank whose host no file names.
bool IsStandInHost(absl::string_view host);

// One operation of one rank. A rank outside of 0..kMaxRank is counted as lost.
struct OperationRow {
  int32_t rank = -1;
  absl::string_view host;          // "" = not known
  int32_t gpu = -1;                // ordinal; -1 = not known
  absl::string_view communicator;  // equal on all members
  int32_t communicator_rank = -1;  // -1 = not known: members are then ordered by rank
  int32_t communicator_size = -1;
  TraceOperation operation;    // but for `communicator`, which is filled here
  int64_t taken_ns = kNoTime;  // host clock, when the recorder's memory was read; the latest of a host counts
};

// A process, whether it left operations or not.
struct RankRow {
  int32_t rank = -1;
  absl::string_view host;
  int32_t gpu = -1;
  int32_t pid = 0;
  ProcessState process_state = ProcessState::kUnknown;
  int64_t last_seen_ns = kNoTime;
};

class TraceCollection {
 public:
  explicit TraceCollection(std::string job);

  void Add(const OperationRow& row);
  void Describe(const RankRow& row);

  // `ranks` by communicator rank, -1 = not known; `hint` is what the framework calls it.
  void DescribeCommunicator(absl::string_view name, absl::string_view hint, absl::Span<const int32_t> ranks);

  // Ranks 0 to world_size - 1 ought to have left records.
  void ExpectRanks(int32_t world_size);

  void AddLost(uint64_t records) { builder_.AddLost(records); }

  // Call once, last.
  Trace Finish();

 private:
  struct KnownRank {
    int32_t handle = -1;
    bool has_host = false;
    bool has_gpu = false;
  };
  struct ListedMember {
    int32_t communicator;
    int32_t communicator_rank;
    int32_t rank;
  };

  // Null for a rank that cannot be kept.
  KnownRank* Known(const RankRow& row);
  int32_t Communicator(absl::string_view name, absl::string_view hint, int32_t size);

  TraceBuilder builder_;
  NameTable hosts_;
  NameTable communicators_;
  std::vector<int32_t> host_handles_;          // by number in hosts_
  std::vector<int32_t> communicator_handles_;  // by number in communicators_
  std::vector<int32_t> communicator_sizes_;    // as far as claimed
  std::vector<KnownRank> ranks_;               // by rank
  std::vector<ListedMember> listed_;
  int32_t expected_ranks_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_TRACE_COLLECTION_H_
