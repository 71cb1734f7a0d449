#include "sim/feed/fleet_feed.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "proto/ingest.pb.h"
#include "sim/capture/episode_playback.h"
#include "sim/capture/playback.h"
#include "sim/chance.h"
#include "sim/feed/fleet_streams.h"

namespace lockstep {

absl::StatusOr<FeedResult> FeedReports(AgentReports& reports, uint64_t seed, const FeedOptions& options,
                                       const Clock& clock, const FeedProgress& progress) {
  FleetStreams streams(options, clock);
  RETURN_IF_ERROR(streams.Connect(reports.hosts()));
  const Chance incarnations(seed, ChanceUse::kClock, 9);
  for (size_t host = 0; host < reports.hosts(); ++host) streams.Open(reports.Hello(host, incarnations.At(host)));
  FeedResult result;
  result.hosts = reports.hosts();
  result.seconds = static_cast<uint64_t>(reports.ticks());
  const Pace pace(clock, options.speed);
  for (int32_t tick = 1; tick <= reports.ticks(); ++tick) {
    if (!pace.WaitFor(tick * kReportIntervalNanos)) ++result.late_ticks;
    for (size_t host = 0; host < reports.hosts(); ++host) {
      wire::AgentReport report;
      if (!reports.Make(tick, host, report)) continue;
      for (const wire::Command& command : streams.TakeCommands(host)) {
        reports.Answer(host, command, tick, *report.add_command_results());
        ++result.commands;
      }
      ++result.reports;
      streams.Send(host, std::move(report));
    }
    progress(tick, reports.ticks());
  }
  streams.Finish(result);
  return result;
}

absl::StatusOr<FeedResult> FeedCollector(const Episode& episode, uint64_t seed, const FeedOptions& options,
                                         const Clock& clock, const FeedProgress& progress) {
  AgentReports reports(PlaybackOf(episode));
  return FeedReports(reports, seed, options, clock, progress);
}

}  // namespace lockstep
