#include "detector/testing/scouted_job.h"

#include "absl/strings/str_cat.h"
#include "base/random.h"

namespace lockstep {
namespace {

constexpr int64_t kSecond = kNanosPerSecond;
constexpr int64_t kMs = kNanosPerMilli;

}  // namespace

Roster ScoutedJob::MakeRoster(uint64_t operations_per_second) const {
  Roster roster({});
  for (int32_t rank = 0; rank < ranks(); ++rank) {
    RankView view;
    view.rank = rank;
    view.world_size = ranks();
    view.process_start_ticks = 5;
    const int32_t host = roster.TouchHost(absl::StrCat("node-", rank / 4), kSecond);
    roster.Update(host, view, kSecond, kSecond);
    view.operations_finished = operations_per_second;
    roster.Update(host, view, 2 * kSecond, 2 * kSecond);
    const int32_t slot = roster.SlotOfRank(rank);
    const auto join = [&](CommunicatorId id, int32_t size, int32_t place, uint64_t calls) {
      roster.Join(
          slot,
          {.id = id, .size = size, .communicator_rank = place, .enqueued = calls, .started = calls, .finished = calls});
    };
    join(Tensor(rank), 4, rank % 4, 640);
    join(Pipeline(rank), 2, rank / 4 % 2, 0);  // Send and Recv
    join(Data(rank), replicas, rank / 8, 10);
  }
  return roster;
}

std::vector<PulledOperations> ScoutedJob::Scouted(int32_t late, uint64_t seed, int64_t noise_ns) const {
  Random random(seed);
  std::vector<PulledOperations> scouted;
  for (int32_t rank = 0; rank < ranks(); ++rank) {
    PulledOperations& batch = scouted.emplace_back(PulledOperations{rank, 5, Data(rank), {}});
    for (uint64_t step = 1; step <= 10; ++step) {
      const int64_t transfer = (rank % 8 == slow_group ? 25 : 10) * kMs;
      const int64_t wait = (late < 0 || rank / 8 == late ? 0 : 50) * kMs;
      Operation operation;
      operation.kind = OperationKind::kAllReduce;
      operation.sequence = step;
      operation.enqueue_ns = operation.start_ns = static_cast<int64_t>(step) * kSecond;
      operation.end_ns = operation.start_ns + transfer + wait + static_cast<int64_t>(random.Below(noise_ns));
      operation.bytes = 1 << 24;
      operation.quality = TimingQuality::kGpuTimer;
      batch.operations.push_back(operation);
    }
  }
  return scouted;
}

}  // namespace lockstep
