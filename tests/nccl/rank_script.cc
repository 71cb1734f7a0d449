#include "tests/nccl/rank_script.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "tests/nccl/event.h"
#include "tests/nccl/vocabulary.h"

namespace lockstep::nccl {
namespace {

constexpr size_t kLongestBatch = 3;

int64_t Now() { return RealClock().MonotonicNanos(); }

bool Happens(Random& random, int one_in) { return random.Below(static_cast<uint64_t>(one_in)) == 0; }

}  // namespace

PlayedOperation& RankScript::NewOperation() { return operations_.emplace_back(); }

void RankScript::DrawOperation(Operation& operation) {
  Random& random = launch_random_;
  const bool is_p2p = rank_.communicator().ranks > 1 && Happens(random, 4);
  operation.datatype = &kDatatypes[random.Below(std::size(kDatatypes))];
  operation.count = 1 + random.Below(1 << 20);
  operation.channels = static_cast<int32_t>(1 + random.Below(8));
  operation.user_tag = random.Next();
  if (is_p2p) {
    operation.function = Happens(random, 2) ? &kSend : &kRecv;
    const auto others = static_cast<uint64_t>(rank_.communicator().ranks - 1);
    operation.peer = static_cast<int32_t>((rank_.communicator().rank + 1 + random.Below(others)) %
                                          static_cast<uint64_t>(rank_.communicator().ranks));
    return;
  }
  operation.function = &kCollectives[random.Below(std::size(kCollectives))];
  operation.root = static_cast<int32_t>(random.Below(static_cast<uint64_t>(rank_.communicator().ranks)));
  if (!options_.has_awkward_orders) return;
  if (Happens(random, 40)) operation.channels = 256;
  if (Happens(random, 20)) operation.function = &kFutureFunction;
  if (Happens(random, 10) && rank_.caller().version() >= 7) {
    operation.is_symmetric = true;
    operation.algorithm = "RSxLD_AGxST";
    operation.protocol = "";
  }
  if (Happens(random, 10) && rank_.caller().version() >= 6) operation.is_copy_engine = true;
}

void RankScript::Publish(PlayedOperation* operation) {
  MutexLock lock(mutex_);
  waiting_.push_back(operation);
  arrived_.NotifyAll();
}

void RankScript::LaunchGroup() {
  const uint64_t size = Happens(launch_random_, 3) ? 1 + launch_random_.Below(4) : 1;
  std::vector<PlayedOperation*> group;
  for (uint64_t i = 0; i < size; ++i) {
    group.push_back(&NewOperation());
    DrawOperation(group.back()->operation);
  }
  rank_.Launch(group);
  for (PlayedOperation* operation : group) Publish(operation);
}

// Captured and launched once, then launched again with the handles of the capture.
void RankScript::LaunchGraph() {
  PlayedOperation& first = NewOperation();
  DrawOperation(first.operation);
  first.operation.is_copy_engine = false;
  first.operation.is_graph_captured = true;
  rank_.Launch({&first});
  const PlayedOperation captured = first;
  Publish(&first);
  for (uint64_t i = launch_random_.Below(4); i > 0; --i) {
    PlayedOperation& again = NewOperation();
    rank_.Replay(captured, again);
    if (Happens(launch_random_, 2)) rank_.RepeatTaskStop(again);
    Publish(&again);
  }
}

// As NCCL's RAS thread does on the request of a client.
void RankScript::MeddleWithMask() {
  const int32_t mine = __atomic_load_n(mask_, __ATOMIC_RELAXED);
  __atomic_store_n(mask_, static_cast<int32_t>(options_.foreign_mask), __ATOMIC_RELAXED);
  for (int i = 0; i < 3; ++i) LaunchGroup();
  __atomic_store_n(mask_, mine, __ATOMIC_RELAXED);
}

void RankScript::Launch() {
  while (static_cast<int>(operations_.size()) < options_.operations) {
    if (options_.foreign_mask != 0 && Happens(launch_random_, 16)) MeddleWithMask();
    if (options_.has_awkward_orders && Happens(launch_random_, 12)) {
      LaunchGraph();
    } else {
      LaunchGroup();
    }
  }
  // A hang is one of plain collectives: what stays behind is asked for by kind.
  for (int i = 0; options_.ending == Ending::kHang && i < kLeftBehind; ++i) {
    PlayedOperation& operation = NewOperation();
    operation.operation.function = &kAllReduce;
    operation.operation.datatype = &kFloat32;
    operation.operation.count = 4096;
    operation.operation.channels = 4;
    rank_.Launch({&operation});
    if (i == 0) Publish(&operation);
  }
  MutexLock lock(mutex_);
  is_complete_ = true;
  arrived_.NotifyAll();
}

std::vector<PlayedOperation*> RankScript::TakeBatch() {
  MutexLock lock(mutex_);
  while (waiting_.empty() && !is_complete_) arrived_.Wait(mutex_);
  const size_t size = std::min<size_t>(waiting_.size(), 1 + progress_random_.Below(kLongestBatch));
  std::vector<PlayedOperation*> batch(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(size));
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(size));
  return batch;
}

void RankScript::BeginForGood(PlayedOperation& operation) {
  operation.began_ns = Now();
  rank_.BeginKernel(operation, 0, GpuTime(operation.began_ns));
}

void RankScript::Progress() {
  while (true) {
    std::vector<PlayedOperation*> batch = TakeBatch();
    if (batch.empty()) return;
    // The operation that hangs is the last that is published, which shows when the launching thread is done.
    PlayedOperation* stuck = nullptr;
    if (options_.ending == Ending::kHang) {
      MutexLock lock(mutex_);
      while (waiting_.empty() && !is_complete_) arrived_.Wait(mutex_);
      if (waiting_.empty()) stuck = batch.back();
    }
    if (stuck != nullptr) batch.pop_back();
    RunKernels(batch);
    if (stuck != nullptr) BeginForGood(*stuck);
  }
}

// The kernels of one stream run one after the other; what the host hears of them is out of order.
void RankScript::RunKernels(const std::vector<PlayedOperation*>& batch) {
  std::vector<Delivery> deliveries;
  for (PlayedOperation* operation : batch) {
    operation->began_ns = Now();
    if (operation->operation.is_copy_engine) {
      operation->ended_ns = Now();
      rank_.EndCopyEngine(*operation);
      continue;
    }
    PlayProxy(rank_, *operation, progress_random_, waits_);
    if (options_.has_awkward_orders && Happens(progress_random_, 16)) {
      PlayForeignProxy(rank_, *operation, progress_random_);
    }
    operation->has_gpu_times = !options_.has_awkward_orders || !Happens(progress_random_, 50);
    const size_t first = deliveries.size();
    for (int32_t channel = 0; channel < operation->operation.channels; ++channel) {
      deliveries.push_back({operation, channel, channel == 0 ? operation->began_ns : Now(), 0, false});
    }
    for (size_t i = first; i < deliveries.size(); ++i) deliveries[i].end_ns = Now();
    operation->ended_ns = deliveries.back().end_ns;
  }
  Deliver(std::move(deliveries));
}

// On one channel the host hears of one kernel after the other; between channels anything goes.
void RankScript::Deliver(std::vector<Delivery> deliveries) {
  while (!deliveries.empty()) {
    const size_t choice = options_.has_awkward_orders ? progress_random_.Below(deliveries.size()) : 0;
    const auto is_of_channel = [channel = deliveries[choice].channel](const Delivery& d) {
      return d.channel == channel;
    };
    const auto next = std::find_if(deliveries.begin(), deliveries.end(), is_of_channel);
    Delivery& delivery = *next;
    PlayedOperation& operation = *delivery.operation;
    const bool is_lost = !operation.has_gpu_times && Happens(progress_random_, 2);
    if (!delivery.has_begun) {
      rank_.BeginKernel(operation, delivery.channel, is_lost ? 0 : GpuTime(delivery.begin_ns));
      delivery.has_begun = true;
      continue;
    }
    const uint64_t end = is_lost ? 0 : GpuTime(delivery.end_ns);
    rank_.EndKernel(operation, delivery.channel, end);
    if (options_.has_awkward_orders && Happens(progress_random_, 16)) {
      rank_.RepeatKernelEnd(operation, delivery.channel, end);
    }
    deliveries.erase(next);
  }
}

}  // namespace lockstep::nccl
