#include "collector/convert/summary.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "detector/model/input.h"
#include "detector/verdict/end_reasons.h"
#include "detector/verdict/remedy.h"
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

void FillLedger(const SeenLedger& seen, wire::Job& job) {
  const TimeLedger& ledger = seen.ledger;
  if (ledger.empty()) return;
  wire::TimeLedger& message = *job.mutable_ledger();
  message.set_reference_seconds(ledger.reference_seconds);
  message.set_measured_seconds(ledger.measured_seconds);
  message.set_unexplained_seconds(ledger.unexplained_seconds);
  message.set_error_seconds(ledger.error_seconds);
  message.set_seen_wall_ns(seen.seen_ns);
  double rest = 0;
  for (size_t i = 0; i < ledger.lines.size(); ++i) {
    if (i >= kMaxLedgerLines) {
      rest += ledger.lines[i].seconds;
      continue;
    }
    wire::LedgerLine& line = *message.add_lines();
    line.set_finding(ledger.lines[i].finding);
    line.set_seconds(ledger.lines[i].seconds);
  }
  if (ledger.lines.size() > kMaxLedgerLines) {
    wire::LedgerLine& line = *message.add_lines();
    line.set_finding(absl::StrCat(ledger.lines.size() - kMaxLedgerLines, " further findings"));
    line.set_seconds(rest);
  }
  for (const Remedy& remedy : seen.remedies) {
    wire::Remedy& to = *message.add_remedies();
    to.set_action(ActionText(remedy));
    to.set_finding(remedy.finding);
    for (const std::string& host : HostsOf(remedy)) {
      if (to.hosts_size() < kMaxRemedyHosts) to.add_hosts(host);
    }
    to.set_advice(Name(remedy.advice));
    to.set_alone_seconds(remedy.alone_seconds);
    to.set_together_seconds(remedy.together_seconds);
    to.set_replayed(remedy.replayed);
  }
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
  message.set_duty(rank.duty + 1);
  return message;
}

}  // namespace lockstep
