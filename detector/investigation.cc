#include "detector/investigation.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "detector/diagnosis.h"
#include "detector/trace/trace_builder.h"

namespace lockstep {
namespace {

TraceOperation ToTrace(const Operation& from, int32_t communicator) {
  TraceOperation to;
  to.enqueue_ns = from.enqueue_ns;
  to.start_ns = from.start_ns;
  to.end_ns = from.end_ns;
  to.sequence = from.sequence;
  to.bytes = from.bytes;
  to.communicator = communicator;
  to.peer = from.peer;
  to.kind = from.kind;
  to.quality = from.quality;
  return to;
}

bool IsHang(VerdictClass verdict_class) {
  static constexpr VerdictClass kHangs[] = {VerdictClass::kHangNotEntered,     VerdictClass::kHangInCommunication,
                                            VerdictClass::kCollectiveMismatch, VerdictClass::kDeadlock,
                                            VerdictClass::kProcessDead,        VerdictClass::kMachineUnreachable};
  return std::find(std::begin(kHangs), std::end(kHangs), verdict_class) != std::end(kHangs);
}

Trace BuildTrace(const Roster& roster, const std::vector<PulledOperations>& pulled, uint64_t missing) {
  TraceBuilder builder("");
  builder.AddLost(missing);
  std::vector<int32_t> handles;
  for (size_t slot = 0; slot < roster.ranks().size(); ++slot) {
    const RankProcess& process = roster.ranks()[slot];
    TraceRank rank;
    rank.rank = process.rank;
    rank.host = builder.AddHost(roster.HostName(static_cast<int32_t>(slot)));
    rank.gpu = process.gpu;
    rank.pid = process.pid;
    rank.process_state = process.state;
    handles.push_back(builder.AddRank(rank));
  }
  for (const Communicator& communicator : roster.communicators()) {
    const int32_t handle = builder.AddCommunicator(absl::StrCat(communicator.id), communicator.name, communicator.size);
    for (size_t member = 0; member < communicator.members.size(); ++member) {
      const int32_t slot = communicator.members[member].rank_slot;
      if (slot < 0) continue;
      builder.AddMember(handle, static_cast<int32_t>(member), handles[static_cast<size_t>(slot)]);
    }
  }
  for (const PulledOperations& batch : pulled) {
    const int32_t slot = roster.SlotOfRank(batch.rank);
    const bool same_process =
        slot >= 0 && roster.ranks()[static_cast<size_t>(slot)].process_start_ticks == batch.process_start_ticks;
    if (!same_process) continue;
    const int32_t communicator = builder.AddCommunicator(absl::StrCat(batch.communicator), "", 0);
    for (const Operation& operation : batch.operations) {
      builder.Add(handles[static_cast<size_t>(slot)], ToTrace(operation, communicator));
    }
  }
  return builder.Build();
}

}  // namespace

void Investigation::Observe(const HostReport& report) {
  for (const PullAnswer& answer : report.answers) {
    const bool awaited = open_ && answer.request >= first_id_ && awaited_.erase(report.host) > 0;
    if (!awaited) continue;
    missing_ += answer.left_out;
    for (const PulledOperations& batch : answer.pulled) {
      if (operations_ + batch.operations.size() > options_.max_operations) {
        discarded_ += batch.operations.size();
        missing_ += batch.operations.size();
        continue;
      }
      operations_ += batch.operations.size();
      pulled_.push_back(batch);
    }
  }
}

std::vector<PullRequest> Investigation::Advance(const Roster& roster, int64_t watermark_ns, bool wanted,
                                                double step_seconds) {
  if (open_ && (awaited_.empty() || watermark_ns - begun_ns_ >= options_.patience_ns)) {
    Conclude(roster, watermark_ns);
    EndRound(watermark_ns);
  }
  if (!wanted) {
    if (!open_) Clear();
    return {};
  }
  if (open_ || (ended_ns_ != 0 && watermark_ns - ended_ns_ < options_.pause_ns)) return {};
  return Begin(roster, watermark_ns, step_seconds);
}

std::vector<PullRequest> Investigation::Begin(const Roster& roster, int64_t watermark_ns, double step_seconds) {
  std::set<std::string> hosts;
  for (size_t slot = 0; slot < roster.ranks().size(); ++slot) {
    hosts.insert(roster.HostName(static_cast<int32_t>(slot)));
  }
  if (hosts.empty()) return {};
  const auto window_ns = static_cast<int64_t>(std::clamp(options_.steps * step_seconds * kNanosPerSecond,
                                                         static_cast<double>(options_.min_window_ns),
                                                         static_cast<double>(options_.max_window_ns)));
  open_ = true;
  begun_ns_ = watermark_ns;
  first_id_ = next_id_;
  std::vector<PullRequest> requests;
  requests.reserve(hosts.size());
  for (const std::string& host : hosts) {
    requests.push_back({host, next_id_++, window_ns, options_.max_bytes / hosts.size()});
  }
  awaited_ = std::move(hosts);
  return requests;
}

void Investigation::Conclude(const Roster& roster, int64_t watermark_ns) {
  ++rounds_;
  told_.clear();
  if (pulled_.empty()) return found_before_.clear();
  JobEvidence evidence;
  evidence.trace = BuildTrace(roster, pulled_, missing_);
  const JobReport report = Diagnose(evidence, {.min_cost = options_.min_cost});
  std::set<std::string> found;
  for (Verdict verdict : report.verdicts) {
    // Observations and abstentions explain nothing.
    if (IsHang(verdict.verdict_class) || verdict.scope == VerdictScope::kUnknown) continue;
    const std::string key = CauseKey(verdict);
    // Steps and times of a trace that begins somewhere mean nothing to anybody else.
    verdict.first_step = verdict.last_step = -1;
    verdict.first_seen_ns = 0;
    verdict.last_seen_ns = watermark_ns;
    if (found_before_.contains(key)) told_.push_back(std::move(verdict));
    found.insert(key);
  }
  found_before_ = std::move(found);
}

void Investigation::EndRound(int64_t watermark_ns) {
  open_ = false;
  ended_ns_ = watermark_ns;
  awaited_.clear();
  pulled_.clear();
  pulled_.shrink_to_fit();
  operations_ = 0;
  missing_ = 0;
}

void Investigation::Clear() {
  EndRound(0);
  found_before_.clear();
  told_.clear();
}

}  // namespace lockstep
