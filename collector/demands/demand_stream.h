// Sends what nodes answer to one demand, each when it is there, and ends after the last.
//
// It holds at most one answer per target. The book keeps a weak reference: what is answered after the caller has hung
// up goes nowhere. Lives until OnDone. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_DEMANDS_DEMAND_STREAM_H_
#define LOCKSTEP_COLLECTOR_DEMANDS_DEMAND_STREAM_H_

#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "collector/demands/demand_book.h"
#include "collector/query_admission.h"
#include "proto/admin.pb.h"

namespace lockstep {

class DemandStream final : public grpc::ServerWriteReactor<wire::OnDemandAnswer>,
                           public std::enable_shared_from_this<DemandStream> {
 public:
  // Keeps its place among the demands, `slot`, until gRPC is done.
  explicit DemandStream(QueryAdmission::Slot slot) : slot_(std::move(slot)) {}

  // `self` keeps the stream alive until OnDone. To be called once, before all else.
  void Start(std::shared_ptr<DemandStream> self) { self_ = std::move(self); }

  // From now on so many answers are awaited, and so many ranks were left out. To be called once, before the first.
  void Expect(size_t answers, size_t left_out);
  void Push(const DemandResult& result);
  // There will be no answers.
  void Refuse(const absl::Status& status);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override { const std::shared_ptr<DemandStream> self = std::move(self_); }

 private:
  void NextLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const QueryAdmission::Slot slot_;
  std::shared_ptr<DemandStream> self_;  // touched by Start and OnDone only

  Mutex mutex_;
  std::deque<wire::OnDemandAnswer> answers_ ABSL_GUARDED_BY(mutex_);  // the first one is being written, if `writing_`
  size_t awaited_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;  // to be told with the next answer
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;  // the caller is gone, or is refused
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_DEMANDS_DEMAND_STREAM_H_
