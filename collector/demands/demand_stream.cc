#include "collector/demands/demand_stream.h"

#include "daemon/grpc_status.h"

namespace lockstep {

void DemandStream::Expect(size_t answers, size_t left_out) {
  MutexLock lock(mutex_);
  awaited_ = answers;
  left_out_ = static_cast<uint32_t>(left_out);
  NextLocked();
}

void DemandStream::Push(const DemandResult& result) {
  MutexLock lock(mutex_);
  --awaited_;
  wire::OnDemandAnswer& answer = answers_.emplace_back();
  answer.set_host(result.target.host);
  answer.set_rank(result.target.rank);
  answer.set_outcome(result.outcome);
  answer.set_reason(result.reason);
  answer.set_payload(result.payload);
  answer.set_duty(result.target.duty + 1);
  answer.set_left_out(left_out_);
  left_out_ = 0;
  NextLocked();
}

void DemandStream::Refuse(const absl::Status& status) {
  MutexLock lock(mutex_);
  status_ = status;
  closing_ = true;
  NextLocked();
}

void DemandStream::NextLocked() {
  if (finished_ || writing_) return;
  if (!closing_ && !answers_.empty()) {
    writing_ = true;
    StartWrite(&answers_.front());
    return;
  }
  if (!closing_ && awaited_ > 0) return;
  finished_ = true;
  Finish(ToGrpc(status_));
}

void DemandStream::OnWriteDone(bool ok) {
  MutexLock lock(mutex_);
  writing_ = false;
  answers_.pop_front();
  closing_ = closing_ || !ok;
  NextLocked();
}

void DemandStream::OnCancel() {
  MutexLock lock(mutex_);
  if (status_.ok()) status_ = absl::CancelledError("cancelled by the caller");
  closing_ = true;
  NextLocked();
}

}  // namespace lockstep
