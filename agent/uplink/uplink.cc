#include "agent/uplink/uplink.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"

namespace lockstep {
namespace {

// How often a connection that says nothing is looked at.
constexpr int64_t kStallCheckNanos = kNanosPerSecond;

// It is not known who this agent is, or it may not do what it wants; no outage.
bool IsRefusal(const absl::Status& status) {
  return absl::IsPermissionDenied(status) || absl::IsUnauthenticated(status);
}

}  // namespace

Uplink::Uplink(CollectorConnector& connector, wire::AgentHello hello, const OutboxLimits& limits, const Clock& clock,
               const Random& random)
    : connector_(connector),
      hello_(std::move(hello)),
      clock_(clock),
      outbox_(limits),
      session_(outbox_),
      pauses_(random),
      thread_([this] { Run(); }) {}

Uplink::~Uplink() { Stop(); }

void Uplink::Send(wire::AgentReport report) {
  MutexLock lock(mutex_);
  outbox_.Add(std::move(report), clock_.MonotonicNanos());
  changed_.NotifyAll();
}

absl::optional<wire::Command> Uplink::TakeCommand() {
  MutexLock lock(mutex_);
  if (commands_.empty()) return absl::nullopt;
  wire::Command command = std::move(commands_.front());
  commands_.pop_front();
  return command;
}

bool Uplink::Drain(int64_t nanos) {
  const int64_t deadline = RealClock().MonotonicNanos() + nanos;
  MutexLock lock(mutex_);
  while (!session_.idle()) {
    const int64_t left = deadline - RealClock().MonotonicNanos();
    if (left <= 0 || session_.state() != UplinkSession::State::kStreaming) return false;
    changed_.WaitFor(mutex_, left);
  }
  return true;
}

void Uplink::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    if (stream_ != nullptr) stream_->Cancel();
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

UplinkStatistics Uplink::statistics() const {
  MutexLock lock(mutex_);
  UplinkStatistics statistics;
  statistics.connected = session_.state() == UplinkSession::State::kStreaming;
  statistics.reports_sent = session_.reports_sent();
  statistics.reports_acknowledged = session_.reports_acknowledged();
  statistics.reports_dropped = outbox_.dropped();
  statistics.commands_dropped = commands_dropped_;
  statistics.connections = connections_;
  statistics.disconnections = disconnections_;
  statistics.outbox_bytes = outbox_.bytes();
  statistics.outbox_reports = outbox_.size();
  statistics.last_error = last_error_;
  return statistics;
}

void Uplink::Run() {
  int64_t pause_ns = 0;
  do {
    const std::unique_ptr<CollectorStream> stream = connector_.Connect();
    {
      MutexLock lock(mutex_);
      if (stopping_) stream->Cancel();
      stream_ = stream.get();
      stream_over_ = false;
      session_.OnConnected(clock_.MonotonicNanos());
    }
    pause_ns = RunStream(*stream);
  } while (WaitBeforeRetry(pause_ns));
}

int64_t Uplink::RunStream(CollectorStream& stream) {
  // The reader outlives the writer: only it knows when the stream is over.
  std::thread reader([this, &stream] { ReadAnswers(stream); });
  wire::AgentMessage hello;
  *hello.mutable_hello() = hello_;
  // A stream that the collector has ended must not be cancelled: that would hide its status.
  if (stream.Write(hello) && !WriteReports(stream)) stream.Cancel();
  reader.join();
  const absl::Status status = stream.Finish();
  bool was_up = false;
  bool is_new_refusal = false;
  int64_t pause_ns = 0;
  {
    MutexLock lock(mutex_);
    stream_ = nullptr;
    was_up = session_.state() == UplinkSession::State::kStreaming;
    session_.OnDisconnected(status);
    pause_ns = pauses_.OnOver(status, clock_.MonotonicNanos());
    ++disconnections_;
    last_error_ = status.ToString();
    is_new_refusal = IsRefusal(status) && told_refusal_.IsNews(last_error_);
    changed_.NotifyAll();
    if (stopping_) return 0;
  }
  if (IsDisplaced(status)) {
    Log(LogLevel::kWarning, "displaced by another connection of this host's name; two machines may share it",
        {{"host", hello_.host()},
         {"incarnation", absl::StrCat(hello_.incarnation())},
         {"status", status.ToString()},
         {"pause_ms", absl::StrCat(pause_ns / kNanosPerMilli)}});
  } else if (is_new_refusal) {
    Log(LogLevel::kError, "this agent is not let in; it goes on trying",
        {{"host", hello_.host()}, {"why", std::string(status.message())}});
  } else if (was_up) {
    // An unreachable collector is told of once, not at every attempt.
    Log(LogLevel::kWarning, "disconnected from the collector", {{"status", status.ToString()}});
  }
  return pause_ns;
}

bool Uplink::WriteReports(CollectorStream& stream) {
  while (true) {
    wire::AgentMessage message;
    uint64_t sequence = 0;
    {
      MutexLock lock(mutex_);
      const Outbox::Entry* next = nullptr;
      while ((next = session_.NextToSend()) == nullptr) {
        if (stream_over_) return true;
        if (stopping_ || session_.IsStalled(clock_.MonotonicNanos())) return false;
        changed_.WaitFor(mutex_, kStallCheckNanos);
      }
      if (stopping_ || stream_over_) return stream_over_;
      const int64_t now_ns = clock_.MonotonicNanos();
      CHECK(message.mutable_report()->ParseFromString(next->bytes));
      // The collector knows only when the report comes, which after an outage says nothing of its samples.
      message.mutable_report()->set_waited_ns(static_cast<uint64_t>(std::max<int64_t>(0, now_ns - next->added_ns)));
      sequence = next->sequence;
      session_.OnSent(sequence, now_ns);
    }
    if (!stream.Write(message)) return true;
  }
}

void Uplink::ReadAnswers(CollectorStream& stream) {
  wire::CollectorMessage message;
  while (stream.Read(message)) {
    if (!HandleAnswer(message)) stream.Cancel();
  }
  MutexLock lock(mutex_);
  stream_over_ = true;
  changed_.NotifyAll();
}

bool Uplink::HandleAnswer(const wire::CollectorMessage& message) {
  bool welcome = false;
  bool in_turn = false;
  {
    MutexLock lock(mutex_);
    const int64_t now_ns = clock_.MonotonicNanos();
    if (message.has_hello_ack()) {
      in_turn = welcome = session_.OnHelloAck(message.hello_ack().stored_sequence(), now_ns);
    } else if (message.has_ack()) {
      in_turn = session_.OnAck(message.ack().stored_sequence(), now_ns);
    } else if (message.has_command()) {
      in_turn = session_.state() == UplinkSession::State::kStreaming;
      if (commands_.size() < kMaxCommands) {
        commands_.push_back(message.command());
      } else {
        ++commands_dropped_;
      }
    }
    if (welcome) {
      told_refusal_.Clear();
      ++connections_;
      pauses_.OnUp(now_ns);
    }
    changed_.NotifyAll();
  }
  if (welcome) Log(LogLevel::kInfo, "connected to the collector");
  return in_turn;
}

bool Uplink::WaitBeforeRetry(int64_t pause_ns) {
  MutexLock lock(mutex_);
  const int64_t until = RealClock().MonotonicNanos() + pause_ns;
  while (!stopping_) {
    const int64_t left = until - RealClock().MonotonicNanos();
    if (left <= 0) return true;
    changed_.WaitFor(mutex_, left);
  }
  return false;
}

}  // namespace lockstep
