#include "detector/testing/stream_job.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;

}  // namespace

StreamJob::StreamJob(size_t ranks, int32_t ranks_of_host, double noise, uint64_t seed)
    : noise_(noise), builder_("job"), random_(seed), now_(ranks, 0) {
  group_ = builder_.AddCommunicator("dp", "", static_cast<int32_t>(ranks));
  for (int32_t rank = 0; rank < static_cast<int32_t>(ranks); ++rank) {
    const int32_t host = builder_.AddHost(absl::StrCat("h", rank / ranks_of_host));
    handles_.push_back(builder_.AddRank({.rank = rank, .host = host, .gpu = rank % ranks_of_host}));
    builder_.AddMember(group_, rank, handles_.back());
  }
}

void StreamJob::Work(double millis, size_t sick, double slowness) {
  for (size_t rank = 0; rank < now_.size(); ++rank) {
    const double scale = (rank == sick ? slowness : 1) * (1 + noise_ * random_.Unit());
    now_[rank] += static_cast<int64_t>(millis * scale * kNanosPerMilli);
  }
}

StreamJob::Moments StreamJob::Call(OperationKind kind, absl::Span<const int64_t> posted_ns, int64_t transfer_ns,
                                   uint64_t bytes, Moments* stream_ns) {
  stream_ns->resize(now_.size());
  Moments begins;
  for (size_t rank = 0; rank < now_.size(); ++rank) begins.push_back(std::max(posted_ns[rank], (*stream_ns)[rank]));
  const int64_t end_ns = *std::max_element(begins.begin(), begins.end()) + transfer_ns;
  for (size_t rank = 0; rank < now_.size(); ++rank) {
    builder_.Add(handles_[rank], {.start_ns = tell_begin_ == nullptr ? begins[rank] : tell_begin_(rank, begins[rank]),
                                  .end_ns = end_ns,
                                  .sequence = sequence_,
                                  .bytes = bytes,
                                  .communicator = group_,
                                  .kind = kind});
  }
  ++sequence_;
  stream_ns->assign(now_.size(), end_ns);
  return *stream_ns;
}

}  // namespace lockstep
