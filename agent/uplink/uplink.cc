#include "agent/uplink/uplink.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/resume_point.h"
#include "base/boot_clock.h"
#include "base/check.h"
#include "base/log.h"

namespace lockstep {
namespace {

// How often a connection that says nothing is looked at.
constexpr int64_t kLookAgainNanos = kNanosPerSecond;

// It is not known who this agent is, or it may not do what it wants; no outage.
bool IsRefusal(const absl::Status& status) {
  return absl::IsPermissionDenied(status) || absl::IsUnauthenticated(status);
}

}  // namespace

Uplink::Uplink(CollectorConnector& connector, wire::AgentHello hello, const OutboxLimits& limits, const Clock& clock,
               const Random& random, Spool* spool, ResumeKeeper* keeper)
    : connector_(connector),
      hello_(std::move(hello)),
      limits_(limits),
      clock_(clock),
      spool_(spool),
      keeper_(keeper),
      live_(hello_.incarnation(), Outbox(limits)),
      found_(FoundIn(spool, limits)),
      pauses_(random),
      thread_([this] { Run(); }) {}

Uplink::~Uplink() { Stop(); }

std::deque<std::unique_ptr<Uplink::Life>> Uplink::FoundIn(Spool* spool, const OutboxLimits& limits) {
  std::deque<std::unique_ptr<Life>> lives;
  if (spool == nullptr) return lives;
  for (const FormerAgent& former : spool->TakeFormers()) {
    lives.push_back(
        std::make_unique<Life>(former.incarnation, Outbox(limits, former.first_sequence, former.last_sequence)));
  }
  return lives;
}

void Uplink::NoteFormers() {
  for (auto& former : FoundIn(spool_, limits_)) found_.push_back(std::move(former));
}

void Uplink::NoteWritten() {
  if (spool_ == nullptr) return;
  for (const uint64_t written : spool_->TakeWritten()) {
    live_.outbox.MarkOnDisk(written);
    if (keeper_ != nullptr) keeper_->Survives(written);
  }
}

std::string Uplink::resume() const {
  MutexLock lock(mutex_);
  return NewerResumePoint(spool_ == nullptr ? "" : spool_->resume(), keeper_ == nullptr ? "" : keeper_->left());
}

void Uplink::Send(wire::AgentReport report, std::string resume) {
  MutexLock lock(mutex_);
  NoteFormers();
  Outbox& outbox = live_.outbox;
  if (spool_ != nullptr) outbox.TellLosses(spool_->TakeLosses());
  const uint64_t before = outbox.newest_sequence();
  outbox.Add(std::move(report), clock_.MonotonicNanos());
  const bool is_taken = outbox.newest_sequence() != before;
  if (keeper_ != nullptr && is_taken) keeper_->Add(outbox.newest_sequence(), resume);
  if (spool_ != nullptr && is_taken) {
    // Ages across restarts are reckoned by these two, in the process that reads them.
    spool_->Add({outbox.newest_sequence(), clock_.WallNanos(), RealBootClock().BootNanos(), std::move(resume),
                 outbox.newest()->bytes});
    NoteWritten();
  }
  changed_.NotifyAll();
}

void Uplink::LeaveIfStalled() {
  MutexLock lock(mutex_);
  if (stream_ != nullptr && current().session.IsStalled(clock_.MonotonicNanos())) stream_->Cancel();
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
  while (!formers_.empty() || !found_.empty() || !live_.session.idle()) {
    const int64_t left = deadline - RealClock().MonotonicNanos();
    // Between two agents' reports there is no stream for a moment.
    const bool is_up = current().session.state() == UplinkSession::State::kStreaming || !was_lost_;
    if (left <= 0 || !is_up) return false;
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

Uplink::LeftBehind Uplink::End(int64_t drain_ns) {
  Drain(drain_ns);
  Stop();
  uint64_t newest = 0;
  {
    MutexLock lock(mutex_);
    newest = live_.outbox.newest_sequence();
  }
  if (spool_ != nullptr) spool_->WaitWritten(newest, Spool::kAbandonNanos);
  LeftBehind left;
  left.unacknowledged = statistics().outbox_reports;
  MutexLock lock(mutex_);
  NoteWritten();
  left.nowhere = live_.outbox.InMemoryOnly();
  return left;
}

void Uplink::AddTo(UplinkStatistics& statistics, const Life& life) {
  statistics.reports_sent += life.session.reports_sent();
  statistics.reports_acknowledged += life.session.reports_acknowledged();
  for (const auto& [reason, count] : life.outbox.dropped()) statistics.reports_dropped[reason] += count;
  statistics.outbox_bytes += life.outbox.bytes();
  statistics.outbox_reports += life.outbox.size();
}

UplinkStatistics Uplink::statistics() const {
  MutexLock lock(mutex_);
  UplinkStatistics statistics;
  statistics.connected = current().session.state() == UplinkSession::State::kStreaming;
  statistics.reports_sent = former_sent_;
  statistics.reports_acknowledged = former_acknowledged_;
  statistics.reports_dropped = former_dropped_;
  AddTo(statistics, live_);
  for (const auto* lives : {&formers_, &found_}) {
    for (const auto& former : *lives) {
      AddTo(statistics, *former);
      statistics.former_reports += former->outbox.size();
    }
  }
  if (spool_ != nullptr) {
    statistics.spool = spool_->statistics();
    for (const auto& [reason, count] : statistics.spool->log.dropped) statistics.reports_dropped[reason] += count;
  }
  statistics.commands_dropped = commands_dropped_;
  statistics.connections = connections_;
  statistics.disconnections = disconnections_;
  statistics.last_error = last_error_;
  return statistics;
}

void Uplink::Run() {
  int64_t pause_ns = 0;
  do {
    const std::unique_ptr<CollectorStream> stream = connector_.Connect();
    {
      MutexLock lock(mutex_);
      NoteFormers();
      std::move(found_.begin(), found_.end(), std::back_inserter(formers_));
      found_.clear();
      if (stopping_) stream->Cancel();
      stream_ = stream.get();
      stream_over_ = false;
      current().session.OnConnected(clock_.MonotonicNanos());
    }
    pause_ns = RunStream(*stream);
  } while (WaitBeforeRetry(pause_ns));
}

int64_t Uplink::RunStream(CollectorStream& stream) {
  // The reader outlives the writer: only it knows when the stream is over.
  std::thread reader([this, &stream] { ReadAnswers(stream); });
  wire::AgentMessage hello;
  *hello.mutable_hello() = hello_;
  {
    MutexLock lock(mutex_);
    hello.mutable_hello()->set_incarnation(current().incarnation);
    if (!formers_.empty()) hello.mutable_hello()->set_sender(hello_.incarnation());
  }
  // A stream that the collector has ended must not be cancelled: that would hide its status.
  if (stream.Write(hello) && !WriteReports(stream)) stream.Cancel();
  reader.join();
  return EndStream(stream.Finish());
}

int64_t Uplink::EndStream(const absl::Status& status) {
  bool was_up = false;
  bool is_new_refusal = false;
  int64_t pause_ns = 0;
  {
    MutexLock lock(mutex_);
    stream_ = nullptr;
    was_up = current().session.state() == UplinkSession::State::kStreaming;
    if (IsFormerDone()) {
      ForgetFormer();
      return 0;
    }
    const bool made_way = MakesWay() && live_.session.all_acknowledged();
    current().session.OnDisconnected(status);
    if (made_way) {
      was_lost_ = false;
      return 0;
    }
    was_lost_ = true;
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

bool Uplink::IsFormerDone() const {
  return !formers_.empty() && formers_.front()->session.state() == UplinkSession::State::kStreaming &&
         formers_.front()->session.idle();
}

void Uplink::ForgetFormer() {
  const Life& former = *formers_.front();
  Log(LogLevel::kInfo, "what an agent before this one had left is delivered",
      {{"incarnation", absl::StrCat(former.incarnation)},
       {"reports", absl::StrCat(former.session.reports_acknowledged())}});
  former_sent_ += former.session.reports_sent();
  former_acknowledged_ += former.session.reports_acknowledged();
  for (const auto& [reason, count] : former.outbox.dropped()) former_dropped_[reason] += count;
  formers_.pop_front();
  was_lost_ = false;
  changed_.NotifyAll();
}

Uplink::Turn Uplink::WaitForTurn(uint64_t& sequence) {
  MutexLock lock(mutex_);
  while (true) {
    if (stream_over_) return Turn::kStreamOver;
    const UplinkSession& session = current().session;
    if (stopping_ || IsFormerDone()) return Turn::kEndStream;
    if (MakesWay()) {
      if (session.all_acknowledged()) return Turn::kEndStream;
      changed_.WaitFor(mutex_, kLookAgainNanos);
      continue;
    }
    if (const Outbox::Entry* next = session.NextToSend(); next != nullptr) {
      sequence = next->sequence;
      return Turn::kSend;
    }
    if (const absl::optional<uint64_t> from = session.ToLoad(); from.has_value()) {
      sequence = *from;
      return Turn::kLoad;
    }
    changed_.WaitFor(mutex_, kLookAgainNanos);
  }
}

bool Uplink::TakeMessage(wire::AgentMessage& message) {
  MutexLock lock(mutex_);
  Life& life = current();
  NoteWritten();
  const Outbox::Entry* const next = life.session.NextToSend();
  if (next == nullptr || stopping_ || stream_over_) return false;
  const int64_t now_ns = clock_.MonotonicNanos();
  const uint64_t sequence = next->sequence;
  if (!message.mutable_report()->ParseFromString(next->bytes)) {
    CHECK(&life != &live_);  // what we have made ourselves can be read
    life.outbox.DropRejected(sequence);
    return false;
  }
  // The collector knows only when the report comes, which after an outage says nothing of its samples.
  message.mutable_report()->set_waited_ns(static_cast<uint64_t>(std::max<int64_t>(0, now_ns - next->added_ns)));
  life.session.OnSent(sequence, now_ns);
  return true;
}

bool Uplink::WriteReports(CollectorStream& stream) {
  while (true) {
    uint64_t sequence = 0;
    bool is_live = false;
    switch (WaitForTurn(sequence)) {
      case Turn::kStreamOver:
        return true;
      case Turn::kEndStream:
        return false;
      case Turn::kLoad:
        LoadReports(sequence);
        continue;
      case Turn::kSend:
        break;
    }
    {
      MutexLock lock(mutex_);
      is_live = formers_.empty();
    }
    // Late or not at all: the collector is told all the same.
    if (is_live && spool_ != nullptr) spool_->WaitWritten(sequence, Spool::kWriteWaitNanos);
    wire::AgentMessage message;
    if (TakeMessage(message) && !stream.Write(message)) return true;
  }
}

void Uplink::LoadReports(uint64_t from) {
  uint64_t incarnation = 0;
  {
    MutexLock lock(mutex_);
    incarnation = current().incarnation;
  }
  auto loaded = spool_->Load(incarnation, from, Outbox::kMaxLoadedBytes, Spool::kWriteWaitNanos);
  MutexLock lock(mutex_);
  const int64_t now_ns = clock_.MonotonicNanos();
  if (!loaded.ok()) {
    if (loading_since_ns_ == 0) loading_since_ns_ = now_ns;
    if (now_ns - loading_since_ns_ < kDiskPatienceNanos) {
      if (!absl::IsDeadlineExceeded(loaded.status())) changed_.WaitFor(mutex_, kLookAgainNanos);
      return;
    }
  }
  loading_since_ns_ = 0;
  if (!loaded.ok()) return current().outbox.DropUnreadable(from);
  std::vector<Outbox::Entry> entries;
  for (AgedReport& report : *loaded) {
    entries.push_back({report.sequence, now_ns - report.age_ns, std::move(report.bytes), /*on_disk=*/true});
  }
  current().outbox.TakeLoaded(from, std::move(entries));
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
    Life& life = current();
    // A former agent may have sent what it could not write.
    const uint64_t most = formers_.empty() ? std::numeric_limits<uint64_t>::max() : life.outbox.newest_sequence();
    if (message.has_hello_ack()) {
      in_turn = welcome = life.session.OnHelloAck(std::min(message.hello_ack().stored_sequence(), most), now_ns);
    } else if (message.has_ack()) {
      in_turn = life.session.OnAck(std::min(message.ack().stored_sequence(), most), now_ns);
    } else if (message.has_command()) {
      in_turn = life.session.state() == UplinkSession::State::kStreaming;
      if (commands_.size() < kMaxCommands) {
        commands_.push_back(message.command());
      } else {
        ++commands_dropped_;
      }
    }
    const bool has_acks = message.has_hello_ack() || message.has_ack();
    if (spool_ != nullptr && has_acks && in_turn && life.outbox.acknowledged_sequence() > 0) {
      spool_->Acknowledge(life.incarnation, life.outbox.acknowledged_sequence());
    }
    if (keeper_ != nullptr && in_turn && &life == &live_) keeper_->Survives(live_.outbox.acknowledged_sequence());
    if (welcome) {
      was_lost_ = false;
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
