#include "agent/demands/demand_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/printable_text.h"

namespace lockstep {
namespace {

constexpr size_t kMaxReasonBytes = 512;

}  // namespace

DemandRunner::DemandRunner(std::vector<DemandKind> kinds, const Clock& clock)
    : kinds_(std::move(kinds)), clock_(clock) {
  for (size_t i = 0; i < kThreads && !kinds_.empty(); ++i) threads_.emplace_back([this] { Run(); });
}

DemandRunner::~DemandRunner() {
  stop_.Stop();
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void DemandRunner::Take(const wire::Command& command, const absl::StatusOr<DemandedProcess>& process) {
  const wire::Demand& demand = command.demand();
  const auto kind =
      std::find_if(kinds_.begin(), kinds_.end(), [&](const DemandKind& row) { return row.name == demand.kind(); });
  MutexLock lock(mutex_);
  if (kind == kinds_.end()) return RefuseLocked(command.id(), "this agent does not do that, or it is switched off");
  if (!process.ok()) return RefuseLocked(command.id(), std::string(process.status().message()));
  if (looked_at_.size() + parts_.size() >= kMaxOpen) {
    return RefuseLocked(command.id(), absl::StrCat("the agent has ", kMaxOpen, " such demands open already"));
  }
  if (!looked_at_.insert({process->pid, process->start_ticks}).second) {
    return RefuseLocked(command.id(), "the process is being looked at already");
  }
  const int64_t patience_ns = std::clamp<int64_t>(demand.patience_ns(), 0, kMaxPatienceNanos);
  waiting_.push_back({command.id(), &*kind, *process, demand.parameters(), clock_.MonotonicNanos() + patience_ns});
  changed_.NotifyOne();
}

void DemandRunner::Run() {
  Waiting next;
  while (TakeNext(next)) {
    if (clock_.MonotonicNanos() >= next.deadline_ns) {
      Answer(next, absl::DeadlineExceededError("time was over before it could be begun"));
      continue;
    }
    const DemandCall call = {next.process, next.parameters, next.deadline_ns, stop_};
    Answer(next, next.kind->work(call));
  }
}

bool DemandRunner::TakeNext(Waiting& next) {
  MutexLock lock(mutex_);
  while (waiting_.empty() && !stopping_) changed_.Wait(mutex_);
  if (stopping_) return false;
  next = std::move(waiting_.front());
  waiting_.pop_front();
  return true;
}

void DemandRunner::Answer(const Waiting& demand, const absl::StatusOr<std::string>& answer) {
  MutexLock lock(mutex_);
  looked_at_.erase({demand.process.pid, demand.process.start_ticks});
  if (!answer.ok() || answer->size() > kMaxAnswerBytes) {
    ++statistics_.failed;
    const std::string why = answer.ok() ? absl::StrCat("the answer has ", answer->size(), " bytes, too many")
                                        : std::string(answer.status().message());
    return PushLocked(demand.id, wire::DemandAnswer::OUTCOME_FAILED, why, "");
  }
  ++statistics_.done;
  PushLocked(demand.id, wire::DemandAnswer::OUTCOME_DONE, "", *answer);
}

void DemandRunner::RefuseLocked(uint64_t id, const std::string& why) {
  ++statistics_.refused;
  // Refusals are small, and a collector that asks without end hears no more of them.
  if (parts_.size() >= 2 * kMaxOpen) return;
  PushLocked(id, wire::DemandAnswer::OUTCOME_REFUSED, why, "");
}

void DemandRunner::PushLocked(uint64_t id, wire::DemandAnswer::Outcome outcome, const std::string& reason,
                              const std::string& payload) {
  const size_t parts = std::max<size_t>(1, (payload.size() + kMaxPartBytes - 1) / kMaxPartBytes);
  for (size_t i = 0; i < parts; ++i) {
    wire::DemandAnswer& part = parts_.emplace_back();
    part.set_id(id);
    part.set_outcome(outcome);
    part.set_reason(PrintableText(reason, kMaxReasonBytes));
    part.set_part(static_cast<uint32_t>(i));
    part.set_parts(static_cast<uint32_t>(parts));
    part.set_payload(payload.substr(i * kMaxPartBytes, kMaxPartBytes));
  }
}

void DemandRunner::AppendAnswers(wire::AgentReport& report) {
  MutexLock lock(mutex_);
  for (size_t bytes = 0; !parts_.empty() && bytes + parts_.front().payload().size() <= kMaxPartBytes;) {
    bytes += parts_.front().payload().size();
    *report.add_demand_answers() = std::move(parts_.front());
    parts_.pop_front();
  }
}

DemandStatistics DemandRunner::statistics() const {
  MutexLock lock(mutex_);
  return statistics_;
}

}  // namespace lockstep
