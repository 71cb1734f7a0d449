#include "collector/capture_stream.h"

#include <utility>

#include "collector/store/log_chunk.h"
#include "collector/tenant_share.h"
#include "daemon/grpc_status.h"

namespace lockstep {

CaptureStream::CaptureStream(wire::CaptureRequest request, bool for_tenant, HistoryStore& history, QueryWorker& worker,
                             QueryAdmission::Slot slot)
    : request_(std::move(request)),
      for_tenant_(for_tenant),
      history_(history),
      worker_(worker),
      slot_(std::move(slot)),
      resume_wall_ns_(request_.from_wall_ns()) {}

void CaptureStream::Start(std::shared_ptr<CaptureStream> self) {
  self_ = std::move(self);
  MutexLock lock(mutex_);
  NextLocked();
}

void CaptureStream::ReadChunk() {
  std::deque<wire::CaptureEntry> chunk;
  size_t bytes = 0;
  bool full = false;
  to_skip_ = resume_skip_;
  const absl::Status status =
      history_.ScanLog(request_.job(), resume_wall_ns_, request_.to_wall_ns(), [&](const wire::CaptureEntry& entry) {
        full = !Take(entry, chunk, bytes);
        return !full;
      });
  MutexLock lock(mutex_);
  if (!status.ok()) return FinishLocked(status);
  chunk_ = std::move(chunk);
  at_end_ = !full;
  NextLocked();
}

bool CaptureStream::Take(const wire::CaptureEntry& entry, std::deque<wire::CaptureEntry>& chunk, size_t& bytes) {
  const int64_t wall_ns = WallNanosOf(entry);
  if (to_skip_ > 0 && wall_ns == resume_wall_ns_) {
    --to_skip_;
    return true;
  }
  if (chunk.size() >= kChunkEntries || bytes >= kChunkBytes) return false;
  to_skip_ = 0;
  resume_skip_ = wall_ns == resume_wall_ns_ ? resume_skip_ + 1 : 1;
  resume_wall_ns_ = wall_ns;
  bytes += entry.ByteSizeLong();
  chunk.push_back(entry);
  if (for_tenant_ && entry.has_input()) KeepOwnShare(*chunk.back().mutable_input());
  return true;
}

void CaptureStream::NextLocked() {
  if (finished_) return;
  if (closing_) return FinishLocked(absl::CancelledError("cancelled by the reader"));
  if (!chunk_.empty()) {
    writing_ = true;
    StartWrite(&chunk_.front());
    return;
  }
  if (at_end_) return FinishLocked(absl::OkStatus());
  if (!worker_.TryRun([stream = shared_from_this()] { stream->ReadChunk(); })) {
    FinishLocked(absl::ResourceExhaustedError("too many queries wait for history"));
  }
}

void CaptureStream::FinishLocked(const absl::Status& status) {
  if (finished_) return;
  finished_ = true;
  Finish(ToGrpc(status));
}

void CaptureStream::OnWriteDone(bool ok) {
  MutexLock lock(mutex_);
  writing_ = false;
  chunk_.pop_front();
  closing_ = closing_ || !ok;
  NextLocked();
}

void CaptureStream::OnCancel() {
  // Whatever is under way (a write or a read of history) ends soon and then finishes the call.
  MutexLock lock(mutex_);
  closing_ = true;
}

void CaptureStream::OnDone() { const std::shared_ptr<CaptureStream> self = std::move(self_); }

}  // namespace lockstep
