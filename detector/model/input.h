// What the detector of one job is given: values, in the order in which the collector received them.
//
// Times named *_ns of one host are comparable with each other and with nothing else. Only `received_ns` and the
// watermark share a clock: the collector's. Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_MODEL_INPUT_H_
#define LOCKSTEP_DETECTOR_MODEL_INPUT_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/metric_catalog.h"
#include "detector/model/kernel_event_kind.h"
#include "detector/model/operation_kind.h"
#include "detector/model/process_end.h"
#include "detector/model/ras_answer.h"
#include "detector/model/tuning.h"

namespace lockstep {

// How far start and end can be trusted as the time inside an operation, best first.
enum class TimingQuality : uint8_t { kUnknown, kGpuTimer, kKernelWindow, kProxyEnvelope, kHostCall, kHostEnqueue };

// Whether an operation that began at `start_ns` tells the call that enqueued it from its begin.
inline bool TellsCall(TimingQuality quality, int64_t enqueue_ns, int64_t start_ns) {
  return start_ns > enqueue_ns && quality != TimingQuality::kHostCall && quality != TimingQuality::kHostEnqueue;
}

enum class ProcessState : uint8_t { kUnknown, kRunning, kUninterruptible, kStopped, kZombie, kGone };

// A finished operation of one rank.
struct Operation {
  OperationKind kind = OperationKind::kUnknown;
  Tuning tuning;
  uint64_t sequence = 0;
  int64_t enqueue_ns = 0;  // host clock
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint64_t bytes = 0;
  int32_t peer = -1;
  TimingQuality quality = TimingQuality::kUnknown;
};

// An operation that was enqueued and has not finished.
struct InFlightOperation {
  OperationKind kind = OperationKind::kUnknown;
  Tuning tuning;
  uint64_t sequence = 0;
  bool started = false;
  int64_t age_ns = 0;     // since it was called, when the report was made
  int64_t inside_ns = 0;  // since it began; 0 = it has not, or that is not told
  uint64_t bytes = 0;
  int32_t peer = -1;
  TimingQuality timing_quality = TimingQuality::kUnknown;  // kHostEnqueue: whether it has begun is not known
  uint32_t channels_started = 0;                           // NCCL profiler: channels whose kernel has begun
  uint32_t channels_finished = 0;                          // and ended
};

// The operations in flight beside the oldest, by rising enqueue time.
struct InFlightRest {
  std::vector<InFlightOperation> operations;
  uint64_t left_out = 0;  // newer ones that are not listed
};

// What the network transfers with one peer waited for, summed up since the recorder started; only watched for a time.
struct TransferWaits {
  int32_t peer = -1;  // communicator rank
  bool is_send = false;
  uint64_t steps = 0;  // chunks that are over
  uint64_t bytes = 0;
  // Sending: until the own GPU had filled the buffer; for the peer's credit; on the wire. Receiving: for data from the
  // peer; for the flush to the GPU; until the own GPU had emptied the buffer.
  uint64_t waits_ns[3] = {};
};

// One communicator as one rank sees it.
struct CommunicatorView {
  CommunicatorId id = 0;
  std::string name;
  int32_t size = 0;
  int32_t communicator_rank = -1;
  bool freed = false;
  uint64_t enqueued = 0;  // sequence numbers of collectives, from 1
  uint64_t started = 0;
  uint64_t finished = 0;
  int64_t idle_ns = 0;  // since one of the three last changed, when the report was made
  std::optional<InFlightOperation> oldest_in_flight;
  std::optional<InFlightRest> further_in_flight;  // absent = not told
  std::vector<TransferWaits> transfers;           // while the recorder watches them
  uint32_t stride = 1;                            // only sequences that are multiples of it are in `operations`
  std::vector<Operation> operations;              // finished since the last report, by rising enqueue time
};

// One rank: a recorded process of the job.
struct RankView {
  int32_t rank = -1;
  int32_t world_size = -1;
  int32_t local_rank = -1;
  int32_t pid = 0;
  uint64_t process_start_ticks = 0;
  int32_t gpu = -1;             // of the host, "gpu<index>" in samples and events; -1 = unknown
  std::string gpu_uuid;         // "" = unknown
  std::string gpu_pci_address;  // "" = unknown
  std::string pod;              // of Kubernetes, "namespace/name"; "" = none, or unknown
  ProcessState process_state = ProcessState::kUnknown;
  bool finalized = false;            // the program ended recording in order
  std::optional<ProcessEnd> end;     // of a process that has ended; agents of older releases tell of none
  bool disabled = false;             // the recorder gave up: silence of this rank means nothing
  bool can_watch_transfers = false;  // the recorder adds up TransferWaits when asked
  int64_t cpu_ns = 0;
  uint64_t operations_enqueued = 0;
  uint64_t operations_finished = 0;
  uint64_t operations_lost = 0;
  std::vector<CommunicatorView> communicators;
};

struct MetricSample {
  std::string device;  // "" = the host
  Metric metric = Metric::kUnspecified;
  int64_t host_ns = 0;
  double value = 0;
};

// NVML's result for a GPU that does not answer any more.
inline constexpr int64_t kNvmlGpuIsLost = 15;

struct KernelEvent {
  KernelEventKind kind = KernelEventKind::kUnknown;
  int64_t code = 0;
  std::string device;
  int32_t pid = 0;
  std::string text;
  int64_t host_ns = 0;
};

// A source from which an agent gets nothing: it fails, hangs or is gone.
struct SourceFailure {
  std::string source;  // "nvml"
  bool hangs = false;
  bool worked = false;     // before, in the life of this agent
  int64_t failing_ns = 0;  // so far
  // The parts of the machine that are gone, where the source tells of others: "mlx5_3/1", the PCI address of a GPU.
  std::vector<std::string> missing;
};

// Finished operations of one communicator of one rank, from what the host's agent still held.
struct PulledOperations {
  int32_t rank = -1;
  uint64_t process_start_ticks = 0;
  CommunicatorId communicator = 0;
  std::vector<Operation> operations;  // by rising enqueue time
};

// A wish of the detector: finished operations of one host, in full.
struct PullRequest {
  std::string host;
  uint64_t id = 0;                            // comes back in the answer; counts from 1 in the life of an engine
  int64_t newest_ns = 0;                      // those that finished this long ago or later
  uint64_t max_bytes = 0;                     // of the answer
  std::vector<int32_t> ranks;                 // rising; empty = all
  std::vector<CommunicatorId> communicators;  // rising; empty = all
};

// A wish of the detector: have the recorders of one host add up what transfers wait for, for a while. What they find
// comes as CommunicatorView::transfers of later reports; the answer says only whether anybody could be asked.
struct WatchRequest {
  std::string host;
  uint64_t id = 0;  // as of pulls, but from kFirstWatchId on
  int64_t duration_ns = 0;
  std::string reason;  // one sentence, for people
};
// Half of the ids are of pulls, half of watches.
inline constexpr uint64_t kFirstWatchId = uint64_t{1} << 63;

// A host's answer to a PullRequest or WatchRequest.
struct PullAnswer {
  uint64_t request = 0;
  bool done = false;      // false = the agent refused
  uint64_t left_out = 0;  // operations that were asked for and did not fit
  std::vector<PulledOperations> pulled;
};

// A day, as for reports that wait (kMaxWaitedNanos of collector/convert).
inline constexpr int64_t kMaxEventAgeNs = 86'400'000'000'000;

// What one report of one host says about the job.
struct HostReport {
  // When it would have been received, had its agent not kept it while no collector took it. May fall from one report to
  // the next of another host, unlike `received_ns`.
  int64_t due_ns() const { return received_ns - waited_ns; }

  // When `event` happened, on the clock of `received_ns`: before the report by as much as the host's clock says. Nobody
  // is believed more than kMaxEventAgeNs; an event without a time is as old as its report.
  int64_t HappenedNs(const KernelEvent& event) const {
    const int64_t age_ns = event.host_ns == 0 ? 0 : host_ns - event.host_ns;
    return due_ns() - std::clamp<int64_t>(age_ns, 0, kMaxEventAgeNs);
  }

  std::string host;
  int64_t received_ns = 0;
  int64_t waited_ns = 0;         // in the agent before it was sent; at least 0
  int64_t host_ns = 0;           // monotonic clock of the host when the report was made
  uint64_t dropped_records = 0;  // thrown away by the agent since its last report
  std::vector<RankView> ranks;
  std::vector<MetricSample> samples;
  std::vector<KernelEvent> kernel_events;
  std::vector<SourceFailure> failing_sources;
  std::vector<PullAnswer> answers;
  std::optional<RasStatement> ras;  // this host has asked NCCL's RAS service since its last report, and got an answer
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_INPUT_H_
