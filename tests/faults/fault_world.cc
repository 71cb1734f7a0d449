#include "tests/faults/fault_world.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "tests/faults/simulated_receiver.h"
#include "tests/faults/thread_world.h"
#include "tests/faults/trace.h"

namespace lockstep::faults {
namespace {

constexpr Machine kFirstAgent = 1;
constexpr Machine kFirstLife = 101;
// As systemd does.
constexpr int64_t kRestartNanos = 5 * kNanosPerSecond;
// From when a collector says that its history is damaged.
constexpr int kOperatorComesSeconds = 30;
constexpr int64_t kBusyWithinNanos = 2 * kNanosPerSecond;
constexpr int64_t kLookNanos = 100 * kNanosPerMilli;
constexpr int kQuietSeconds = 8;
// A job is judged, and that is written down, for a while after its end.
constexpr size_t kIdleItems = 8;

Delay DelayOf(const Trouble& trouble) {
  return {Delay().least_ns, Delay().most_ns + static_cast<int64_t>(trouble.size * kNanosPerSecond)};
}

DiskTrouble DiskTroubleOf(const Trouble& trouble) {
  const TroubleKind kind = trouble.kind;
  const bool is_slow = kind == TroubleKind::kDiskSlow || kind == TroubleKind::kSpoolSlow;
  return {.is_full = kind == TroubleKind::kDiskFull || kind == TroubleKind::kSpoolFull,
          .fails_writes = kind == TroubleKind::kDiskFails || kind == TroubleKind::kSpoolFails,
          .fails_syncs = kind == TroubleKind::kSyncFails || kind == TroubleKind::kSpoolSyncFails,
          .slow_ns = is_slow ? static_cast<int64_t>(trouble.size * kNanosPerSecond) : 0,
          .hangs = kind == TroubleKind::kDiskHangs,
          .lies = kind == TroubleKind::kDiskLies};
}

ReceiverMood MoodOf(TroubleKind kind) {
  switch (kind) {
    case TroubleKind::kReceiverSlow:
      return ReceiverMood::kSlow;
    case TroubleKind::kReceiverFails:
      return ReceiverMood::kFails;
    case TroubleKind::kReceiverRefuses:
      return ReceiverMood::kRefuses;
    case TroubleKind::kReceiverLosesAnswer:
      return ReceiverMood::kLosesAnswer;
    case TroubleKind::kReceiverHangs:
      return ReceiverMood::kHangs;
    default:
      return ReceiverMood::kTakes;
  }
}

}  // namespace

FaultWorld::FaultWorld(AgentReports& reports, const std::string& directory, const StoreWriterOptions& writer,
                       const Sabotage& sabotage, const AgentSetup& setup, const Random& random)
    : directory_(directory),
      writer_(writer),
      sabotage_(sabotage),
      random_(random),
      reports_{.mutex = {}, .reports = reports},
      network_(Random(random_.Next())),
      disk_(std::make_shared<SimulatedDisk>()) {
  for (size_t host = 0; host < reports.hosts(); ++host) {
    agents_.push_back(std::make_unique<SimulatedAgent>(kFirstAgent + static_cast<Machine>(host), host, reports_,
                                                       network_, wire_, absl::StrCat(directory, "-spool-", host), setup,
                                                       Random(random_.Next())));
  }
}

FaultWorld::~FaultWorld() {
  for (const auto& agent : agents_) agent->Kill(/*is_told=*/true);
}

void FaultWorld::At(int64_t world_ns, std::function<void()> event) {
  MutexLock lock(mutex_);
  events_.emplace(world_ns, std::move(event));
}

void FaultWorld::Run(absl::Span<const Trouble> troubles, int64_t until_ns) {
  StartCollector();
  for (const auto& agent : agents_) agent->Start();
  for (const Trouble& trouble : troubles) At(trouble.at_ns, [this, trouble] { Cause(trouble); });
  while (WorldNanos() < until_ns) {
    CauseDue();
    NotePeaks();
    SleepFor(kLookNanos);
  }
  Heal();
}

void FaultWorld::CauseDue() {
  while (true) {
    std::function<void()> event;
    {
      MutexLock lock(mutex_);
      if (events_.empty() || events_.begin()->first > WorldNanos()) return;
      event = std::move(events_.extract(events_.begin()).mapped());
    }
    event();
  }
}

void FaultWorld::Heal() {
  Trace("all troubles end");
  std::multimap<int64_t, std::function<void()>> left;
  {
    MutexLock lock(mutex_);
    left.swap(events_);
  }
  for (const auto& [at_ns, event] : left) event();
  CauseDue();
}

void FaultWorld::StartCollector() {
  auto life = std::make_unique<Life>();
  life->machine = kFirstLife + static_cast<Machine>(lives_.size());
  life->disk = disk_;
  SetWallAhead(life->machine, wall_ahead_ns_);
  Trace(absl::StrCat("collector ", life->machine, " starts"));
  lives_.push_back(std::move(life));
  Life& started = *lives_.back();
  started.thread = std::thread([this, &started] {
    MoveTo(started.machine);
    RunLife(started);
  });
}

bool FaultWorld::MayServe(Life& life, CollectorLife& collector) {
  MutexLock lock(mutex_);
  if (life.is_dead) return false;
  life.is_serving = true;
  network_.Serve({&collector.service(), &collector.pool()});
  return true;
}

void FaultWorld::RunLife(Life& life) {
  auto collector = CollectorLife::Start(directory_, writer_, life.disk, Random(static_cast<uint64_t>(life.machine)),
                                        sabotage_, ledger_);
  if (!collector.ok()) {
    Trace(absl::StrCat("collector ", life.machine, " does not start: ", collector.status().ToString()));
    MutexLock lock(mutex_);
    if (std::exchange(life.is_dead, true)) return;
    // Its operator moves the history away, as the error says.
    if (absl::IsDataLoss(collector.status())) {
      histories_given_up_.push_back(WorldNanos());
      disk_ = std::make_shared<SimulatedDisk>();
    }
    events_.emplace(WorldNanos() + kRestartNanos, [this] { StartCollector(); });
    return;
  }
  if (!MayServe(life, **collector)) return;
  Trace(absl::StrCat("collector ", life.machine, " serves"));
  while (true) {
    {
      MutexLock lock(mutex_);
      if (life.is_dead) break;
    }
    SleepFor(kNanosPerSecond);
    (*collector)->Housekeep();
    life.fill = (*collector)->fill();
    life.damaged_seconds = (*collector)->has_damage() ? life.damaged_seconds + 1 : 0;
    if (life.damaged_seconds == kOperatorComesSeconds) {
      At(WorldNanos(), [this, &life] { GiveUpHistory(life); });
    }
  }
  collector->reset();
  Trace(absl::StrCat("collector ", life.machine, " has ended"));
  MutexLock lock(mutex_);
  life.has_ended = true;
  life.ended_ns = WorldNanos();
}

void FaultWorld::EndCollector(bool is_power_loss) {
  Life& life = *lives_.back();
  {
    MutexLock lock(mutex_);
    life.is_dead = true;
    life.is_serving = false;
  }
  network_.StopServing(/*is_told=*/!is_power_loss);
  Receiver().CutOff(life.machine);
  disk_ = is_power_loss ? life.disk->AfterPowerLoss(random_) : life.disk->AfterKill();
  deaths_.push_back({WorldNanos(), life.machine, is_power_loss ? DeathKind::kPowerLoss : DeathKind::kKilled});
  Trace(absl::StrCat("collector ", life.machine, is_power_loss ? " lost its power" : " was killed"));
  // The corpse ends by itself, unseen.
  life.disk->SetTrouble({});
  SetStopped(life.machine, false);
}

void FaultWorld::GiveUpHistory(Life& life) {
  {
    MutexLock lock(mutex_);
    if (life.is_dead) return;
  }
  Trace("the operator gives the damaged history up");
  EndCollector(/*is_power_loss=*/false);
  histories_given_up_.push_back(WorldNanos());
  disk_ = std::make_shared<SimulatedDisk>();
  At(WorldNanos() + kRestartNanos, [this] { StartCollector(); });
}

// In order: what waits is written, as far as the disk takes it, and told, as far as the receiver does.
void FaultWorld::RestartCollector(const Trouble& trouble) {
  Life& life = *lives_.back();
  {
    MutexLock lock(mutex_);
    if (!life.is_serving) return;
    life.is_dead = true;
    life.is_serving = false;
  }
  network_.Serve({});
  At(WorldNanos() + trouble.length_ns, [this, &life] { StartAfter(life); });
}

void FaultWorld::StartAfter(Life& life) {
  {
    MutexLock lock(mutex_);
    if (!life.has_ended) {
      events_.emplace(WorldNanos() + kNanosPerSecond, [this, &life] { StartAfter(life); });
      return;
    }
  }
  deaths_.push_back({life.ended_ns, life.machine, DeathKind::kInOrder});
  disk_ = life.disk->AfterKill();
  StartCollector();
}

void FaultWorld::KillCollector(const Trouble& trouble) {
  Life& life = *lives_.back();
  if (trouble.locks > 0) SleepUntilBusy(life.machine, trouble.locks, kBusyWithinNanos);
  {
    MutexLock lock(mutex_);
    if (life.is_dead) return;  // and about to be started
  }
  EndCollector(trouble.kind == TroubleKind::kPowerLoss);
  At(WorldNanos() + trouble.length_ns, [this] { StartCollector(); });
}

void FaultWorld::Cause(const Trouble& trouble) {
  Trace(ToText(trouble));
  if (InfoOf(trouble.kind).hits_agent) return CauseAtAgent(trouble, *agents_[static_cast<size_t>(trouble.agent)]);
  switch (trouble.kind) {
    case TroubleKind::kKillCollector:
    case TroubleKind::kPowerLoss:
      return KillCollector(trouble);
    case TroubleKind::kRestartCollector:
      return RestartCollector(trouble);
    case TroubleKind::kStopCollector: {
      const Machine machine = lives_.back()->machine;
      if (trouble.locks > 0) SleepUntilBusy(machine, trouble.locks, kBusyWithinNanos);
      if (lives_.back()->is_dead) return;
      SetStopped(machine, true);
      return At(WorldNanos() + trouble.length_ns, [machine] { SetStopped(machine, false); });
    }
    case TroubleKind::kDiskCorrupts:
      disk_troubles_.push_back({WorldNanos(), WorldNanos()});
      disk_->Corrupt(random_);
      return;
    case TroubleKind::kClockJump:
      wall_ahead_ns_ += static_cast<int64_t>(trouble.size * kNanosPerSecond);
      return SetWallAhead(lives_.back()->machine, wall_ahead_ns_);
    case TroubleKind::kDiskFull:
    case TroubleKind::kDiskFails:
    case TroubleKind::kSyncFails:
    case TroubleKind::kDiskSlow:
    case TroubleKind::kDiskHangs:
    case TroubleKind::kDiskLies:
      return SetDisk(trouble);
    default:
      return SetReceiver(trouble);
  }
}

void FaultWorld::SetDisk(const Trouble& trouble) {
  disk_troubles_.push_back({WorldNanos(), WorldNanos() + trouble.length_ns});
  disk_->SetTrouble(DiskTroubleOf(trouble));
  At(WorldNanos() + trouble.length_ns, [this] {
    Trace("the disk is well again");
    disk_->SetTrouble({});
  });
}

void FaultWorld::SetReceiver(const Trouble& trouble) {
  Receiver().SetMood(MoodOf(trouble.kind));
  At(WorldNanos() + trouble.length_ns, [] { Receiver().SetMood(ReceiverMood::kTakes); });
}

void FaultWorld::CauseAtAgent(const Trouble& trouble, SimulatedAgent& agent) {
  const Machine machine = agent.machine();
  const int64_t end_ns = WorldNanos() + trouble.length_ns;
  switch (trouble.kind) {
    case TroubleKind::kKillAgent:
    case TroubleKind::kAgentPowerLoss:
      return EndAgent(trouble, agent);
    case TroubleKind::kAgentClockJump:
      return agent.JumpWall(static_cast<int64_t>(trouble.size * kNanosPerSecond));
    case TroubleKind::kSpoolFull:
    case TroubleKind::kSpoolFails:
    case TroubleKind::kSpoolSyncFails:
    case TroubleKind::kSpoolSlow:
      return SetSpoolDisk(trouble, agent);
    case TroubleKind::kStopAgent:
      // Who starts a dead one runs on its machine for a moment, and would stand still with it for ever.
      if (!agent.is_alive()) return;
      SpoolTroublesOf(trouble).late_syncs.push_back({WorldNanos(), end_ns});
      SetStopped(machine, true);
      return At(end_ns, [machine] { SetStopped(machine, false); });
    case TroubleKind::kDriverHangs:
      return agent.HangUntil(end_ns);
    case TroubleKind::kBreakStream:
      return network_.Break(machine, static_cast<Told>(std::min(2, static_cast<int>(trouble.size))));
    case TroubleKind::kPartition:
      network_.SetPartitioned(machine, true);
      return At(end_ns, [this, machine] { network_.SetPartitioned(machine, false); });
    default:
      network_.SetDelay(machine, DelayOf(trouble));
      return At(end_ns, [this, machine] { network_.SetDelay(machine, Delay()); });
  }
}

void FaultWorld::EndAgent(const Trouble& trouble, SimulatedAgent& agent) {
  const int64_t end_ns = WorldNanos() + trouble.length_ns;
  if (trouble.locks > 0) SleepUntilBusy(agent.machine(), trouble.locks, kBusyWithinNanos);
  if (!agent.is_alive()) return;
  SetStopped(agent.machine(), false);
  if (trouble.kind == TroubleKind::kAgentPowerLoss) {
    agent.LosePower(random_);
    SpoolTroublesOf(trouble).power_losses.push_back(WorldNanos());
  } else {
    agent.Kill(/*is_told=*/random_.Below(2) == 0);
  }
  At(end_ns, [&agent] { agent.Start(); });
}

void FaultWorld::SetSpoolDisk(const Trouble& trouble, SimulatedAgent& agent) {
  SpoolTroublesOf(trouble).late_syncs.push_back({WorldNanos(), WorldNanos() + trouble.length_ns});
  agent.SetDisk(DiskTroubleOf(trouble));
  At(WorldNanos() + trouble.length_ns, [&agent] { agent.SetDisk({}); });
}

SpoolTroubles& FaultWorld::SpoolTroublesOf(const Trouble& trouble) {
  MutexLock lock(reports_.mutex);
  return spool_troubles_[reports_.reports.playback().hosts[static_cast<size_t>(trouble.agent)].name];
}

void FaultWorld::NotePeaks() {
  const QueueFill& fill = lives_.back()->fill;
  peaks_.collector.shard_slices = std::max(peaks_.collector.shard_slices, fill.shard_slices);
  peaks_.collector.store_items = std::max(peaks_.collector.store_items, fill.store_items);
  peaks_.collector.alerts_waiting = std::max(peaks_.collector.alerts_waiting, fill.alerts_waiting);
  peaks_.collector.agents = std::max(peaks_.collector.agents, fill.agents);
  for (const auto& agent : agents_)
    peaks_.outbox_bytes = std::max(peaks_.outbox_bytes, agent->statistics().outbox_bytes);
}

bool FaultWorld::IsAtRest() {
  NotePeaks();
  CauseDue();  // starts of the collector that are still to come
  const Life& life = *lives_.back();
  const uint64_t messages = network_.messages();
  const bool has_moved = std::exchange(messages_before_, messages) != messages;
  const bool has_work = !life.is_serving || life.fill.store_items > kIdleItems || life.fill.alerts_waiting > 0 ||
                        std::any_of(agents_.begin(), agents_.end(),
                                    [](const auto& agent) { return agent->statistics().outbox_reports > 0; });
  quiet_seconds_ = has_moved || has_work ? 0 : quiet_seconds_ + 1;
  return quiet_seconds_ >= kQuietSeconds;
}

bool FaultWorld::ComesToRest(int64_t within_ns) {
  const int64_t until_ns = WorldNanos() + within_ns;
  while (WorldNanos() < until_ns) {
    SleepFor(kNanosPerSecond);
    if (IsAtRest()) return true;
  }
  return false;
}

std::shared_ptr<SimulatedDisk> FaultWorld::End() {
  EndCollector(/*is_power_loss=*/false);
  for (const auto& life : lives_) life->thread.join();
  return disk_;
}

}  // namespace lockstep::faults
