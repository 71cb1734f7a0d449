#include "cli/commands/diagnose_command.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/thread_executor.h"
#include "cli/inputs/input_files.h"
#include "cli/inputs/input_format.h"
#include "cli/inputs/stand_ins.h"
#include "cli/inputs/standstill.h"
#include "cli/render/json.h"
#include "cli/render/report_json.h"
#include "cli/render/report_text.h"
#include "cli/render/text_table.h"
#include "cli/render/timeline_text.h"
#include "daemon/version.h"
#include "detector/engine/diagnosis.h"
#include "detector/engine/job_engine.h"
#include "detector/model/job_evidence.h"
#include "detector/model/place_table.h"
#include "detector/patterns/pattern_comparison.h"
#include "detector/patterns/pattern_verdict.h"
#include "detector/patterns/trace_duties.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "detector/verdict/verdict_merge.h"
#include "eval/live/conclusion_timeline.h"
#include "eval/live/live_judge.h"
#include "formats/byte_source.h"
#include "formats/evidence_builder.h"
#include "formats/places_reader.h"
#include "formats/read_result.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

constexpr uint64_t kBytesPerProgressLine = uint64_t{16} << 20;
constexpr unsigned kMostThreads = 8;  // beyond it the parts that cannot be divided take all of the time
constexpr char kEraseLine[] = "\r\x1b[K";

// What the files do not say belongs to the reasons why nothing could be concluded.
void ExplainAbstaining(JobReport& report, const std::vector<std::string>& notes) {
  if (report.state != JobState::kUnknown || notes.empty()) return;
  auto open = std::find_if(report.verdicts.begin(), report.verdicts.end(),
                           [](const Verdict& verdict) { return verdict.type() == FindingType::kAbstention; });
  for (const std::string& note : notes) {
    if (open == report.verdicts.end()) {
      open = report.verdicts.insert(open, Verdict::Abstention(InputNote{note}));
    } else {
      open->Add(InputNote{note});
    }
  }
}

class DiagnoseCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {
        {"PATH", "files, directories or globs; several are diagnosed together", &paths_, /*required=*/true},
        {"--format", "of all files: ops-csv, metrics-csv, kineto, flight-recorder, nccl-inspector, capture", &format_},
        {"--fail-on-fault", "exit with 1 if a machine, the network or the software is to blame", &fail_on_fault_},
        {"--stuck", "the job was standing still when files that do not say so were written, for at least a minute",
         &stuck_},
        {"--live", "judge as a collector would have while the job ran, and print what it would have told when", &live_},
        {"--min-cost",
         "share of the step time that removing its cause must give back before a slow machine or link is accused",
         &min_cost_},
        {"--places", "CSV with host,rack,leaf,power,image: machines that go astray together in one place are its fault",
         &places_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    std::optional<InputFormat> format;
    if (format_ != "auto") {
      format = InputFormatOf(format_);
      if (!format.has_value()) {
        return absl::InvalidArgumentError(
            absl::StrCat("--format: expected auto, ", InputFormatNames(), ", found '", format_, "'"));
      }
    }
    DiagnosisOptions options;
    if (!absl::SimpleAtod(min_cost_, &options.min_cost) || !(options.min_cost >= 0 && options.min_cost <= 1)) {
      return absl::InvalidArgumentError(absl::StrCat("--min-cost: expected 0 to 1, found '", min_cost_, "'"));
    }
    if (live_ && !places_.empty()) {
      return absl::InvalidArgumentError("--places: expected without --live, which judges without places");
    }
    RETURN_IF_ERROR(ReadPlacesInto(&options.places));
    InputFiles inputs = ReadInputFiles(paths_, format, [&](const ReadProgress& now) { ShowProgress(context, now); });
    if (context.progress && shown_bytes_ > 0) context.err << kEraseLine << std::flush;
    for (const UnreadableInput& input : inputs.unreadable) Complain(context, input);
    ThreadExecutor executor(std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads));
    options.executor = &executor;
    std::vector<JobReport> reports;
    for (JobInput& job : inputs.jobs) {
      const std::string name = job.evidence.job;
      absl::StatusOr<JobReport> report = Judge(context, job, options);
      if (report.ok()) {
        reports.push_back(*std::move(report));
      } else {
        inputs.unreadable.push_back({.path = name, .error = std::string(report.status().message())});
        Complain(context, inputs.unreadable.back());
      }
    }
    Print(context, inputs.unreadable, reports);
    return Conclusion(inputs.unreadable, reports);
  }

 private:
  static void Complain(CommandContext& context, const UnreadableInput& input) {
    context.err << "lockstep: " << Printable(input.path) << ": " << Printable(input.error) << "\n";
  }

  absl::Status ReadPlacesInto(PlaceTable* places) const {
    if (places_.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source, ByteSource::Open(places_));
    const ReadResult result = ReadPlaces(*source, *places);
    if (result.status.ok()) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(places_, ": ", result.status.message()));
  }

  void ShowProgress(CommandContext& context, const ReadProgress& now) {
    if (!context.progress || now.bytes < shown_bytes_ + kBytesPerProgressLine) return;
    shown_bytes_ = now.bytes;
    context.err << kEraseLine << "reading file " << now.file << " of " << now.files << ", " << (now.bytes >> 20)
                << " MiB" << std::flush;
  }

  // DATA_LOSS: with --live, nothing that could be played.
  absl::StatusOr<JobReport> Judge(CommandContext& context, JobInput& job, const DiagnosisOptions& options) const {
    if (stuck_) AssumeStandstill(job.evidence.trace);
    for (const std::string& note : job.notes) context.err << "lockstep: " << Printable(note) << "\n";
    JobReport report;
    if (live_) {
      ASSIGN_OR_RETURN(report, JudgePlayed(context, job.evidence, options));
    } else {
      report = Diagnose(job.evidence, options);
      AddPatterns(job, options, report);
    }
    ForgetStandIns(report, job.evidence.trace);
    ExplainAbstaining(report, job.notes);
    job.evidence = {};
    return report;
  }

  // What the functions of ranks say, where the files are profiles.
  static void AddPatterns(JobInput& job, const DiagnosisOptions& of_files, JobReport& report) {
    if (job.patterns.workers().empty()) return;
    StateDuties(job.evidence.trace, job.patterns);
    ComparisonOptions options;
    options.least_excess = of_files.min_cost;
    AddPatternFindings(job.patterns, ComparePatterns(job.patterns, options), job.evidence.trace, report);
    job.patterns = {};
  }

  // What a collector would have said last, and all that it said before.
  static absl::StatusOr<JobReport> JudgePlayed(CommandContext& context, const JobEvidence& evidence,
                                               const DiagnosisOptions& of_files) {
    JobEngineOptions options;
    options.min_step_cost = of_files.min_cost;
    ConclusionTimeline timeline;
    ASSIGN_OR_RETURN(JobReport report, JudgeLive(evidence, options, &timeline));
    if (context.format == OutputFormat::kTable) {
      context.out << Printable(report.job) << ": " << TimelineSummaryText(timeline) << "\n";
    }
    return report;
  }

  static void Print(CommandContext& context, const std::vector<UnreadableInput>& unreadable,
                    const std::vector<JobReport>& reports) {
    if (context.format == OutputFormat::kTable) {
      if (reports.empty() && unreadable.empty()) context.out << "no job: the input holds no records and no samples\n";
      for (size_t i = 0; i < reports.size(); ++i) context.out << (i > 0 ? "\n" : "") << ReportText(reports[i]);
      return;
    }
    nlohmann::ordered_json errors = nlohmann::ordered_json::array();
    for (const UnreadableInput& input : unreadable) {
      errors.push_back(nlohmann::ordered_json{{"path", input.path}, {"error", input.error}});
    }
    nlohmann::ordered_json jobs = nlohmann::ordered_json::array();
    for (const JobReport& report : reports) jobs.push_back(ReportJson(report));
    const nlohmann::ordered_json all = {
        {"lockstep_version", kVersion}, {"unreadable", std::move(errors)}, {"jobs", std::move(jobs)}};
    context.out << JsonText(all, /*indented=*/true) << "\n";
  }

  // A fault that was found is certain, whatever an unreadable file might add.
  ExitCode Conclusion(const std::vector<UnreadableInput>& unreadable, const std::vector<JobReport>& reports) const {
    const bool fault = std::any_of(reports.begin(), reports.end(), [](const JobReport& report) {
      return std::any_of(report.verdicts.begin(), report.verdicts.end(), Blames);
    });
    if (fail_on_fault_ && fault) return ExitCode::kFindings;
    return unreadable.empty() ? ExitCode::kOk : ExitCode::kInputUnreadable;
  }

  std::vector<std::string> paths_;
  std::string format_ = "auto";
  std::string min_cost_ = "0.03";
  std::string places_;
  bool fail_on_fault_ = false;
  bool stuck_ = false;
  bool live_ = false;
  uint64_t shown_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Command> MakeDiagnoseCommand() { return std::make_unique<DiagnoseCommand>(); }

}  // namespace lockstep
