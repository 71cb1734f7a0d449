// Reads dumps of PyTorch's Flight Recorder: one per rank, as pickle or as JSON. docs/formats.md describes what is used.
//
// The rank is the dump's own "rank", or the number in the file's name. Times are those at which the host called, and at
// which the watchdog noticed a start or end, up to a second late: their quality says so. A dump knows no host.
//
// Send and Recv: PyTorch numbers all transfers of a rank in a group together. As long as every rank has one peer in the
// group, both sides count alike, and only gaps that both have are closed. Otherwise the two sides of each pair are
// matched by counting from the first that is not completed; that takes all dumps, so that transfers wait until Finish.
//
// A batch (batch_isend_irecv, or collectives that are issued as one) has an entry for each call, of which the watchdog
// sees nothing, and after them one "nccl:coalesced" of the same number, which it watches: one kernel. Transfers have
// the state and the times of their batch. Collectives of a batch have one number, and the first stands for all.
//
// Ends of collectives with `duration_ms` are narrowed down from the looks of all watchdogs (watchdog_times.h), so that
// these wait until Finish, too.
//
// Memory: one dump, and the transfers and timed collectives of all, up to kMaxTransfers of each. Not thread-safe.

#ifndef LOCKSTEP_FORMATS_FLIGHT_RECORDER_READER_H_
#define LOCKSTEP_FORMATS_FLIGHT_RECORDER_READER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "detector/model/trace.h"
#include "formats/byte_source.h"
#include "formats/evidence_builder.h"
#include "formats/plain_document.h"
#include "formats/read_result.h"

namespace lockstep {

inline constexpr size_t kMaxDumpBytes = size_t{512} << 20;
inline constexpr size_t kMaxTransfers = size_t{4} << 20;

class FlightRecorderReader {
 public:
  // `builder` is borrowed.
  explicit FlightRecorderReader(EvidenceBuilder& builder) : builder_(builder) {}

  ReadResult Read(absl::string_view path, ByteSource& source, JobIndex job);

  // Call once, after the last dump.
  void Finish();

 private:
  struct HeldCall {
    JobIndex job = 0;
    int32_t rank = -1;
    std::string communicator;
    int32_t communicator_rank = -1;
    int32_t communicator_size = -1;
    TraceOperation operation;
    int64_t earliest_end_ns = kNoTime;  // of what is timed
    std::string host = {};
  };
  // Process group, whether of transfers, number.
  using BatchKey = std::tuple<std::string, bool, int64_t>;
  struct Batch {
    const PlainNode* watched;  // the entry "nccl:coalesced"
    bool is_taken = false;     // of collectives: an operation stands for it
  };
  // The dump that is being read.
  struct Dump {
    const PlainDocument& document;
    JobIndex job;
    int32_t rank;
    std::string host;
    bool tells_started;  // false: nothing in it says when anything began on the GPU
    std::map<BatchKey, Batch> batches;
    std::vector<int64_t> looks;  // of the watchdog, as far as it noticed anything
  };
  struct Group {
    std::string name;
    std::vector<int32_t> ranks;
  };

  absl::Status ReadDump(absl::string_view path, const PlainDocument& document, JobIndex job, ReadResult& result);
  void DescribeGroups(const Dump& dump);
  static void FindBatches(const PlainNode& entries, Dump& dump);
  Group GroupOf(const Dump& dump, const PlainNode& entry) const;
  bool TakeEntry(Dump& dump, const PlainNode& entry);
  // `mixed`: groups whose transfers are counted otherwise.
  void CloseGaps(const std::set<std::pair<JobIndex, std::string>>& mixed);

  void HandOver(const HeldCall& call);
  void FinishTimed();

  EvidenceBuilder& builder_;
  std::vector<HeldCall> transfers_;
  std::vector<HeldCall> timed_;  // collectives
};

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_FLIGHT_RECORDER_READER_H_
