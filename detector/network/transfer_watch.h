// Transfers watched for a while: asks agents to have their recorders add up what transfers wait for, and judges the
// sums.
//
// One watch of a job at a time, ten seconds long, a minute apart at least: it costs the job something. All hosts are
// asked whose recorders can watch, up to max_hosts, those first that the caller names. Sums count from the start of a
// recorder, so that only differences between two reports within the watch mean anything: from its first report to the
// last one of the first half, and from there to its last. A process that restarts begins anew. Hosts that refuse or do
// not answer are missing; a watch nobody answers ends without a judgement.
//
// Memory: max_rows sums while a watch is open, the flows of the last judgement after it. Pure; not thread-safe.

#ifndef LOCKSTEP_DETECTOR_NETWORK_TRANSFER_WATCH_H_
#define LOCKSTEP_DETECTOR_NETWORK_TRANSFER_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"
#include "detector/network/delay_matrix.h"

namespace lockstep {

struct TransferWatchOptions {
  int64_t duration_ns = 10'000'000'000;
  int64_t settle_ns = 3'000'000'000;  // for the last reports
  int64_t pause_ns = 60'000'000'000;  // from one watch's end to the next one's begin
  size_t max_hosts = 2048;
  size_t max_rows = 500'000;  // (rank, communicator, peer, direction)
};

struct WatchNeed {
  bool wanted = false;
  std::string reason;
  std::vector<std::string> hosts;  // to be asked first
};

// What a watch found.
struct WatchedTransfers {
  std::string reason;  // for which it was made
  double seconds = 0;  // watched
  std::vector<TransferFlow> flows;
  DelayJudgement judgement;
};

class TransferWatch {
 public:
  explicit TransferWatch(const TransferWatchOptions& options) : options_(options) {}

  // What a report says of one communicator of a rank. Ignored while no watch is open.
  void Observe(int32_t rank_slot, const Roster::Place& place, const std::vector<TransferWaits>& transfers,
               int64_t received_ns);
  // The answers of a report.
  void Observe(const HostReport& report);

  // After everything up to `watermark_ns` was observed. Returns the requests to send now. A watch that is no longer
  // wanted is judged all the same: recorders stop by themselves.
  std::vector<WatchRequest> Advance(const Roster& roster, int64_t watermark_ns, const WatchNeed& need);

  bool open() const { return open_; }
  // Of the newest watch that ended; nothing before that, and after Clear and Forget.
  const std::optional<WatchedTransfers>& result() const { return result_; }
  void Forget() { result_.reset(); }
  uint64_t watches() const { return watches_; }
  uint64_t answered() const { return answered_; }    // hosts, since the start
  uint64_t refused() const { return refused_; }      // hosts, since the start
  uint64_t discarded() const { return discarded_; }  // sums beyond max_rows

  // A new incarnation of the job.
  void Clear();

 private:
  // Rank slot, communicator slot, member of this side, peer, whether this side sends.
  using RowKey = std::tuple<int32_t, int32_t, int32_t, int32_t, bool>;
  struct Row {
    TransferWaits first;
    TransferWaits middle;
    TransferWaits newest;
  };

  std::vector<WatchRequest> Begin(const Roster& roster, int64_t watermark_ns, const WatchNeed& need);
  std::vector<TransferFlow> Flows(const Roster& roster) const;

  TransferWatchOptions options_;
  bool open_ = false;
  int64_t begun_ns_ = 0;
  int64_t ended_ns_ = 0;  // 0 = no watch yet
  uint64_t first_id_ = kFirstWatchId;
  uint64_t next_id_ = kFirstWatchId;
  std::string reason_;
  absl::flat_hash_map<RowKey, Row> rows_;
  std::optional<WatchedTransfers> result_;
  uint64_t watches_ = 0;
  uint64_t answered_ = 0;
  uint64_t refused_ = 0;
  uint64_t discarded_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_NETWORK_TRANSFER_WATCH_H_
