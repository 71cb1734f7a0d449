#include "collector/ingest/ingest_stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "collector/convert/check_name.h"
#include "collector/convert/report_limits.h"
#include "daemon/grpc_status.h"

namespace lockstep {
namespace {

absl::Status CheckHello(const wire::AgentHello& hello) {
  if (hello.protocol_version() != kProtocolVersion) {
    return absl::FailedPreconditionError(absl::StrCat("hello.protocol_version: ", hello.protocol_version(),
                                                      ", this collector speaks ", kProtocolVersion));
  }
  if (hello.host().empty()) return absl::InvalidArgumentError("hello.host: is empty");
  if (hello.incarnation() == 0) return absl::InvalidArgumentError("hello.incarnation: is 0");
  const absl::Status host = CheckName("hello.host", hello.host(), kMaxHostBytes);
  return host.ok() ? CheckName("hello.version", hello.version(), kMaxNameBytes) : host;
}

}  // namespace

IngestStream::IngestStream(ReportSink& sink, std::string peer, std::shared_ptr<const Caller> caller,
                           std::function<void(IngestStream*)> on_done)
    : sink_(sink), peer_(std::move(peer)), caller_(std::move(caller)), on_done_(std::move(on_done)) {}

void IngestStream::Start(std::shared_ptr<IngestStream> self) {
  self_ = std::move(self);
  MutexLock lock(mutex_);
  ReadOnLocked();
}

bool IngestStream::is_waiting_for_hello() const {
  MutexLock lock(mutex_);
  return !hello_received_;
}

void IngestStream::OnReadDone(bool ok) {
  {
    MutexLock lock(mutex_);
    if (!ok) {
      half_closed_ = true;
      MaybeFinishLocked();
      return;
    }
    if (closing_) return;
  }
  switch (in_.message_case()) {
    case wire::AgentMessage::kHello:
      HandleHello(in_.hello());
      break;
    case wire::AgentMessage::kReport: {
      const size_t bytes = in_.ByteSizeLong();
      HandleReport(std::move(*in_.mutable_report()), bytes);
      break;
    }
    case wire::AgentMessage::MESSAGE_NOT_SET:
      Reject("empty", absl::InvalidArgumentError("message is neither hello nor report"));
      break;
  }
}

void IngestStream::HandleHello(const wire::AgentHello& hello) {
  {
    MutexLock lock(mutex_);
    const bool second = std::exchange(hello_received_, true);
    if (second) {
      sink_.OnRejected("second_hello");
      CloseLocked(absl::InvalidArgumentError("second hello on one stream"));
      return;
    }
  }
  const absl::Status checked = CheckHello(hello);
  if (!checked.ok()) return Reject("hello", checked);
  if (!caller_->MayReportFor(hello.host())) {
    return Reject("foreign_host",
                  absl::PermissionDeniedError(absl::StrCat(caller_->name, " may not report for the host ", hello.host(),
                                                           ", but for ", absl::StrJoin(caller_->hosts, ", "))));
  }
  const std::weak_ptr<IngestStream> weak = weak_from_this();
  sink_.Admit(hello, shared_from_this(), [weak](absl::StatusOr<std::shared_ptr<AgentLedger>> ledger) {
    if (const std::shared_ptr<IngestStream> stream = weak.lock()) stream->OnAdmitted(std::move(ledger));
  });
}

void IngestStream::OnAdmitted(absl::StatusOr<std::shared_ptr<AgentLedger>> ledger) {
  MutexLock lock(mutex_);
  if (closing_) return;
  if (!ledger.ok()) return CloseLocked(ledger.status());
  ledger_ = *std::move(ledger);
  hello_ack_pending_ = true;
  WriteNextLocked();
  ReadOnLocked();
}

void IngestStream::HandleReport(wire::AgentReport report, size_t bytes) {
  std::shared_ptr<AgentLedger> ledger;
  {
    MutexLock lock(mutex_);
    ledger = ledger_;
  }
  if (ledger == nullptr) return Reject("report_before_hello", absl::InvalidArgumentError("report before hello"));
  const uint64_t sequence = report.sequence();
  if (sequence <= last_sequence_) {
    return Reject("sequence", absl::InvalidArgumentError(absl::StrCat("report.sequence: ", sequence, " after ",
                                                                      last_sequence_, " on one stream")));
  }
  const uint64_t missing = last_sequence_ == 0 ? 0 : sequence - last_sequence_ - 1;
  const bool duplicate = ledger->NoteArrival(sequence, sink_.WallNanos());
  sink_.OnReport(bytes, duplicate, missing);
  if (!duplicate) {
    LeaveOutForeignJobs(report);
    absl::StatusOr<std::vector<JobSlice>> slices = sink_.Prepare(*ledger, std::move(report), caller_->MayReportOfAll());
    if (!slices.ok()) {
      return Reject("malformed", absl::Status(slices.status().code(),
                                              absl::StrCat("report ", sequence, ": ", slices.status().message())));
    }
    slices_ = *std::move(slices);
  }
  last_sequence_ = sequence;
  HandOverAndReadOn(*ledger);
}

void IngestStream::LeaveOutForeignJobs(wire::AgentReport& report) {
  auto& processes = *report.mutable_processes();
  const auto foreign =
      std::stable_partition(processes.begin(), processes.end(),
                            [this](const wire::ProcessReport& one) { return caller_->MayReportOf(one.job()); });
  if (foreign == processes.end()) return;
  if (!std::exchange(told_of_foreign_job_, true)) {
    Log(LogLevel::kWarning, "an agent is not believed of this job",
        {{"agent", caller_->name}, {"peer", peer_}, {"job", foreign->job()}});
  }
  sink_.OnForeignJob(static_cast<size_t>(processes.end() - foreign));
  processes.erase(foreign, processes.end());
}

void IngestStream::HandOverAndReadOn(AgentLedger& ledger) {
  AgentLedger::Handover handover = AgentLedger::Handover::kAccepted;
  if (!slices_.empty()) {
    handover = ledger.HandOver(this, last_sequence_, slices_.size(), [this](size_t index, AgentLedger::Ticket ticket) {
      slices_[index].ticket = std::move(ticket);
      return sink_.Deliver(slices_[index]);
    });
  }
  MutexLock lock(mutex_);
  switch (handover) {
    case AgentLedger::Handover::kAccepted:
      slices_.clear();
      return ReadOnLocked();
    case AgentLedger::Handover::kFull:
      parked_ = true;
      return sink_.Park(shared_from_this());
    case AgentLedger::Handover::kDetached:
      return CloseLocked(absl::UnavailableError("the stream was replaced: send again what is not acked"));
  }
}

void IngestStream::Resume() {
  std::shared_ptr<AgentLedger> ledger;
  {
    MutexLock lock(mutex_);
    if (!std::exchange(parked_, false) || closing_) return;
    ledger = ledger_;
  }
  HandOverAndReadOn(*ledger);
}

void IngestStream::OnStored(uint64_t sequence) {
  MutexLock lock(mutex_);
  pending_ack_ = std::max(pending_ack_, sequence);
  WriteNextLocked();
}

bool IngestStream::Send(const wire::Command& command) {
  MutexLock lock(mutex_);
  if (closing_ || ledger_ == nullptr || commands_.size() == kMaxWaitingCommands) return false;
  commands_.push_back(command);
  WriteNextLocked();
  return true;
}

void IngestStream::OnWriteDone(bool ok) {
  MutexLock lock(mutex_);
  writing_ = false;
  if (!ok) CloseLocked(absl::UnavailableError("connection is gone"));
  WriteNextLocked();
  MaybeFinishLocked();
}

void IngestStream::OnCancel() { Close(absl::CancelledError("cancelled by the agent")); }

void IngestStream::OnDone() {
  std::shared_ptr<AgentLedger> ledger;
  {
    MutexLock lock(mutex_);
    ledger = ledger_;
  }
  if (ledger != nullptr) ledger->Detach(this);
  const std::shared_ptr<IngestStream> self = std::move(self_);
  on_done_(this);
}

void IngestStream::Close(const absl::Status& status) {
  MutexLock lock(mutex_);
  CloseLocked(status);
}

void IngestStream::Reject(const char* reason, const absl::Status& status) {
  sink_.OnRejected(reason);
  Close(status);
}

void IngestStream::ReadOnLocked() {
  if (closing_) return;
  StartRead(&in_);
}

void IngestStream::WriteNextLocked() {
  if (writing_ || closing_ || ledger_ == nullptr) return;
  if (hello_ack_pending_) {
    hello_ack_pending_ = false;
    sent_ack_ = ledger_->stored_sequence();
    out_.mutable_hello_ack()->set_stored_sequence(sent_ack_);
  } else if (pending_ack_ > sent_ack_) {
    sent_ack_ = pending_ack_;
    out_.mutable_ack()->set_stored_sequence(sent_ack_);
    sink_.OnAckSent();
  } else if (!commands_.empty()) {
    *out_.mutable_command() = std::move(commands_.front());
    commands_.pop_front();
  } else {
    return;
  }
  writing_ = true;
  StartWrite(&out_);
}

void IngestStream::CloseLocked(const absl::Status& status) {
  if (closing_) return;
  closing_ = true;
  status_ = status;
  MaybeFinishLocked();
}

void IngestStream::MaybeFinishLocked() {
  // An agent that half-closes waits for its last acknowledgement.
  const bool all_acknowledged = ledger_ == nullptr || sent_ack_ >= ledger_->accepted_sequence();
  if (half_closed_ && all_acknowledged) closing_ = true;
  if (!closing_ || writing_ || finished_) return;
  finished_ = true;
  Finish(ToGrpc(status_));
}

}  // namespace lockstep
