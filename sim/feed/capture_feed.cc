#include "sim/feed/capture_feed.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/status_macros.h"
#include "formats/capture_file.h"
#include "proto/capture.pb.h"
#include "proto/ingest.pb.h"
#include "sim/chance.h"
#include "sim/feed/capture_archive.h"
#include "sim/feed/fleet_streams.h"

namespace lockstep {
namespace {

// Reports of many agents lie microseconds apart: a second that begins later than by this is late.
constexpr int64_t kSlackNanos = kNanosPerSecond / 2;

using AgentKey = std::pair<std::string, uint64_t>;  // host, recorded incarnation

class CaptureFeed {
 public:
  CaptureFeed(const CaptureContents& contents, const std::string& job, uint64_t seed, const FeedOptions& options,
              const Clock& clock, const FeedProgress& progress)
      : contents_(contents),
        job_(job),
        incarnations_(seed, ChanceUse::kClock, 9),
        streams_(options, clock),
        progress_(progress) {}

  absl::Status Connect() { return streams_.Connect(contents_.agents); }

  // The job begins now.
  void Begin(const Clock& clock, double speed) { pace_.emplace(clock, speed); }

  void Play(const wire::CaptureInput& input) {
    const int64_t since_ns = std::max<int64_t>(0, input.received_wall_ns() - contents_.first_wall_ns);
    const bool in_time = pace_->WaitFor(since_ns, kSlackNanos);
    const auto second = static_cast<int32_t>(since_ns / kNanosPerSecond);
    if (second > second_) {
      if (!in_time) ++result_.late_ticks;
      second_ = second;
      progress_(second, Seconds());
    }
    Agent& agent = AgentOf(input);
    wire::AgentReport report = input.report();
    report.clear_command_results();
    for (wire::ProcessReport& process : *report.mutable_processes()) process.set_job(job_);
    agent.archive.Take(input.report());
    for (const wire::Command& command : streams_.TakeCommands(agent.stream)) {
      agent.archive.Answer(job_, command, *report.add_command_results());
      ++result_.commands;
    }
    ++result_.reports;
    streams_.Send(agent.stream, std::move(report));
  }

  FeedResult Finish() {
    streams_.Finish(result_);
    result_.hosts = newest_.size();
    result_.seconds = static_cast<uint64_t>(Seconds());
    return result_;
  }

 private:
  struct Agent {
    size_t stream = 0;
    CaptureArchive archive;
  };

  int32_t Seconds() const {
    return static_cast<int32_t>((contents_.last_wall_ns - contents_.first_wall_ns) / kNanosPerSecond) + 1;
  }

  Agent& AgentOf(const wire::CaptureInput& input) {
    const AgentKey key = {input.host(), input.incarnation()};
    const auto [known, added] = agents_.try_emplace(key);
    if (!added) return known->second;
    wire::AgentHello hello;
    hello.set_host(input.host());
    hello.set_incarnation(incarnations_.At(agents_.size()));
    hello.set_version("played");
    hello.set_protocol_version(1);
    *hello.mutable_places() = input.places();
    known->second.stream = streams_.Open(hello);
    // An agent that was started again follows the one before it.
    const auto [before, first] = newest_.try_emplace(input.host(), known->second.stream);
    if (!first) streams_.Close(std::exchange(before->second, known->second.stream));
    return known->second;
  }

  const CaptureContents& contents_;
  const std::string& job_;
  const Chance incarnations_;
  FleetStreams streams_;
  std::optional<Pace> pace_;
  const FeedProgress& progress_;
  std::map<AgentKey, Agent> agents_;
  std::map<std::string, size_t> newest_;  // stream of a host's newest agent
  int32_t second_ = -1;
  FeedResult result_;
};

}  // namespace

CaptureContents ScanCapture(const std::string& path) {
  CaptureContents contents;
  std::set<AgentKey> agents;
  std::set<int32_t> ranks;
  contents.status = ReadCaptureFile(path, [&](const wire::CaptureEntry& entry) {
    if (!entry.has_input()) return absl::OkStatus();
    const wire::CaptureInput& input = entry.input();
    if (contents.inputs++ == 0) {
      contents.job = input.job();
      contents.first_wall_ns = contents.last_wall_ns = input.received_wall_ns();
    }
    contents.first_wall_ns = std::min(contents.first_wall_ns, input.received_wall_ns());
    contents.last_wall_ns = std::max(contents.last_wall_ns, input.received_wall_ns());
    agents.emplace(input.host(), input.incarnation());
    contents.hosts.insert(input.host());
    for (const wire::ProcessReport& process : input.report().processes()) ranks.insert(process.rank());
    return absl::OkStatus();
  });
  contents.ranks = ranks.size();
  contents.agents = agents.size();
  return contents;
}

absl::StatusOr<FeedResult> FeedCapture(const std::string& path, const CaptureContents& contents, const std::string& job,
                                       uint64_t seed, const FeedOptions& options, const Clock& clock,
                                       const FeedProgress& progress) {
  CaptureFeed feed(contents, job, seed, options, clock, progress);
  RETURN_IF_ERROR(feed.Connect());
  feed.Begin(clock, options.speed);
  const absl::Status read = ReadCaptureFile(path, [&](const wire::CaptureEntry& entry) {
    if (entry.has_input()) feed.Play(entry.input());
    return absl::OkStatus();
  });
  if (contents.status.ok()) RETURN_IF_ERROR(read);
  return feed.Finish();
}

}  // namespace lockstep
