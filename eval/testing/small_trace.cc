#include "eval/testing/small_trace.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/random.h"

namespace lockstep {
namespace {

int64_t Nanos(double milliseconds) { return static_cast<int64_t>(milliseconds * static_cast<double>(kNanosPerMilli)); }

}  // namespace

SmallTrace::SmallTrace(int32_t ranks) : by_rank_(static_cast<size_t>(ranks)) {
  trace_.job = "small";
  for (int32_t rank = 0; rank < ranks; ++rank) {
    trace_.hosts.push_back("node-" + std::to_string(rank));
    TraceRank entry;
    entry.rank = rank;
    entry.host = rank;
    entry.gpu = 0;
    trace_.ranks.push_back(entry);
  }
}

int32_t SmallTrace::AddCommunicator(std::vector<int32_t> members) {
  trace_.communicators.push_back({"comm-" + std::to_string(trace_.communicators.size()), "", std::move(members)});
  return static_cast<int32_t>(trace_.communicators.size()) - 1;
}

void SmallTrace::Add(int32_t rank, int32_t communicator, uint64_t sequence, OperationKind kind, double start_ms,
                     double end_ms, int32_t peer) {
  TraceOperation operation;
  operation.enqueue_ns = operation.start_ns = Nanos(start_ms);
  operation.end_ns = Nanos(end_ms);
  operation.sequence = sequence;
  operation.bytes = 1024;
  operation.communicator = communicator;
  operation.peer = peer;
  operation.kind = kind;
  operation.quality = TimingQuality::kGpuTimer;
  by_rank_[static_cast<size_t>(rank)].push_back(operation);
}

Trace SmallTrace::Build() const {
  Trace trace = trace_;
  for (const std::vector<TraceOperation>& operations : by_rank_) {
    trace.first_operation.push_back(trace.operations.size());
    trace.operations.insert(trace.operations.end(), operations.begin(), operations.end());
  }
  trace.first_operation.push_back(trace.operations.size());
  return trace;
}

Trace DataParallelTrace(const std::vector<double>& own_ms, int32_t steps, double noise, uint64_t seed) {
  Random random(seed);
  SmallTrace job(static_cast<int32_t>(own_ms.size()));
  std::vector<int32_t> members(own_ms.size());
  std::iota(members.begin(), members.end(), 0);
  const int32_t world = job.AddCommunicator(members);
  double now_ms = 0;
  std::vector<double> entry_ms(own_ms.size());
  for (int32_t step = 0; step < steps; ++step) {
    for (size_t rank = 0; rank < own_ms.size(); ++rank) {
      entry_ms[rank] = now_ms + own_ms[rank] * std::max(0.1, 1 + noise * random.Gaussian());
    }
    now_ms = *std::max_element(entry_ms.begin(), entry_ms.end()) + 2;
    for (size_t rank = 0; rank < own_ms.size(); ++rank) {
      job.Add(static_cast<int32_t>(rank), world, static_cast<uint64_t>(step), OperationKind::kAllReduce, entry_ms[rank],
              now_ms);
    }
  }
  return job.Build();
}

}  // namespace lockstep
