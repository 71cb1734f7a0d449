#include "collector/demands/demand_book.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "collector/access/valid_text.h"

namespace lockstep {
namespace {

constexpr size_t kMaxReasonBytes = 512;
// An agent that is out of time says so: it has less of it, by what a report and its way take.
constexpr int64_t kWayNanos = 5 * kNanosPerSecond;

constexpr DemandKindRow kKinds[] = {
    {.name = "stacks", .max_parameter_bytes = 64, .max_answer_bytes = 1 << 19, .patience_ns = 30 * kNanosPerSecond},
    {.name = "profile",
     .max_parameter_bytes = 64,
     .max_answer_bytes = 1 << 17,
     .patience_ns = 180 * kNanosPerSecond,
     .peers = 16},
};

}  // namespace

const DemandKindRow* FindDemandKind(absl::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const DemandKindRow& row) { return row.name == name; });
  return found == std::end(kKinds) ? nullptr : found;
}

absl::Status CheckDemand(absl::string_view kind, absl::string_view parameters) {
  const DemandKindRow* const row = FindDemandKind(kind);
  if (row == nullptr) return absl::InvalidArgumentError("there is no such kind of demand");
  if (parameters.size() <= row->max_parameter_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("parameters: more than ", row->max_parameter_bytes, " bytes"));
}

// Ids of one life of the collector are not those of the next: answers to an earlier one must not be taken for others.
DemandBook::DemandBook(Send send, Offers offers, const Clock& clock, DemandMetrics& metrics)
    : send_(std::move(send)),
      offers_(std::move(offers)),
      clock_(clock),
      metrics_(metrics),
      next_id_(static_cast<uint64_t>(clock.WallNanos())) {}

void DemandBook::Open(const DemandOrder& order, const Answer& answer) {
  const DemandKindRow* const kind = FindDemandKind(order.kind);
  CHECK(kind != nullptr);
  for (const DemandTarget& target : order.targets) Begin(order, *kind, target, answer);
}

absl::Status DemandBook::CheckRoomLocked(const std::string& job, const DemandTarget& target) const {
  size_t of_job = 0;
  size_t of_host = 0;
  for (const auto& [id, demand] : demands_) {
    const DemandTarget& other = demand.result.target;
    of_job += demand.job == job ? 1 : 0;
    of_host += other.host == target.host ? 1 : 0;
    if (demand.job == job && other.host == target.host && other.rank == target.rank) {
      return absl::AlreadyExistsError("the process is being looked at already");
    }
  }
  if (demands_.size() >= kMaxOpen) return absl::ResourceExhaustedError("too many demands are open");
  if (of_job >= kMaxOpenOfJob) return absl::ResourceExhaustedError("too many demands of the job are open");
  if (of_host >= kMaxOpenOfHost) return absl::ResourceExhaustedError("too many demands of the host are open");
  return absl::OkStatus();
}

void DemandBook::Begin(const DemandOrder& order, const DemandKindRow& kind, const DemandTarget& target,
                       const Answer& answer) {
  metrics_.requested.Increment();
  absl::Status refusal;
  if (!offers_(target.host, kind.name)) {
    refusal =
        absl::UnimplementedError("the agent of the host is not connected, does not do that, or has it switched off");
  }
  wire::Command command;
  command.set_job(order.job);
  wire::Demand& demand = *command.mutable_demand();
  demand.set_kind(order.kind);
  demand.set_rank(target.rank);
  demand.set_pid(target.pid);
  demand.set_patience_ns(kind.patience_ns - kWayNanos);
  demand.set_parameters(order.parameters);
  if (refusal.ok()) {
    MutexLock lock(mutex_);
    refusal = CheckRoomLocked(order.job, target);
    if (refusal.ok()) {
      command.set_id(next_id_++);
      demands_[command.id()] = {order.job,
                                {target, wire::DemandAnswer::OUTCOME_UNSPECIFIED, "", ""},
                                kind.max_answer_bytes,
                                0,
                                clock_.MonotonicNanos() + kind.patience_ns,
                                answer};
    }
  }
  if (!refusal.ok()) {
    return Tell({target, wire::DemandAnswer::OUTCOME_REFUSED, std::string(refusal.message()), ""}, answer);
  }
  if (!send_(target.host, command)) {
    Conclude(command.id(), wire::DemandAnswer::OUTCOME_REFUSED,
             "the agent of the host is not connected, or has too much to do");
  }
}

void DemandBook::OnAnswer(const std::string& host, const wire::DemandAnswer& part) {
  wire::DemandAnswer::Outcome outcome = part.outcome();
  std::string reason = ValidText(part.reason(), kMaxReasonBytes);
  {
    MutexLock lock(mutex_);
    const auto found = demands_.find(part.id());
    if (found == demands_.end() || found->second.result.target.host != host) {
      metrics_.strays.Increment();
      return;
    }
    Demand& demand = found->second;
    if (part.part() < demand.parts) return;  // an agent that sends a report again sends its part again
    if (part.part() > demand.parts) {
      outcome = wire::DemandAnswer::OUTCOME_FAILED;
      reason = "a part of the answer was lost on its way";
    } else if (demand.result.payload.size() + part.payload().size() > demand.max_bytes) {
      outcome = wire::DemandAnswer::OUTCOME_FAILED;
      reason = absl::StrCat("the answer has more than ", demand.max_bytes, " bytes");
    } else {
      demand.result.payload += part.payload();
      if (++demand.parts < part.parts()) return;
    }
  }
  if (outcome != wire::DemandAnswer::OUTCOME_DONE && outcome != wire::DemandAnswer::OUTCOME_REFUSED) {
    outcome = wire::DemandAnswer::OUTCOME_FAILED;
  }
  Conclude(part.id(), outcome, reason);
}

void DemandBook::Expire() {
  const int64_t now_ns = clock_.MonotonicNanos();
  std::vector<uint64_t> over;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, demand] : demands_) {
      if (demand.deadline_ns <= now_ns) over.push_back(id);
    }
  }
  for (const uint64_t id : over) {
    Conclude(id, wire::DemandAnswer::OUTCOME_FAILED, "the agent of the host has not answered in time");
  }
}

void DemandBook::Conclude(uint64_t id, wire::DemandAnswer::Outcome outcome, const std::string& reason) {
  Demand demand;
  {
    MutexLock lock(mutex_);
    const auto found = demands_.find(id);
    if (found == demands_.end()) return;
    demand = std::move(found->second);
    demands_.erase(found);
  }
  demand.result.outcome = outcome;
  if (outcome != wire::DemandAnswer::OUTCOME_DONE) {
    demand.result.reason = reason;
    demand.result.payload.clear();
  }
  Tell(demand.result, demand.answer);
}

void DemandBook::Tell(const DemandResult& result, const Answer& answer) {
  metrics_.Count(result.outcome == wire::DemandAnswer::OUTCOME_DONE);
  answer(result);
}

size_t DemandBook::open() const {
  MutexLock lock(mutex_);
  return demands_.size();
}

}  // namespace lockstep
