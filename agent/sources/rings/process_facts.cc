#include "agent/sources/rings/process_facts.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "agent/kubelet/pod_table.h"
#include "agent/sources/rings/process_exit.h"
#include "agent/sources/rings/process_stat.h"
#include "agent/sources/rings/ring_snapshot.h"
#include "agent/sources/rings/ring_text.h"
#include "base/clock.h"
#include "base/pci_address.h"

namespace lockstep {
namespace {

struct ProcessStateRow {
  char letter;  // of /proc/<pid>/stat
  wire::ProcessState state;
};
constexpr ProcessStateRow kProcessStates[] = {
    {'R', wire::PROCESS_STATE_RUNNING},         {'S', wire::PROCESS_STATE_RUNNING}, {'I', wire::PROCESS_STATE_RUNNING},
    {'D', wire::PROCESS_STATE_UNINTERRUPTIBLE}, {'T', wire::PROCESS_STATE_STOPPED}, {'t', wire::PROCESS_STATE_STOPPED},
    {'Z', wire::PROCESS_STATE_ZOMBIE},          {'X', wire::PROCESS_STATE_GONE},
};

// By ring::RecorderState; a ring in state kInitializing is not followed.
constexpr wire::RecorderState kRecorderStates[] = {wire::RECORDER_STATE_UNSPECIFIED, wire::RECORDER_STATE_ACTIVE,
                                                   wire::RECORDER_STATE_FINALIZED, wire::RECORDER_STATE_DISABLED};

// By ring::RecorderKind.
constexpr wire::RecorderKind kRecorderKinds[] = {wire::RECORDER_KIND_UNSPECIFIED, wire::RECORDER_KIND_MPI,
                                                 wire::RECORDER_KIND_NCCL_PROFILER, wire::RECORDER_KIND_NCCL_PRELOAD};

// By ExitSource.
constexpr wire::ProcessEnd::Source kExitSources[] = {wire::ProcessEnd::SOURCE_NONE, wire::ProcessEnd::SOURCE_PIDFD,
                                                     wire::ProcessEnd::SOURCE_ZOMBIE,
                                                     wire::ProcessEnd::SOURCE_CONNECTOR};

template <typename T, size_t kSize>
T FromTable(const T (&table)[kSize], size_t index) {
  return index < kSize ? table[index] : table[0];
}

// Whether the name of a job is that of where its processes meet (agent/recorder/job_identity.h): it ends in a port.
bool NamesMeetingPlace(absl::string_view job) {
  const size_t colon = job.rfind(':');
  if (colon == absl::string_view::npos || colon + 1 == job.size()) return false;
  return job.find_first_not_of("0123456789", colon + 1) == absl::string_view::npos;
}

wire::ProcessState ToProcessState(const absl::optional<ProcessStat>& process) {
  if (!process.has_value()) return wire::PROCESS_STATE_GONE;
  for (const ProcessStateRow& row : kProcessStates) {
    if (row.letter == process->state) return row.state;
  }
  return wire::PROCESS_STATE_UNSPECIFIED;
}

int64_t ToCpuNanos(uint64_t ticks) {
  static const double nanos_per_tick = static_cast<double>(kNanosPerSecond) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return static_cast<int64_t>(std::min(static_cast<double>(ticks) * nanos_per_tick, 9e18));
}

// A process that may use one GPU is on that one, if its ring does not name another. The kubelet's answer comes first:
// what it gave the pod may be a part of what the devices are of.
void AppendPod(const FollowedRing& ring, wire::ProcessReport& to) {
  const Pod& pod = ring.pod;
  if (!pod.name.empty()) to.set_pod(absl::StrCat(pod.name_space, "/", pod.name));
  const bool is_told = !to.gpu_uuid().empty() || !to.gpu_pci_address().empty();
  if (is_told) return;
  to.set_gpu_uuid(pod.gpu_uuids.size() == 1 ? pod.gpu_uuids.front() : ring.gpu_uuid);
}

void AppendEnd(const ProcessExit& end, const ReadingTime& time, wire::ProcessEnd& to) {
  to.set_source(FromTable(kExitSources, static_cast<size_t>(end.source)));
  to.set_code(end.code);
  to.set_signal(end.signal);
  to.set_core_dumped(end.core_dumped);
  to.set_age_ns(time.Since(end.at_ns));
  to.set_uncertain_ns(end.uncertain_ns);
}

// What tells one run at a meeting place from the next; other names tell that themselves.
void AppendRun(const ring::RingHeader& header, const FollowedRing& ring, const ReadingTime& time,
               wire::ProcessReport& to) {
  if (!NamesMeetingPlace(ring.job)) return;
  to.set_recorded_ns(time.Since(header.opened_at_ns));
  to.set_launcher_pid(ring.launcher.pid);
  to.set_launcher_start_ticks(ring.launcher.start_ticks);
}

void AppendNcclStatus(const ring::RingHeader& header, const RingSnapshot& snapshot, wire::NcclRecorderStatus& to) {
  to.set_library_version(header.library_version);
  to.set_abi_version(header.abi_version);
  to.set_active_mask(snapshot.active_mask);
  to.set_governor_level(snapshot.nccl.governor_level);
  to.set_callback_ns(snapshot.nccl.callback_ns);
  to.set_clock_error_ns(snapshot.nccl.clock_error_ns);
  to.set_gpu_clock_error_ns(snapshot.nccl.gpu_clock_error_ns);
  to.set_timer_conflicts(snapshot.nccl.timer_conflicts);
  to.set_kernel_events_missing(snapshot.nccl.kernel_events_missing);
  to.set_foreign_masks(snapshot.nccl.foreign_masks);
}

}  // namespace

void AppendProcessFacts(const ring::RingHeader& header, const FollowedRing& ring, const ReadingTime& time,
                        wire::ProcessReport& to) {
  const RingSnapshot& snapshot = ring.snapshot;
  to.set_job(ring.job);
  to.set_rank(header.rank);
  to.set_world_size(header.world_size);
  to.set_local_rank(header.local_rank);
  to.set_pid(ring.host_pid != 0 ? ring.host_pid : header.pid);
  to.set_process_start_ticks(header.process_start_ticks);
  to.set_gpu_index(header.gpu_index);
  to.set_gpu_uuid(RingText(header.gpu_uuid));
  to.set_gpu_pci_address(NormalizePciAddress(RingText(header.gpu_pci_address)));
  AppendPod(ring, to);
  to.set_uid(ring.owner);
  AppendRun(header, ring, time, to);
  to.set_recorder(FromTable(kRecorderKinds, header.recorder_kind));
  to.set_state(ToProcessState(ring.process));
  to.set_recorder_state(FromTable(kRecorderStates, snapshot.state));
  to.set_disabled_reason(snapshot.disabled_reason);
  if (ring.process.has_value()) to.set_cpu_ns(ToCpuNanos(ring.process->cpu_ticks));
  if (ring.end.has_value()) AppendEnd(*ring.end, time, *to.mutable_end());
  to.set_operations_enqueued(snapshot.counters.enqueued);
  to.set_operations_finished(snapshot.counters.finished);
  to.set_operations_lost(snapshot.counters.lost);
  if (to.recorder() == wire::RECORDER_KIND_NCCL_PROFILER) AppendNcclStatus(header, snapshot, *to.mutable_nccl());
}

}  // namespace lockstep
