#include "sim/feed/fleet_streams.h"

#include <grpc/support/time.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"

namespace lockstep {
namespace {

constexpr int64_t kLastAckNanos = 5 * kNanosPerSecond;  // that the end of the job waits for acknowledgements
constexpr int64_t kAckPollNanos = 20 * kNanosPerMilli;

void SleepUntil(const Clock& clock, int64_t monotonic_ns) {
  Mutex mutex;
  CondVar never;
  const MutexLock lock(mutex);
  for (int64_t now_ns = clock.MonotonicNanos(); now_ns < monotonic_ns; now_ns = clock.MonotonicNanos()) {
    never.WaitFor(mutex, monotonic_ns - now_ns);
  }
}

}  // namespace

bool Pace::WaitFor(int64_t since_ns, int64_t slack_ns) const {
  if (clock_.MonotonicNanos() > DueNanos(since_ns + slack_ns)) return false;
  SleepUntil(clock_, DueNanos(since_ns));
  return true;
}

absl::Status FleetStreams::Connect(size_t agents) {
  if (!(options_.speed > 0)) return absl::InvalidArgumentError("the speed must be above 0");
  const auto credentials = options_.credentials == nullptr ? grpc::InsecureChannelCredentials() : options_.credentials;
  const size_t most = std::max<size_t>(1, static_cast<size_t>(std::max(1, options_.connections)));
  for (size_t i = 0; i < std::clamp<size_t>(agents, 1, most); ++i) {
    grpc::ChannelArguments arguments = options_.arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // else all channels would be one connection
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    channels_.push_back(grpc::CreateCustomChannel(options_.address, credentials, arguments));
    stubs_.push_back(wire::Ingest::NewStub(channels_.back()));
  }
  const int64_t deadline_ns = clock_.WallNanos() + options_.connect_ns;
  const gpr_timespec deadline = {deadline_ns / kNanosPerSecond, static_cast<int32_t>(deadline_ns % kNanosPerSecond),
                                 GPR_CLOCK_REALTIME};
  if (channels_.front()->WaitForConnected(deadline)) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("no collector answers at ", options_.address));
}

size_t FleetStreams::Open(const wire::AgentHello& hello) {
  wire::AgentHello named = hello;
  named.set_host(absl::StrCat(options_.host_prefix, hello.host()));
  streams_.push_back(std::make_unique<HostStream>(*stubs_[streams_.size() % stubs_.size()], named));
  sent_.push_back(0);
  closed_.push_back(0);
  return streams_.size() - 1;
}

void FleetStreams::Send(size_t stream, wire::AgentReport report) {
  report.set_sequence(++sent_[stream]);
  report.set_wall_ns(clock_.WallNanos());
  streams_[stream]->Send(std::move(report));
}

void FleetStreams::Close(size_t stream) {
  closed_[stream] = 1;
  streams_[stream]->Finish();
}

void FleetStreams::Finish(FeedResult& result) {
  const int64_t deadline_ns = clock_.MonotonicNanos() + kLastAckNanos;
  for (size_t i = 0; i < streams_.size(); ++i) {
    while (!streams_[i]->ended() && streams_[i]->acknowledged() < sent_[i] && clock_.MonotonicNanos() < deadline_ns) {
      SleepUntil(clock_, clock_.MonotonicNanos() + kAckPollNanos);
    }
  }
  for (size_t i = 0; i < streams_.size(); ++i) {
    HostStream& stream = *streams_[i];
    if (stream.ended() && closed_[i] == 0) ++result.streams_ended;
    if (result.first_error.empty()) result.first_error = stream.error();
    const uint64_t repeated = std::min(stream.stored_before(), sent_[i]);
    result.repeated += repeated;
    result.acknowledged += std::max(std::min(stream.acknowledged(), sent_[i]), repeated) - repeated;
    result.dropped += stream.dropped();
    stream.Finish();
    stream.Cancel();
  }
  streams_.clear();
}

}  // namespace lockstep
