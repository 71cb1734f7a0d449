#include "tests/faults/simulated_agent.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "tests/faults/trace.h"

namespace lockstep::faults {
namespace {

// A stream of a process that is dead.
class NoStream final : public CollectorStream {
 public:
  bool Write(const wire::AgentMessage&) override { return false; }
  bool Read(wire::CollectorMessage&) override { return false; }
  void Cancel() override {}
  absl::Status Finish() override { return absl::UnavailableError("simulated: the agent is dead"); }
};

// Looks at what passes.
class WatchedStream final : public CollectorStream {
 public:
  WatchedStream(std::unique_ptr<CollectorStream> stream, WireRecord& record)
      : stream_(std::move(stream)), record_(record) {}

  bool Write(const wire::AgentMessage& message) override {
    if (message.has_report()) record_.sent.insert(message.report().sequence());
    return stream_->Write(message);
  }
  bool Read(wire::CollectorMessage& message) override {
    if (!stream_->Read(message)) return false;
    if (message.has_ack()) Note(message.ack().stored_sequence());
    if (message.has_hello_ack()) Note(message.hello_ack().stored_sequence());
    return true;
  }
  void Cancel() override { stream_->Cancel(); }
  absl::Status Finish() override { return stream_->Finish(); }

 private:
  void Note(uint64_t sequence) {
    if (sequence <= record_.acknowledged) return;
    record_.acknowledged = sequence;
    record_.told[sequence] = {WorldNanos(), opened_ns_};
  }

  const std::unique_ptr<CollectorStream> stream_;
  const int64_t opened_ns_ = WorldNanos();
  WireRecord& record_;
};

class WatchedConnector final : public CollectorConnector {
 public:
  WatchedConnector(SimulatedNetwork& network, WireRecord& record) : network_(network), record_(record) {}

  std::unique_ptr<CollectorStream> Connect() override {
    if (is_dead_) return std::make_unique<NoStream>();
    return std::make_unique<WatchedStream>(network_.Connect(), record_);
  }
  void Die() { is_dead_ = true; }

 private:
  SimulatedNetwork& network_;
  WireRecord& record_;
  std::atomic<bool> is_dead_{false};
};

}  // namespace

// From a start to a death.
class SimulatedAgent::Life {
 public:
  Life(SimulatedNetwork& network, WireRecord& record, const wire::AgentHello& hello, const Random& random)
      : connector_(network, record), uplink_(connector_, hello, OutboxLimits(), RealClock(), random) {}

  Uplink& uplink() { return uplink_; }
  void Die() { connector_.Die(); }

 private:
  WatchedConnector connector_;
  Uplink uplink_;
};

SimulatedAgent::SimulatedAgent(Machine machine, size_t host, SharedReports& reports, SimulatedNetwork& network,
                               WireRecords& records, const Random& random)
    : machine_(machine),
      host_(host),
      reports_(reports),
      network_(network),
      records_(records),
      random_(random),
      thread_([this] {
        MoveTo(machine_);
        Run();
      }) {}

SimulatedAgent::~SimulatedAgent() {
  thread_.join();
  for (std::thread& undertaker : undertakers_) undertaker.join();
}

void SimulatedAgent::Start() {
  MutexLock lock(mutex_);
  const uint64_t incarnation = random_.Next() | 1;
  wire::AgentHello hello;
  {
    MutexLock shared(reports_.mutex);
    hello = reports_.reports.Hello(host_, incarnation);
  }
  // Threads belong to the machine of who makes them.
  const Machine own = CurrentMachine();
  MoveTo(machine_);
  life_ = std::make_shared<Life>(network_, records_[{hello.host(), incarnation}], hello, Random(random_.Next()));
  MoveTo(own);
}

void SimulatedAgent::Kill(bool is_told) {
  std::shared_ptr<Life> corpse;
  {
    MutexLock lock(mutex_);
    corpse.swap(life_);
  }
  if (corpse == nullptr) return;
  corpse->Die();
  network_.Abandon(machine_, is_told);
  undertakers_.emplace_back([dead = std::move(corpse)]() mutable { dead.reset(); });
}

bool SimulatedAgent::is_alive() const {
  MutexLock lock(mutex_);
  return life_ != nullptr;
}

void SimulatedAgent::HangUntil(int64_t world_ns) {
  MutexLock lock(mutex_);
  hangs_until_ns_ = world_ns;
}

UplinkStatistics SimulatedAgent::statistics() const {
  MutexLock lock(mutex_);
  return life_ == nullptr ? UplinkStatistics() : life_->uplink().statistics();
}

void SimulatedAgent::Run() {
  int32_t ticks = 0;
  {
    MutexLock lock(reports_.mutex);
    ticks = reports_.reports.ticks();
  }
  for (int32_t tick = 1; tick <= ticks; ++tick) {
    int64_t hangs_until_ns = 0;
    {
      MutexLock lock(mutex_);
      hangs_until_ns = hangs_until_ns_;
    }
    SleepUntil(std::max(tick * kReportIntervalNanos + machine_ * 13 * kNanosPerMilli, hangs_until_ns));
    Tick(tick);
  }
}

void SimulatedAgent::Tick(int32_t tick) {
  std::shared_ptr<Life> life;
  {
    MutexLock lock(mutex_);
    life = life_;
  }
  std::vector<wire::Command> commands;
  while (life != nullptr) {
    absl::optional<wire::Command> command = life->uplink().TakeCommand();
    if (!command.has_value()) break;
    commands.push_back(*std::move(command));
  }
  wire::AgentReport report;
  {
    // No lock is taken below this one, which all machines share: who holds it may not be stopped.
    MutexLock lock(reports_.mutex);
    if (!reports_.reports.Make(tick, host_, report) || life == nullptr) return;
    for (const wire::Command& command : commands) {
      reports_.reports.Answer(host_, command, tick, *report.add_command_results());
    }
  }
  life->uplink().Send(std::move(report));
}

}  // namespace lockstep::faults
