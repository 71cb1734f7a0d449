#include "sim/feed/fleet_feed.h"

#include <grpc/support/time.h>
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "proto/ingest.grpc.pb.h"
#include "sim/capture/agent_reports.h"
#include "sim/chance.h"
#include "sim/feed/host_stream.h"

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

class Feed {
 public:
  Feed(const Episode& episode, uint64_t seed, const FeedOptions& options, const Clock& clock)
      : episode_(episode), seed_(seed), options_(options), clock_(clock), reports_(episode) {}

  absl::Status Connect() {
    const auto connections = std::min<size_t>(std::max(1, options_.connections), reports_.hosts());
    for (size_t i = 0; i < connections; ++i) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // else all channels would be one connection
      arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
      channels_.push_back(grpc::CreateCustomChannel(options_.address, grpc::InsecureChannelCredentials(), arguments));
      stubs_.push_back(wire::Ingest::NewStub(channels_.back()));
    }
    const int64_t deadline_ns = clock_.WallNanos() + options_.connect_ns;
    const gpr_timespec deadline = {deadline_ns / kNanosPerSecond, static_cast<int32_t>(deadline_ns % kNanosPerSecond),
                                   GPR_CLOCK_REALTIME};
    if (!channels_.front()->WaitForConnected(deadline)) {
      return absl::UnavailableError(absl::StrCat("no collector answers at ", options_.address));
    }
    const Chance incarnations(seed_, ChanceUse::kClock, 9);
    for (size_t host = 0; host < reports_.hosts(); ++host) {
      streams_.push_back(std::make_unique<HostStream>(*stubs_[host % stubs_.size()],
                                                      episode_.evidence.trace.hosts[host], incarnations.At(host)));
    }
    return absl::OkStatus();
  }

  FeedResult Play(const std::function<void(int32_t, int32_t)>& progress) {
    const int64_t begin_ns = clock_.MonotonicNanos();
    const double tick_ns = static_cast<double>(kReportIntervalNanos) / options_.speed;
    for (int32_t tick = 1; tick <= reports_.ticks(); ++tick) {
      const int64_t due_ns = begin_ns + static_cast<int64_t>(tick * tick_ns);
      if (clock_.MonotonicNanos() > due_ns) ++result_.late_ticks;
      SleepUntil(clock_, due_ns);
      for (size_t host = 0; host < streams_.size(); ++host) SendReport(tick, host);
      progress(tick, reports_.ticks());
    }
    return Finish();
  }

 private:
  void SendReport(int32_t tick, size_t host) {
    wire::AgentReport report;
    if (!reports_.Make(tick, host, report)) return;
    report.set_wall_ns(clock_.WallNanos());
    for (const wire::Command& command : streams_[host]->TakeCommands()) {
      reports_.Answer(host, command, tick, *report.add_command_results());
      ++result_.commands;
    }
    ++result_.reports;
    last_sequence_.resize(streams_.size(), 0);
    last_sequence_[host] = report.sequence();
    streams_[host]->Send(std::move(report));
  }

  FeedResult Finish() {
    const int64_t deadline_ns = clock_.MonotonicNanos() + kLastAckNanos;
    last_sequence_.resize(streams_.size(), 0);
    const auto waiting = [&](size_t host) {
      return !streams_[host]->ended() && streams_[host]->acknowledged() < last_sequence_[host];
    };
    for (size_t host = 0; host < streams_.size(); ++host) {
      while (waiting(host) && clock_.MonotonicNanos() < deadline_ns) {
        SleepUntil(clock_, clock_.MonotonicNanos() + kAckPollNanos);
      }
    }
    for (const std::unique_ptr<HostStream>& stream : streams_) {
      if (stream->ended()) ++result_.streams_ended;
      result_.acknowledged += stream->acknowledged();
      result_.dropped += stream->dropped();
      stream->Finish();
      stream->Cancel();
    }
    streams_.clear();
    return result_;
  }

  const Episode& episode_;
  const uint64_t seed_;
  const FeedOptions& options_;
  const Clock& clock_;
  AgentReports reports_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::vector<std::unique_ptr<wire::Ingest::Stub>> stubs_;
  std::vector<std::unique_ptr<HostStream>> streams_;  // by host
  std::vector<uint64_t> last_sequence_;               // sent, by host
  FeedResult result_;
};

}  // namespace

absl::StatusOr<FeedResult> FeedCollector(const Episode& episode, uint64_t seed, const FeedOptions& options,
                                         const Clock& clock, const std::function<void(int32_t, int32_t)>& progress) {
  if (!(options.speed > 0)) return absl::InvalidArgumentError("the speed must be above 0");
  Feed feed(episode, seed, options, clock);
  if (absl::Status status = feed.Connect(); !status.ok()) return status;
  return feed.Play(progress);
}

}  // namespace lockstep
