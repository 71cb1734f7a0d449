#include "tests/faults/simulated_agent.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/source.h"
#include "agent/source_runner.h"
#include "agent/spool/segment_log.h"
#include "agent/spool/spool.h"
#include "base/boot_clock.h"
#include "base/clock.h"
#include "tests/faults/mortal_log.h"
#include "tests/faults/trace.h"

namespace lockstep::faults {
namespace {

constexpr int64_t kSourceDeadlineNanos = kReportIntervalNanos / 2;
constexpr int64_t kOpenWithinNanos = 5 * kNanosPerSecond;

// A stream of a process that is dead.
class NoStream final : public CollectorStream {
 public:
  bool Write(const wire::AgentMessage&) override { return false; }
  bool Read(wire::CollectorMessage&) override { return false; }
  void Cancel() override {}
  absl::Status Finish() override { return absl::UnavailableError("simulated: the agent is dead"); }
};

// Looks at what passes, of whichever agent it is: one brings the reports of those before it, too.
class WatchedStream final : public CollectorStream {
 public:
  WatchedStream(std::unique_ptr<CollectorStream> stream, WireRecords& records)
      : stream_(std::move(stream)), records_(records) {}

  bool Write(const wire::AgentMessage& message) override {
    if (message.has_hello()) record_ = &records_[{message.hello().host(), message.hello().incarnation()}];
    if (message.has_report()) record_->sent.insert(message.report().sequence());
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
    if (sequence <= record_->acknowledged) return;
    record_->acknowledged = sequence;
    record_->told[sequence] = {WorldNanos(), opened_ns_};
  }

  const std::unique_ptr<CollectorStream> stream_;
  const int64_t opened_ns_ = WorldNanos();
  WireRecords& records_;
  WireRecord* record_ = nullptr;  // of who has said hello
};

class WatchedConnector final : public CollectorConnector {
 public:
  WatchedConnector(SimulatedNetwork& network, WireRecords& records) : network_(network), records_(records) {}

  std::unique_ptr<CollectorStream> Connect() override {
    if (is_dead_) return std::make_unique<NoStream>();
    return std::make_unique<WatchedStream>(network_.Connect(), records_);
  }
  void Die() { is_dead_ = true; }

 private:
  SimulatedNetwork& network_;
  WireRecords& records_;
  std::atomic<bool> is_dead_{false};
};

// A driver, in which a thread may hang for longer than its agent lives.
class DriverSource final : public Source {
 public:
  explicit DriverSource(std::shared_ptr<std::atomic<int64_t>> hangs_until_ns)
      : hangs_until_ns_(std::move(hangs_until_ns)) {}

  absl::string_view name() const override { return "driver"; }
  absl::Status Collect(const lockstep::Tick&, wire::AgentReport&) override {
    if (WorldNanos() < *hangs_until_ns_) SleepUntil(*hangs_until_ns_);
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<std::atomic<int64_t>> hangs_until_ns_;
};

}  // namespace

// From a start to a death.
class SimulatedAgent::Life {
 public:
  Life(const SimulatedAgent& agent, const wire::AgentHello& hello, const Random& random)
      : connector_(agent.network_, agent.records_),
        record_(agent.records_[{hello.host(), hello.incarnation()}]),
        runner_(RealClock(), kSourceDeadlineNanos) {
    SegmentLogOptions options;
    options.directory = agent.spool_;
    options.host = hello.host();
    options.boot_id = absl::StrCat("boot ", agent.power_losses_);
    options.incarnation = hello.incarnation();
    options.max_bytes = agent.setup_.spool_bytes;
    auto log =
        std::make_unique<MortalLog>(std::make_unique<SegmentLog>(std::move(options), RealClock(), RealBootClock()),
                                    record_.spooled, agent.setup_.forgets_spool);
    log_ = log.get();
    spool_ = std::make_unique<Spool>(std::move(log), kSpoolSyncNanos, RealClock());
    spool_->WaitOpen(kOpenWithinNanos);  // as agents do: what comes later is found later
    uplink_ = std::make_unique<Uplink>(connector_, hello, OutboxLimits(), RealClock(), random, spool_.get());
    runner_.Add(std::make_unique<DriverSource>(agent.hangs_until_ns_), /*may_hang=*/true);
  }

  Uplink& uplink() { return *uplink_; }
  SourceRunner& runner() { return runner_; }
  void Die() {
    connector_.Die();
    log_->Die();
    record_.died_ns = WorldNanos();
  }

 private:
  WatchedConnector connector_;
  WireRecord& record_;
  SourceRunner runner_;
  MortalLog* log_ = nullptr;  // of spool_
  std::unique_ptr<Spool> spool_;
  std::unique_ptr<Uplink> uplink_;
};

SimulatedAgent::SimulatedAgent(Machine machine, size_t host, SharedReports& reports, SimulatedNetwork& network,
                               WireRecords& records, const std::string& spool, const AgentSetup& setup,
                               const Random& random)
    : machine_(machine),
      host_(host),
      reports_(reports),
      network_(network),
      records_(records),
      spool_(spool),
      setup_(setup),
      disk_(machine, spool, setup.forgets_syncs),
      random_(random),
      thread_([this] {
        MoveTo(machine_);
        Run();
      }) {}

SimulatedAgent::~SimulatedAgent() {
  is_over_ = true;
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
  life_ = std::make_shared<Life>(*this, hello, Random(random_.Next()));
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

void SimulatedAgent::LosePower(Random& random) {
  Kill(/*is_told=*/false);
  disk_.LosePower(random);
  ++power_losses_;
}

void SimulatedAgent::JumpWall(int64_t nanos) {
  wall_ahead_ns_ += nanos;
  SetWallAhead(machine_, wall_ahead_ns_);
}

bool SimulatedAgent::is_alive() const {
  MutexLock lock(mutex_);
  return life_ != nullptr;
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
  for (int32_t tick = 1; !is_over_; ++tick) {
    SleepUntil(tick * kReportIntervalNanos + machine_ * 13 * kNanosPerMilli);
    if (tick <= ticks) Tick(tick);
    if (const std::shared_ptr<Life> life = CurrentLife(); life != nullptr) life->uplink().LeaveIfStalled();
  }
}

std::shared_ptr<SimulatedAgent::Life> SimulatedAgent::CurrentLife() {
  MutexLock lock(mutex_);
  return life_;
}

void SimulatedAgent::Tick(int32_t tick) {
  const std::shared_ptr<Life> life = CurrentLife();
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
  if (setup_.adds != nullptr) setup_.adds(tick, report);
  life->runner().Collect({.monotonic_ns = RealClock().MonotonicNanos()}, report);
  life->uplink().Send(std::move(report));
}

}  // namespace lockstep::faults
