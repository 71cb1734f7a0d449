// The log of a spool on a real directory, which ends with its process: from Die on no call reaches the disk, whatever
// threads are still to be wound up, and the next agent may open it.
//
// Thread-safe.

#ifndef LOCKSTEP_TESTS_FAULTS_MORTAL_LOG_H_
#define LOCKSTEP_TESTS_FAULTS_MORTAL_LOG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/spool/report_log.h"
#include "base/mutex.h"
#include "tests/faults/thread_world.h"

namespace lockstep::faults {

class MortalLog final : public ReportLog {
 public:
  // Notes in `written`, which is borrowed, what survives the process. `forgets` breaks that promise on purpose.
  MortalLog(std::unique_ptr<ReportLog> log, std::map<uint64_t, int64_t>& written, bool forgets)
      : log_(std::move(log)), written_(written), forgets_(forgets) {}

  void Die() {
    MutexLock lock(mutex_);
    log_.reset();
  }

  absl::Status Open() override {
    MutexLock lock(mutex_);
    return log_ == nullptr ? Dead() : log_->Open();
  }
  std::vector<FormerAgent> formers() const override {
    MutexLock lock(mutex_);
    return log_ == nullptr ? std::vector<FormerAgent>() : log_->formers();
  }
  std::string resume() const override {
    MutexLock lock(mutex_);
    return log_ == nullptr ? "" : log_->resume();
  }
  absl::Status Append(const SpooledReport& report) override {
    MutexLock lock(mutex_);
    if (log_ == nullptr) return Dead();
    const absl::Status status = forgets_ ? absl::OkStatus() : log_->Append(report);
    if (status.ok()) written_.emplace(report.sequence, WorldNanos());
    return status;
  }
  absl::Status Acknowledge(uint64_t incarnation, uint64_t sequence) override {
    MutexLock lock(mutex_);
    return log_ == nullptr ? Dead() : log_->Acknowledge(incarnation, sequence);
  }
  absl::StatusOr<std::vector<AgedReport>> Read(uint64_t incarnation, uint64_t sequence, size_t max_bytes) override {
    MutexLock lock(mutex_);
    if (log_ == nullptr) return Dead();
    return log_->Read(incarnation, sequence, max_bytes);
  }
  absl::Status KeepLimits() override {
    MutexLock lock(mutex_);
    return log_ == nullptr ? Dead() : log_->KeepLimits();
  }
  std::function<absl::Status()> BeginSync() override {
    MutexLock lock(mutex_);
    return log_ == nullptr ? nullptr : log_->BeginSync();
  }
  ReportLogState state() const override {
    MutexLock lock(mutex_);
    return log_ == nullptr ? ReportLogState() : log_->state();
  }
  std::map<std::string, uint64_t> TakeLosses() override {
    MutexLock lock(mutex_);
    return log_ == nullptr ? std::map<std::string, uint64_t>() : log_->TakeLosses();
  }

 private:
  static absl::Status Dead() { return absl::UnavailableError("simulated: the agent is dead"); }

  mutable Mutex mutex_;
  std::unique_ptr<ReportLog> log_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, int64_t>& written_ ABSL_GUARDED_BY(mutex_);
  const bool forgets_;
};

}  // namespace lockstep::faults

#endif  // LOCKSTEP_TESTS_FAULTS_MORTAL_LOG_H_
