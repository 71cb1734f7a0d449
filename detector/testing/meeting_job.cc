#include "detector/testing/meeting_job.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "detector/model/input.h"

namespace lockstep {
namespace {

constexpr int64_t kMilli = 1'000'000;

}  // namespace

MeetingWorld AddWorld(int32_t ranks, const std::string& name, TraceBuilder* builder) {
  MeetingWorld world{.communicator = builder->AddCommunicator(name, "", ranks)};
  for (int32_t rank = 0; rank < ranks; ++rank) {
    world.handles.push_back(builder->AddRank({.rank = rank, .host = builder->AddHost(absl::StrCat("h", rank))}));
    builder->AddMember(world.communicator, rank, world.handles.back());
  }
  return world;
}

Trace TraceOf(const MeetingJob& job, absl::FunctionRef<double(int32_t rank, int32_t step)> work_ms) {
  Random random(3);
  TraceBuilder builder("job");
  const MeetingWorld world = AddWorld(job.ranks, "world", &builder);
  int64_t end_ns = 0;
  int64_t begun_before_ns = 0;
  for (int32_t step = 0; step < job.steps; ++step) {
    std::vector<int64_t> begins;
    for (int32_t rank = 0; rank < job.ranks; ++rank) {
      const double noise = 1 + 0.005 * random.Gaussian();
      begins.push_back(end_ns + static_cast<int64_t>(work_ms(rank, step) * noise * static_cast<double>(kMilli)));
    }
    end_ns = *std::max_element(begins.begin(), begins.end()) + 5 * kMilli;
    for (int32_t rank = 0; rank < job.ranks; ++rank) {
      const bool sees_begins = rank != job.blind_rank;
      builder.Add(world.handles[static_cast<size_t>(rank)],
                  {.enqueue_ns = begun_before_ns,
                   .start_ns = sees_begins ? begins[static_cast<size_t>(rank)] : begun_before_ns,
                   .end_ns = end_ns,
                   .sequence = static_cast<uint64_t>(step),
                   .bytes = 1 << 20,
                   .communicator = world.communicator,
                   .kind = OperationKind::kAllReduce,
                   .quality = sees_begins ? TimingQuality::kGpuTimer : TimingQuality::kHostEnqueue});
    }
    begun_before_ns = begins[0];
  }
  return builder.Build();
}

}  // namespace lockstep
