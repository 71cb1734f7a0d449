#include "collector/convert/summary.h"

#include "detector/model/input.h"
#include "detector/verdict/end_reasons.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

// Indexed by ProcessState.
constexpr const char* kProcessStateWords[] = {"unknown", "running", "uninterruptible", "stopped", "zombie", "gone"};

}  // namespace

void FillJob(const JobSummary& summary, wire::Job& job) {
  job.set_state(Name(summary.state));
  job.set_note(summary.note);
  job.set_steps(summary.steps);
  job.set_steps_per_second(summary.steps_per_second);
  job.set_step_seconds_median(summary.step_seconds_median);
  job.set_world_size(summary.world_size);
}

wire::Rank ToProto(const RankSummary& rank) {
  wire::Rank message;
  message.set_rank(rank.rank);
  message.set_host(rank.host);
  message.set_pid(rank.pid);
  message.set_local_rank(rank.local_rank);
  message.set_gpu(rank.gpu);
  message.set_gpu_uuid(rank.gpu_uuid);
  message.set_gpu_pci_address(rank.gpu_pci_address);
  message.set_pod(rank.pod);
  message.set_process_state(rank.finalized ? "finalized" : kProcessStateWords[static_cast<size_t>(rank.process_state)]);
  message.set_end(ShortEndText(rank.end));
  message.set_enqueued(rank.enqueued);
  message.set_finished(rank.finished);
  message.set_lost_records(rank.lost_records);
  message.set_own_seconds_per_step(rank.own_seconds_per_step);
  message.set_wait_seconds_per_step(rank.wait_seconds_per_step);
  message.set_last_seen_wall_ns(rank.last_seen_ns);
  return message;
}

}  // namespace lockstep
