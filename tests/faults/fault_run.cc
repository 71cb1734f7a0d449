#include "tests/faults/fault_run.h"

#include <signal.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/uplink/outbox.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "collector/alert/alert_courier.h"
#include "collector/shard.h"
#include "collector/store/rocks_store.h"
#include "collector/store_writer.h"
#include "proto/ingest.pb.h"
#include "proto/telemetry.pb.h"
#include "rocksdb/env.h"
#include "sim/capture/agent_reports.h"
#include "sim/capture/episode_playback.h"
#include "sim/capture/playback.h"
#include "sim/episode.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"
#include "tests/faults/checkers.h"
#include "tests/faults/damage_checkers.h"
#include "tests/faults/fault_world.h"
#include "tests/faults/simulated_receiver.h"
#include "tests/faults/thread_world.h"
#include "tests/faults/trace.h"
#include "tests/faults/trouble.h"

namespace lockstep::faults {
namespace {

constexpr int32_t kGpus = 16;
constexpr int32_t kGpusPerHost = 4;
constexpr int32_t kSteps = 600;
constexpr int32_t kOnsetStep = 120;
constexpr int32_t kFaultSteps = 200;
// A job that hangs stands for so long before somebody ends it.
constexpr int32_t kStandSeconds = 100;
constexpr int64_t kFirstTroubleNanos = 5 * kNanosPerSecond;
// Two seconds of the job.
constexpr size_t kShortQueueItems = 24;
// The job goes on for so long when all troubles are over.
constexpr int64_t kCalmNanos = 45 * kNanosPerSecond;
// From the end of all troubles until everything is at rest: pauses of agents and of retries of alerts, of 60 s at most.
constexpr int64_t kRestWithinNanos = 200 * kNanosPerSecond;

JobSpec MakeJob() {
  JobSpec job = TypicalJob(kGpus, 1);
  job.gpus_per_host = kGpusPerHost;
  job.workload.microbatches = 2;
  job.workload.forward_seconds = 0.030;
  job.schedule.steps = kSteps;
  return job;
}

// What may be wrong with a rank or a host of the job, so much that whoever sees all of it names the host.
struct DrawnFault {
  FaultKind kind;
  int32_t targets;  // from 0; of which one is hit
  double severity;  // of what makes steps longer; all else lasts to the end of the job
};
constexpr DrawnFault kFaults[] = {
    {FaultKind::kComputeSlow, kGpus, 0.6},
    {FaultKind::kClockThrottled, kGpus, 0.6},
    {FaultKind::kHostSlow, kGpus / kGpusPerHost, 3},
    {FaultKind::kNotEntered, kGpus, 0},
    {FaultKind::kGpuStuck, kGpus, 0},
    {FaultKind::kGpuLost, kGpus, 0},      // with an Xid in the kernel log
    {FaultKind::kProcessDead, kGpus, 0},  // by SIGKILL
};

FaultSpec DrawFault(Random& random) {
  const DrawnFault& drawn = kFaults[random.Below(std::size(kFaults))];
  return {.kind = drawn.kind,
          .targets = {static_cast<int32_t>(random.Below(static_cast<uint64_t>(drawn.targets)))},
          .onset_step = kOnsetStep,
          .duration_steps = InfoOf(drawn.kind).hang ? 0 : kFaultSteps,
          .severity = drawn.severity};
}

Playback PlaybackFor(const Episode& episode) {
  Playback playback = PlaybackOf(episode);
  const FaultKind kind = episode.truth.causes.front().kind;
  playback.ends_in_order = kind != FaultKind::kProcessDead;
  if (InfoOf(kind).hang) playback.ticks += kStandSeconds - kTicksAfterEnd;
  return playback;
}

// How a process has ended, as its agent learns it from the kernel. `all_end`: the launcher ends those that are left.
void TellEnds(bool all_end, wire::AgentReport& report) {
  for (wire::ProcessReport& process : *report.mutable_processes()) {
    const bool is_first = process.state() == wire::PROCESS_STATE_GONE;
    if (!is_first && !all_end) continue;
    process.set_state(wire::PROCESS_STATE_GONE);
    process.mutable_end()->set_source(wire::ProcessEnd::SOURCE_PIDFD);
    process.mutable_end()->set_signal(is_first ? SIGKILL : SIGTERM);
  }
}

TrueFault FaultOf(const Episode& episode, int64_t job_ns) {
  const TrueCause& cause = episode.truth.causes.front();
  TrueFault fault = {.host = cause.culprits.front().host, .from_ns = cause.onset_ns, .to_ns = job_ns};
  fault.outlasts_job = cause.kind == FaultKind::kProcessDead;
  if (InfoOf(cause.kind).hang) {
    fault.from_ns = episode.truth.hang_ns;
    return fault;
  }
  fault.to_ns = fault.from_ns;
  for (int32_t step = kOnsetStep; step < kOnsetStep + kFaultSteps; ++step) {
    fault.to_ns += episode.truth.step_ns[static_cast<size_t>(step)];
  }
  return fault;
}

// Of one collector in three the queue before the store is so short that an ill disk soon loses slices.
StoreWriterOptions DrawWriter(Random& random) {
  StoreWriterOptions options;
  if (random.Below(3) == 0) options.max_items = kShortQueueItems;
  return options;
}

void CheckLimits(const FaultWorld::Peaks& peaks, const StoreWriterOptions& writer, size_t agents, Violations& wrong) {
  struct Limit {
    const char* what;
    uint64_t seen;
    uint64_t most;
  };
  const Limit limits[] = {
      {"slices before a shard", peaks.collector.shard_slices, ShardOptions().queue_slices},
      {"entries before the store", peaks.collector.store_items, writer.max_items},
      {"alerts that wait", peaks.collector.alerts_waiting, AlertCourierOptions().max_waiting},
      {"agents that are known", peaks.collector.agents, agents},
      {"bytes in an outbox", peaks.outbox_bytes, OutboxLimits().max_bytes},
  };
  for (const Limit& limit : limits) {
    if (limit.seen > limit.most) wrong.push_back(absl::StrCat("memory: ", limit.what, ": ", limit.seen));
  }
}

// What can be said of a history that is as the disk was given it.
void CheckHonest(const Sightings& seen, HistoryStore& history, const std::vector<wire::Incident>& incidents,
                 Violations& wrong) {
  if (!seen.histories_given_up.empty()) wrong.push_back("history: damaged on an honest disk");
  CheckAsWritten(seen, history, wrong);
  CheckHistory(seen, history, wrong);
  CheckInnocents(seen, incidents, wrong);
  CheckOver(seen, incidents, wrong);
  CheckIncidents(seen, incidents, wrong);
  CheckDeliveries(seen, incidents, wrong);
}

// What a lie takes is the newest; what a damaged byte takes may be anything.
void CheckDamaged(const Sightings& seen, HistoryStore& history, const std::vector<wire::Incident>& incidents,
                  Violations& wrong) {
  CheckAsWritten(seen, history, wrong);
  CheckInnocents(seen, incidents, wrong);
  if (seen.disk_corrupted) return;
  CheckHistory(seen, history, wrong);
  CheckOver(seen, incidents, wrong);
  CheckKept(seen, incidents, wrong);
  CheckTold(seen, wrong);
}

void CheckLeft(const std::string& directory, std::shared_ptr<SimulatedDisk> disk, const Sightings& seen,
               FaultRunResult& result) {
  const bool is_honest = !seen.disk_lied && !seen.disk_corrupted;
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(std::move(disk));
  RocksStoreOptions options;
  options.directory = directory;
  options.env = env.get();
  const auto store = OpenRocksStore(options, RealClock());
  CheckNamed(seen, "opening", store.status(), result.violations);
  if (!store.ok()) return;
  const auto incidents = (*store)->LoadIncidents();
  CheckNamed(seen, "incidents", incidents.status(), result.violations);
  const std::vector<wire::Incident> left = incidents.ok() ? *incidents : std::vector<wire::Incident>();
  result.incidents = left.size();
  for (const wire::Incident& incident : left) {
    Trace(absl::StrCat("incident ", incident.id(), ": ", incident.key()));
    for (const wire::Evidence& evidence : incident.verdict().evidence()) Trace(absl::StrCat("    ", evidence.text()));
    for (const auto& step : incident.transitions())
      Trace(absl::StrCat("    ", step.what(), " ", step.wall_ns() - kFirstWallNanos));
  }
  if (is_honest) {
    CheckHonest(seen, **store, left, result.violations);
  } else {
    CheckDamaged(seen, **store, left, result.violations);
  }
}

bool HasKind(const std::vector<Trouble>& troubles, TroubleKind kind) {
  return std::any_of(troubles.begin(), troubles.end(), [&](const Trouble& trouble) { return trouble.kind == kind; });
}

}  // namespace

FaultRunResult RunFaults(const FaultRunOptions& options) {
  FaultRunResult result;
  Random random(options.seed);
  const Episode episode = Simulate(MakeJob(), {DrawFault(random)}, options.seed);
  AgentReports reports(PlaybackFor(episode));
  const auto hosts = static_cast<int32_t>(reports.hosts());
  const int64_t job_ns = reports.ticks() * kReportIntervalNanos;
  const TrueFault truth = FaultOf(episode, job_ns);
  const std::vector<Trouble> troubles = DrawTroubles(random, hosts, kFirstTroubleNanos, job_ns - kCalmNanos);
  result.troubles = troubles.size();
  Trace(absl::StrCat("seed ", options.seed, ": job of ", job_ns / kNanosPerSecond, " s, ",
                     InfoOf(episode.truth.causes.front().kind).name, " of ", truth.host, " from ",
                     truth.from_ns / kNanosPerMilli, " ms to ", truth.to_ns / kNanosPerMilli, " ms"));
  AgentSetup setup;
  setup.forgets_spool = options.sabotage.forgets_spool;
  setup.forgets_syncs = options.sabotage.forgets_syncs;
  setup.adds = [&](int32_t tick, wire::AgentReport& report) {
    TellEnds(truth.outlasts_job && tick == reports.ticks(), report);
  };
  const Random world_random(random.Next());
  const StoreWriterOptions writer = DrawWriter(random);
  FaultWorld world(reports, options.directory, writer, options.sabotage, setup, world_random);
  world.Run(troubles, job_ns - kCalmNanos);
  if (!world.ComesToRest(kRestWithinNanos)) result.violations.push_back("rest: not everything has come to rest");
  Trace("the end");
  const std::shared_ptr<SimulatedDisk> disk = world.End();
  const Sightings seen{
      .wire = world.wire(),
      .deliveries = Receiver().deliveries(),
      .ledger = world.ledger(),
      .deaths = world.deaths(),
      .histories_given_up = world.histories_given_up(),
      .fault = truth,
      .undisturbed_ns = LongestUndisturbed(troubles, truth.from_ns, truth.to_ns),
      .agents_had_trouble = std::any_of(troubles.begin(), troubles.end(),
                                        [](const Trouble& trouble) { return InfoOf(trouble.kind).hits_agent; }),
      .disk_troubles = world.disk_troubles(),
      .spool_troubles = world.spool_troubles(),
      .disk_lied = HasKind(troubles, TroubleKind::kDiskLies),
      .disk_corrupted = HasKind(troubles, TroubleKind::kDiskCorrupts),
      .clock_jumped = HasKind(troubles, TroubleKind::kClockJump)};
  CheckLeft(options.directory, disk, seen, result);
  CheckSpools(seen, result.violations);
  CheckLimits(world.peaks(), writer, reports.hosts(), result.violations);
  for (const auto& [agent, record] : world.wire()) result.reports += record.sent.size();
  result.deliveries = Receiver().deliveries().size();
  result.switches = Switches();
  result.seconds = static_cast<double>(WorldNanos()) / kNanosPerSecond;
  return result;
}

}  // namespace lockstep::faults
