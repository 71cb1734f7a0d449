#include "sim/capture/simulated_capture.h"

#include <memory>

#include "base/status_macros.h"
#include "formats/capture_file.h"
#include "sim/capture/agent_reports.h"
#include "sim/capture/episode_playback.h"
#include "sim/capture/playback.h"
#include "sim/chance.h"

namespace lockstep {
namespace {

constexpr int64_t kFirstWallNanos = 1'700'000'000'000'000'000;  // 2023-11-14T22:13:20Z, as good as any
constexpr int64_t kNanosBetweenHosts = 1'000;

}  // namespace

absl::Status VisitCaptureEntries(const Episode& episode, uint64_t seed,
                                 const std::function<absl::Status(const wire::CaptureEntry&)>& visit) {
  const std::string& job = episode.evidence.job;
  AgentReports reports(PlaybackOf(episode));
  const Chance incarnations(seed, ChanceUse::kClock, 9);
  wire::CaptureEntry first;
  first.mutable_reset()->set_job(job);
  first.mutable_reset()->set_wall_ns(kFirstWallNanos);
  first.mutable_reset()->set_why("the simulated job begins");
  RETURN_IF_ERROR(visit(first));
  for (int32_t tick = 1; tick <= reports.ticks(); ++tick) {
    const int64_t tick_wall_ns = kFirstWallNanos + tick * kReportIntervalNanos;
    for (size_t host = 0; host < reports.hosts(); ++host) {
      wire::CaptureEntry entry;
      wire::CaptureInput& input = *entry.mutable_input();
      if (!reports.Make(tick, host, *input.mutable_report())) continue;
      input.set_job(job);
      input.set_host(episode.evidence.trace.hosts[host]);
      input.set_incarnation(incarnations.At(host));
      input.set_received_wall_ns(tick_wall_ns + static_cast<int64_t>(host) * kNanosBetweenHosts);
      input.mutable_report()->set_wall_ns(tick_wall_ns);
      RETURN_IF_ERROR(visit(entry));
    }
    wire::CaptureEntry watermark;
    watermark.mutable_watermark()->set_job(job);
    watermark.mutable_watermark()->set_wall_ns(tick_wall_ns +
                                               static_cast<int64_t>(reports.hosts()) * kNanosBetweenHosts);
    RETURN_IF_ERROR(visit(watermark));
  }
  return absl::OkStatus();
}

absl::Status WriteSimulatedCapture(const Episode& episode, uint64_t seed, const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<CaptureFileWriter> writer, CaptureFileWriter::Create(path));
  RETURN_IF_ERROR(
      VisitCaptureEntries(episode, seed, [&](const wire::CaptureEntry& entry) { return writer->Append(entry); }));
  return writer->Close();
}

}  // namespace lockstep
