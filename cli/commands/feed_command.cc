#include "cli/commands/feed_command.h"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "cli/collector_client.h"
#include "cli/inputs/input_files.h"
#include "cli/inputs/input_format.h"
#include "cli/inputs/standstill.h"
#include "cli/render/json.h"
#include "cli/render/text_table.h"
#include "daemon/tls/channel_security.h"
#include "detector/engine/diagnosis.h"
#include "detector/verdict/job_report.h"
#include "formats/evidence_builder.h"
#include "nlohmann/json.hpp"
#include "proto/query.pb.h"
#include "sim/capture/agent_reports.h"
#include "sim/capture/playback.h"
#include "sim/capture/recording_playback.h"
#include "sim/feed/capture_feed.h"
#include "sim/feed/feed_result.h"
#include "sim/feed/fleet_feed.h"

namespace lockstep {
namespace {

constexpr uint32_t kMostSpeed = 1000;
constexpr size_t kMostNamedJobs = 5;
constexpr char kEraseLine[] = "\r\x1b[K";

bool IsCapture(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string beginning(kSniffBytes, '\0');
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  beginning.resize(static_cast<size_t>(file.gcount()));
  return SniffFormat(beginning) == InputFormat::kCapture;
}

class FeedCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {
        {"PATH", "files, directories or globs of one job; several are played together", &paths_, /*required=*/true},
        {"--to", "HOST:PORT of the collector", &to_, /*required=*/true},
        {"--speed", "seconds of the recording per second", &speed_},
        {"--job", "what the job is to be called; else as in the recording", &job_},
        {"--host-prefix", "put before the name of every host", &host_prefix_},
        {"--stuck", "the job was standing still when files that do not say so were written, for at least a minute",
         &stuck_},
        {"--format", "of all files: ops-csv, metrics-csv, kineto, flight-recorder, nccl-inspector, capture", &format_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    if (speed_ < 1 || speed_ > kMostSpeed) return absl::InvalidArgumentError("--speed is 1 to 1000");
    std::optional<InputFormat> format;
    if (format_ != "auto") {
      format = InputFormatOf(format_);
      if (!format.has_value()) {
        return absl::InvalidArgumentError(
            absl::StrCat("--format: expected auto, ", InputFormatNames(), ", found '", format_, "'"));
      }
    }
    // Beside other files a capture is evidence like any other; alone it is played report by report.
    const bool verbatim =
        paths_.size() == 1 && format.value_or(InputFormat::kCapture) == InputFormat::kCapture && IsCapture(paths_[0]);
    return verbatim ? PlayCapture(context) : PlayRecording(format, context);
  }

 private:
  absl::StatusOr<ExitCode> PlayRecording(std::optional<InputFormat> format, CommandContext& context) {
    InputFiles inputs = ReadInputFiles(paths_, format, [&](const ReadProgress& now) {
      Show(context, absl::StrCat("reading file ", now.file, " of ", now.files));
    });
    Erase(context);
    for (const UnreadableInput& input : inputs.unreadable) Complain(context, input.path, input.error);
    if (inputs.jobs.empty()) {
      if (!inputs.unreadable.empty()) return ExitCode::kInputUnreadable;
      return absl::DataLossError("no job: the input holds no records and no samples");
    }
    RETURN_IF_ERROR(CheckOneJob(inputs.jobs));
    JobInput& input = inputs.jobs[0];
    for (const std::string& note : input.notes) context.err << "lockstep: " << Printable(note) << "\n";
    if (stuck_) AssumeStandstill(input.evidence.trace);
    const bool stands = Diagnose(input.evidence, {}).state == JobState::kHung;
    ASSIGN_OR_RETURN(Playback playback, PlanRecording(input.evidence, job_, stands));
    std::set<std::string> hosts;
    for (const PlayedHost& host : playback.hosts) hosts.insert(host.name);
    RETURN_IF_ERROR(CheckHostsAreFree(hosts, context));
    const std::string job = playback.job;
    AgentReports reports(std::move(playback));
    ASSIGN_OR_RETURN(const FeedOptions options, Options(context));
    ASSIGN_OR_RETURN(const FeedResult result,
                     FeedReports(reports, Seed(context), options, context.clock, Progress(context)));
    return Conclude(context, job, input.evidence.trace.ranks.size(), result, inputs.unreadable.empty());
  }

  absl::StatusOr<ExitCode> PlayCapture(CommandContext& context) {
    const std::string& path = paths_[0];
    const CaptureContents contents = ScanCapture(path);
    if (!contents.status.ok()) Complain(context, path, std::string(contents.status.message()));
    if (contents.inputs == 0) {
      if (!contents.status.ok()) return ExitCode::kInputUnreadable;
      return absl::DataLossError(absl::StrCat(path, ": the capture holds no reports"));
    }
    RETURN_IF_ERROR(CheckHostsAreFree(contents.hosts, context));
    const std::string job = job_.empty() ? contents.job : job_;
    ASSIGN_OR_RETURN(const FeedOptions options, Options(context));
    ASSIGN_OR_RETURN(const FeedResult result,
                     FeedCapture(path, contents, job, Seed(context), options, context.clock, Progress(context)));
    return Conclude(context, job, contents.ranks, result, contents.status.ok());
  }

  static absl::Status CheckOneJob(const std::vector<JobInput>& jobs) {
    if (jobs.size() == 1) return absl::OkStatus();
    std::vector<std::string> names;
    for (const JobInput& job : jobs) {
      if (names.size() < kMostNamedJobs) names.push_back(absl::StrCat("'", Printable(job.evidence.job), "'"));
    }
    return absl::InvalidArgumentError(absl::StrCat("expected the files of one job, found ", jobs.size(), ": ",
                                                   absl::StrJoin(names, ", "),
                                                   names.size() < jobs.size() ? ", ..." : ""));
  }

  // A collector hears one agent per host, the one that connected last: a played host would silence a real one.
  absl::Status CheckHostsAreFree(const std::set<std::string>& hosts, const CommandContext& context) const {
    RETURN_IF_ERROR(CheckCollectorAddress(to_));
    CollectorClient collector(to_, CollectorClient::kDefaultDeadlineNanos, "--to", context.keys);
    ASSIGN_OR_RETURN(const wire::GetStatusResponse status, collector.GetStatus());
    std::vector<std::string> taken;
    for (const wire::AgentStatus& agent : status.agents()) {
      const bool played =
          absl::StartsWith(agent.host(), host_prefix_) && hosts.contains(agent.host().substr(host_prefix_.size()));
      if (agent.connected() && played) taken.push_back(agent.host());
    }
    if (taken.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("agents of ", taken.size(), " of these hosts report to the collector now, '", Printable(taken[0]),
                     "' among them, and would be cut off: --host-prefix gives the played hosts other names"));
  }

  // Another incarnation of every agent each time, or a collector would take the second playing for a repetition.
  static uint64_t Seed(const CommandContext& context) { return static_cast<uint64_t>(context.clock.WallNanos()); }

  absl::StatusOr<FeedOptions> Options(const CommandContext& context) const {
    FeedOptions options{.address = to_, .host_prefix = host_prefix_, .speed = static_cast<double>(speed_)};
    ASSIGN_OR_RETURN(options.credentials, MakeChannelCredentials(context.keys.security, options.arguments));
    return options;
  }

  static void Show(CommandContext& context, const std::string& text) {
    if (context.progress) context.err << kEraseLine << text << std::flush;
  }
  static void Erase(CommandContext& context) {
    if (context.progress) context.err << kEraseLine << std::flush;
  }
  static void Complain(CommandContext& context, const std::string& path, const std::string& error) {
    context.err << "lockstep: " << Printable(path) << ": " << Printable(error) << "\n";
  }

  static FeedProgress Progress(CommandContext& context) {
    return [&context](int32_t second, int32_t of) { Show(context, absl::StrCat(second, " of ", of, " s")); };
  }

  // What became of it, to people and to scripts. A collector that did not take everything has not seen this recording.
  absl::StatusOr<ExitCode> Conclude(CommandContext& context, const std::string& job, size_t ranks,
                                    const FeedResult& result, bool read_whole) const {
    Erase(context);
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText(Json(job, ranks, result), /*indented=*/true) << "\n";
    } else {
      context.out << Printable(job) << ": " << ranks << " ranks on " << result.hosts << " hosts, " << result.seconds
                  << " s at " << speed_ << "x; " << result.reports << " reports sent, " << result.acknowledged
                  << " stored, " << result.dropped << " dropped; " << result.commands << " commands answered; "
                  << result.late_ticks << " s began late; " << result.streams_ended << " streams ended early\n";
    }
    if (result.streams_ended > 0) {
      return absl::UnavailableError(absl::StrCat(
          "the collector ended ", result.streams_ended, " streams early",
          result.first_error.empty() ? "" : absl::StrCat(", the first with: ", Printable(result.first_error))));
    }
    if (result.dropped > 0) {
      return absl::UnavailableError(
          absl::StrCat("the collector did not take ", result.dropped, " reports in time: a lower --speed may help"));
    }
    if (result.acknowledged < result.reports) {
      return absl::UnavailableError(absl::StrCat("the collector has not said that it stored the last ",
                                                 result.reports - result.acknowledged, " reports"));
    }
    return read_whole ? ExitCode::kOk : ExitCode::kInputUnreadable;
  }

  nlohmann::ordered_json Json(const std::string& job, size_t ranks, const FeedResult& result) const {
    return {{"job", job},
            {"ranks", ranks},
            {"hosts", result.hosts},
            {"seconds", result.seconds},
            {"speed", speed_},
            {"reports", result.reports},
            {"stored", result.acknowledged},
            {"dropped", result.dropped},
            {"commands_answered", result.commands},
            {"late_seconds", result.late_ticks},
            {"streams_ended_early", result.streams_ended}};
  }

  std::vector<std::string> paths_;
  std::string to_;
  uint32_t speed_ = 1;
  std::string job_;
  std::string host_prefix_;
  std::string format_ = "auto";
  bool stuck_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeFeedCommand() { return std::make_unique<FeedCommand>(); }

}  // namespace lockstep
