#include "sim/episode.h"

#include <cstddef>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "sim/chance.h"
#include "sim/counters/episode_counters.h"
#include "sim/fault_choice.h"
#include "sim/layout.h"
#include "sim/recorder.h"
#include "sim/replay.h"
#include "sim/targets.h"
#include "sim/truth.h"

namespace lockstep {
namespace {

constexpr int64_t kXidFellOffBus = 79;

bool MayHitTheWholeJob(FaultKind kind) { return kind == FaultKind::kStorageStall; }

// The faults with a target wherever one is needed.
std::vector<FaultSpec> WithTargets(absl::Span<const FaultSpec> faults, const Layout& layout, uint64_t seed) {
  std::vector<FaultSpec> complete(faults.begin(), faults.end());
  const Chance choice(seed, ChanceUse::kFault);
  for (size_t i = 0; i < complete.size(); ++i) {
    FaultSpec& fault = complete[i];
    if (!fault.targets.empty() || MayHitTheWholeJob(fault.kind)) continue;
    Random random(choice.At(i));
    fault.targets = RandomTargets(InfoOf(fault.kind).target, 1, layout, random);
  }
  return complete;
}

// What the kernel log says about GPUs that were lost.
std::vector<HostEvent> KernelEvents(const JobSpec& job, const Layout& layout, uint64_t seed,
                                    const ReplayResult& replay) {
  std::vector<HostEvent> events;
  for (const InjectedHang& hang : replay.hung_ranks) {
    if (hang.kind != FaultKind::kGpuLost) continue;
    const int32_t host = layout.HostOf(hang.rank);
    KernelEvent event{.kind = KernelEventKind::kXid, .code = kXidFellOffBus};
    event.device = "gpu" + std::to_string(layout.GpuOf(hang.rank));
    event.text = "GPU has fallen off the bus.";
    event.host_ns = ClockOf(job, host, seed).At(replay.hang_ns);
    events.push_back({layout.HostName(host), event});
  }
  return events;
}

}  // namespace

Episode Simulate(const JobSpec& job, absl::Span<const FaultSpec> faults, uint64_t seed) {
  CHECK(Validate(job).ok());
  for (const FaultSpec& fault : faults) CHECK(Validate(fault, job).ok());
  const Layout layout(job);
  const std::vector<FaultSpec> complete = WithTargets(faults, layout, seed);
  RecordTable records;
  const ReplayResult replay = Replay(job, layout, seed, complete, &records);
  Episode episode;
  episode.evidence.job = job.name;
  episode.evidence.trace = RecordTrace(job, layout, seed, replay, std::move(records));
  episode.evidence.events = KernelEvents(job, layout, seed, replay);
  if (job.recording.counters) episode.evidence.metrics = EpisodeCounters(job, layout, seed, complete, replay);
  episode.truth = WorkOutTruth(job, layout, seed, complete, replay);
  return episode;
}

}  // namespace lockstep
