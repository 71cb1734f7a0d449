#include "cli/commands/sim_command.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "cli/changed_arguments.h"
#include "cli/commands/sim_faults.h"
#include "cli/commands/sim_second.h"
#include "cli/render/json.h"
#include "daemon/tls/channel_security.h"
#include "detector/model/trace.h"
#include "detector/verdict/verdict.h"
#include "formats/file_writer.h"
#include "formats/metrics_csv_writer.h"
#include "formats/ops_csv_writer.h"
#include "nlohmann/json.hpp"
#include "sim/capture/simulated_capture.h"
#include "sim/episode.h"
#include "sim/fault_spec.h"
#include "sim/fault_text.h"
#include "sim/feed/feed_result.h"
#include "sim/feed/fleet_feed.h"
#include "sim/job_spec.h"
#include "sim/truth_json.h"

namespace lockstep {
namespace {

constexpr uint32_t kMostSpeed = 1000;

absl::Status WriteWhole(const std::string& path, const std::string& text) {
  ASSIGN_OR_RETURN(const std::unique_ptr<FileWriter> file, FileWriter::Create(path));
  RETURN_IF_ERROR(file->Append(text));
  return file->Close();
}

class SimCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {
        {"DIRECTORY", "where the files go; it must exist", &directory_},
        {"--list-faults", "what can be made to go wrong, and nothing else", &list_},
        {"--faults", "NAME[:TARGET+TARGET][#COUNT][@STEP][*SEVERITY][~RAMP][/DURATION], with commas between", &faults_},
        {"--gpus", "size of the job", &gpus_},
        {"--dimensions", "1 data, 2 + tensor, 3 + pipeline, 4 + expert, 5 + context, 6 + sequence", &dimensions_},
        {"--interleave", "virtual stages per pipeline stage; 1 = plain 1F1B", &interleave_},
        {"--steps", "training steps; 0 = as many as suit the size", &steps_},
        {"--seed", "equal seeds give equal bytes, and equal agents with --feed", &seed_},
        {"--job", "what the job is called", &job_},
        {"--lost", "share of the records that get lost, 0 to 1", &lost_},
        {"--read-after", "seconds after the last record at which the recorders were read (taken_ns); 0 = not said",
         &read_after_},
        {"--compress", "none, gz or zst: for ops.csv and metrics.csv", &compress_},
        {"--capture", "write capture.lockcap as well: what a collector would have received", &capture_},
        {"--feed", "HOST:PORT of a collector: play the job to it as one agent per host", &feed_},
        {"--speed", "seconds of the job per second, with --feed", &speed_},
        {"--metrics", "simulate counters as well and write metrics.csv", &metrics_},
        {"--no-ops", "do not write ops.csv", &no_ops_},
        {"--kind", "play an episode of this kind in the second simulator instead, which draws all but its --world",
         &kind_},
        {"--world", "with --kind: the seed of its world", &world_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    if (list_) return ListSimulatedFaults(context);
    RETURN_IF_ERROR(CheckWhoseArguments());
    if (!kind_.empty()) {
      RETURN_IF_ERROR(CheckCompression());
      RETURN_IF_ERROR(
          WriteSecondSimulation(kind_, world_, directory_, compress_ == "none" ? "" : "." + compress_, context));
      return ExitCode::kOk;
    }
    if (directory_.empty() && feed_.empty()) return absl::InvalidArgumentError("DIRECTORY or --feed is missing");
    if (speed_ < 1 || speed_ > kMostSpeed) return absl::InvalidArgumentError("--speed is 1 to 1000");
    ASSIGN_OR_RETURN(const JobSpec job, ReadJob());
    ASSIGN_OR_RETURN(const std::vector<FaultSpec> faults, ParseFaults(faults_, job, seed_));
    RETURN_IF_ERROR(CheckCompression());
    Episode episode = Simulate(job, faults, seed_);
    if (read_after_ > 0) SayWhenRead(episode);
    if (!directory_.empty()) RETURN_IF_ERROR(WriteFiles(job, episode));
    Report(episode, context);
    if (!feed_.empty()) RETURN_IF_ERROR(PlayToCollector(episode, context));
    return ExitCode::kOk;
  }

 private:
  // The second simulator draws all but its world: what was asked of the first would be ignored.
  absl::Status CheckWhoseArguments() {
    const std::set<std::string> of_second = {"DIRECTORY", "--kind", "--world", "--compress"};
    SimCommand fresh;
    for (const std::string& name : ChangedArguments(*this, fresh)) {
      if (kind_.empty() && name == "--world") return absl::InvalidArgumentError("--world goes with --kind");
      if (!kind_.empty() && !of_second.contains(name)) {
        return absl::InvalidArgumentError(
            absl::StrCat("--kind draws its own job and takes no ", name, ", only --world and --compress"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckCompression() const {
    if (compress_ == "none" || compress_ == "gz" || compress_ == "zst") return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("--compress is none, gz or zst, not '", compress_, "'"));
  }

  absl::StatusOr<JobSpec> ReadJob() const {
    const uint32_t most = kMaxSimulatedGpus;
    if (gpus_ < 8 || gpus_ > most || gpus_ % 8 != 0) {
      return absl::InvalidArgumentError(absl::StrCat("--gpus is a multiple of 8 from 8 to ", most));
    }
    if (dimensions_ < 1 || dimensions_ > 6) return absl::InvalidArgumentError("--dimensions is 1 to 6");
    JobSpec job = TypicalJob(static_cast<int32_t>(gpus_), static_cast<int32_t>(dimensions_));
    job.name = job_;
    if (interleave_ < 1 || interleave_ > 8) return absl::InvalidArgumentError("--interleave is 1 to 8");
    job.parallelism.virtual_stages = static_cast<int32_t>(interleave_);
    job.recording.counters = metrics_;
    if (steps_ > 0) job.schedule.steps = static_cast<int32_t>(steps_);
    if (!absl::SimpleAtod(lost_, &job.recording.lost_share)) {
      return absl::InvalidArgumentError(absl::StrCat("--lost is a number, not '", lost_, "'"));
    }
    RETURN_IF_ERROR(Validate(job));
    return job;
  }

  // Whoever reads the recorders finds every machine that still answers.
  void SayWhenRead(Episode& episode) const {
    Trace& trace = episode.evidence.trace;
    int64_t last_ns = 0;
    for (const TraceOperation& op : trace.operations) last_ns = std::max({last_ns, op.enqueue_ns, op.end_ns});
    std::set<std::string> unreachable;
    for (const TrueCause& cause : episode.truth.causes) {
      if (cause.kind != FaultKind::kMachineUnreachable) continue;
      for (const Culprit& culprit : cause.culprits) unreachable.insert(culprit.host);
    }
    for (TraceRank& rank : trace.ranks) {
      if (unreachable.contains(trace.hosts[static_cast<size_t>(rank.host)])) continue;
      rank.last_seen_ns = last_ns + static_cast<int64_t>(read_after_) * kNanosPerSecond;
    }
  }

  std::string PathOf(absl::string_view name, bool compressed) const {
    const bool plain = !compressed || compress_ == "none";
    return absl::StrCat(directory_, "/", name, plain ? "" : absl::StrCat(".", compress_));
  }

  absl::Status WriteFiles(const JobSpec& job, const Episode& episode) const {
    if (!no_ops_) RETURN_IF_ERROR(WriteOpsCsvFile(episode.evidence.trace, PathOf("ops.csv", true)));
    if (!episode.evidence.metrics.series.empty()) {
      ASSIGN_OR_RETURN(const std::unique_ptr<FileWriter> file, FileWriter::Create(PathOf("metrics.csv", true)));
      RETURN_IF_ERROR(WriteMetricsCsv(episode.evidence.metrics, *file));
      RETURN_IF_ERROR(file->Close());
    }
    if (capture_) RETURN_IF_ERROR(WriteSimulatedCapture(episode, seed_, PathOf("capture.lockcap", false)));
    return WriteWhole(PathOf("truth.json", false), TruthJson(job, seed_, episode.truth));
  }

  absl::Status PlayToCollector(const Episode& episode, CommandContext& context) const {
    FeedOptions options{.address = feed_, .speed = static_cast<double>(speed_)};
    ASSIGN_OR_RETURN(options.credentials, MakeChannelCredentials(context.keys.security, options.arguments));
    const auto progress = [&](int32_t tick, int32_t ticks) {
      if (context.progress) context.err << "\r" << tick << " of " << ticks << " s" << std::flush;
    };
    ASSIGN_OR_RETURN(const FeedResult result, FeedCollector(episode, seed_, options, context.clock, progress));
    if (context.progress) context.err << "\r\x1b[K";
    context.err << result.reports << " reports sent, " << result.acknowledged << " stored, " << result.dropped
                << " dropped; " << result.commands << " commands answered; " << result.late_ticks << " s began late; "
                << result.streams_ended << " streams ended early\n";
    if (result.repeated == 0) return absl::OkStatus();
    const std::string why = absl::StrCat("the collector had ", result.repeated, " of ", result.reports,
                                         " reports already: equal seeds make equal agents");
    if (result.acknowledged == 0) return absl::InvalidArgumentError(absl::StrCat(why, ", another --seed makes others"));
    context.err << why << "\n";
    return absl::OkStatus();
  }

  static void Report(const Episode& episode, CommandContext& context) {
    const Trace& trace = episode.evidence.trace;
    if (context.format == OutputFormat::kJson) {
      const nlohmann::ordered_json result = {{"job", trace.job},
                                             {"ranks", trace.ranks.size()},
                                             {"hosts", trace.hosts.size()},
                                             {"records", trace.operations.size()},
                                             {"samples", episode.evidence.metrics.series.size()},
                                             {"steps", episode.truth.step_ns.size()},
                                             {"state", Name(episode.truth.state)}};
      context.out << JsonText(result, /*indented=*/true) << "\n";
      return;
    }
    context.out << trace.job << ": " << trace.ranks.size() << " ranks on " << trace.hosts.size() << " hosts, "
                << episode.truth.step_ns.size() << " steps, " << trace.operations.size() << " records; "
                << Name(episode.truth.state) << "\n";
  }

  std::string directory_;
  bool list_ = false;
  std::string faults_;
  uint32_t gpus_ = 64;
  uint32_t dimensions_ = 3;
  uint32_t interleave_ = 1;
  uint32_t steps_ = 0;
  uint64_t seed_ = 1;
  std::string job_ = "job-1";
  std::string lost_ = "0";
  uint32_t read_after_ = 0;
  std::string compress_ = "none";
  bool capture_ = false;
  std::string feed_;
  uint32_t speed_ = 1;
  bool metrics_ = false;
  bool no_ops_ = false;
  std::string kind_;
  uint64_t world_ = 1;
};

}  // namespace

std::unique_ptr<Command> MakeSimCommand() { return std::make_unique<SimCommand>(); }

}  // namespace lockstep
