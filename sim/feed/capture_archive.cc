#include "sim/feed/capture_archive.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "proto/packed_pull.h"

namespace lockstep {
namespace {

// When the last of them ended; a batch whose columns differ in length ends where the shortest does.
int64_t NewestEnd(const wire::OperationBatch& batch) {
  const int rows = std::min({batch.enqueued_deltas_ns_size(), batch.start_offsets_ns_size(), batch.duration_ns_size()});
  uint64_t enqueue_ns = 0;  // unsigned: nobody has checked these columns, and they may overflow
  int64_t newest_ns = 0;
  for (int row = 0; row < rows; ++row) {
    enqueue_ns += static_cast<uint64_t>(batch.enqueued_deltas_ns(row));
    const uint64_t end_ns =
        enqueue_ns + static_cast<uint64_t>(batch.start_offsets_ns(row)) + static_cast<uint64_t>(batch.duration_ns(row));
    newest_ns = std::max(newest_ns, static_cast<int64_t>(end_ns));
  }
  return newest_ns;
}

template <typename List, typename Value>
bool IsAsked(const List& list, Value value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

void CaptureArchive::Take(const wire::AgentReport& report) {
  now_ns_ = std::max(now_ns_, report.monotonic_ns());
  for (const wire::ProcessReport& process : report.processes()) {
    for (const wire::CommunicatorReport& communicator : process.communicators()) {
      if (!communicator.has_operations()) continue;
      Add(process.rank(), process.process_start_ticks(), communicator.id(), communicator.operations());
    }
  }
  for (const wire::CommandResult& result : report.command_results()) {
    AddAll(result.pulled());
    if (result.packed_pulled().empty()) continue;
    size_t left = kMaxArchiveBytes;
    if (const auto unpacked = UnpackPulled(result.packed_pulled(), left); unpacked.ok()) AddAll(unpacked->pulled());
  }
}

void CaptureArchive::AddAll(const google::protobuf::RepeatedPtrField<wire::PulledOperations>& batches) {
  for (const wire::PulledOperations& pulled : batches) {
    Add(pulled.rank(), pulled.process_start_ticks(), pulled.communicator(), pulled.operations());
  }
}

void CaptureArchive::Add(int32_t rank, uint64_t process_start_ticks, uint64_t communicator,
                         const wire::OperationBatch& batch) {
  wire::PulledOperations pulled;
  pulled.set_rank(rank);
  pulled.set_process_start_ticks(process_start_ticks);
  pulled.set_communicator(communicator);
  *pulled.mutable_operations() = batch;
  held_.push_back(
      {NewestEnd(batch), rank, communicator, static_cast<uint64_t>(batch.kinds_size()), pulled.SerializeAsString()});
  bytes_ += held_.back().encoded.size();
  while (bytes_ > kMaxArchiveBytes) {
    bytes_ -= held_.front().encoded.size();
    held_.pop_front();
  }
}

void CaptureArchive::Answer(const std::string& job, const wire::Command& command, wire::CommandResult& result) const {
  result.set_id(command.id());
  result.set_job(command.job());
  if (!command.has_pull_operations() || command.job() != job) {
    result.set_outcome(wire::CommandResult::OUTCOME_REFUSED);
    result.set_error("a played host can only be asked for operations");
    return;
  }
  result.set_outcome(wire::CommandResult::OUTCOME_DONE);
  const wire::PullOperations& pull = command.pull_operations();
  std::vector<const Held*> asked;
  for (const Held& held : held_) {
    if (held.newest_ns < now_ns_ - pull.newest_ns()) continue;
    if (IsAsked(pull.ranks(), held.rank) && IsAsked(pull.communicators(), held.communicator)) asked.push_back(&held);
  }
  std::stable_sort(asked.begin(), asked.end(),
                   [](const Held* a, const Held* b) { return a->newest_ns > b->newest_ns; });
  const size_t limit = pull.max_bytes() > 0 ? std::min<size_t>(pull.max_bytes(), kMaxAnswerBytes) : kMaxAnswerBytes;
  size_t bytes = 0;
  for (const Held* held : asked) {
    bytes += held->encoded.size();
    if (bytes > limit) {
      result.set_left_out(result.left_out() + held->operations);
    } else {
      CHECK(result.add_pulled()->ParseFromString(held->encoded));
    }
  }
  if (pull.may_pack()) PackPulled(result);
}

}  // namespace lockstep
