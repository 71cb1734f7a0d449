// Sends the input log of one job to one reader, a bounded chunk at a time.
//
// Each chunk is read on the query thread when the one before has been written: a slow reader costs one chunk of memory
// and its place among the captures (query_admission.h). However long the log is, no more of it is in memory. A tenant
// gets its share of each host (tenant_share.h). Lives until OnDone; a chunk that is being read holds a reference.
// Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_CAPTURE_STREAM_H_
#define LOCKSTEP_COLLECTOR_CAPTURE_STREAM_H_

#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "collector/query_admission.h"
#include "collector/query_worker.h"
#include "collector/store/history_store.h"
#include "proto/capture.pb.h"
#include "proto/query.pb.h"

namespace lockstep {

class CaptureStream final : public grpc::ServerWriteReactor<wire::CaptureEntry>,
                            public std::enable_shared_from_this<CaptureStream> {
 public:
  static constexpr size_t kChunkEntries = 512;
  static constexpr size_t kChunkBytes = 4 << 20;  // about; one entry more than this at most

  // `to_wall_ns` of the request must be set. References are borrowed.
  CaptureStream(wire::CaptureRequest request, bool for_tenant, HistoryStore& history, QueryWorker& worker,
                QueryAdmission::Slot slot);

  // Begins to read. `self` keeps the stream alive until OnDone.
  void Start(std::shared_ptr<CaptureStream> self);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void ReadChunk();
  bool Take(const wire::CaptureEntry& entry, std::deque<wire::CaptureEntry>& chunk, size_t& bytes);
  void NextLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishLocked(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const wire::CaptureRequest request_;
  const bool for_tenant_;
  HistoryStore& history_;
  QueryWorker& worker_;
  const QueryAdmission::Slot slot_;
  std::shared_ptr<CaptureStream> self_;  // touched by Start and OnDone only

  // Where the next chunk begins; touched by the query thread only.
  int64_t resume_wall_ns_;
  size_t resume_skip_ = 0;  // entries of that very moment that were taken already
  size_t to_skip_ = 0;

  Mutex mutex_;
  std::deque<wire::CaptureEntry> chunk_ ABSL_GUARDED_BY(mutex_);
  bool at_end_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;  // the reader is gone
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_CAPTURE_STREAM_H_
