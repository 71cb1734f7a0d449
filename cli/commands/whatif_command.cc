#include "cli/commands/whatif_command.h"

#include <algorithm>
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
#include "cli/left_out_note.h"
#include "cli/render/json.h"
#include "cli/render/ledger_text.h"
#include "cli/render/text_table.h"
#include "collector/convert/summary.h"
#include "daemon/version.h"
#include "detector/engine/diagnosis.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "formats/evidence_builder.h"
#include "nlohmann/json.hpp"
#include "proto/query.pb.h"

namespace lockstep {
namespace {

constexpr unsigned kMostThreads = 8;  // as of diagnose

class WhatIfCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {
        {"PATH", "files, directories or globs, as of diagnose; none: what the collector says of jobs that run",
         &paths_},
        {"--job", "this one alone; default: all", &job_},
        {"--format", "of all files: ops-csv, metrics-csv, kineto, flight-recorder, nccl-inspector, capture", &format_},
        {"--min-cost", "of files, as of diagnose", &min_cost_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    std::vector<UnreadableInput> unreadable;
    ASSIGN_OR_RETURN(std::vector<wire::Job> jobs, paths_.empty() ? Ask(context) : Judge(context, &unreadable));
    if (!job_.empty()) {
      std::erase_if(jobs, [this](const wire::Job& job) { return job.job() != job_; });
      if (jobs.empty()) return absl::NotFoundError(absl::StrCat("no such job: ", job_));
    }
    Print(context, unreadable, jobs);
    return unreadable.empty() ? ExitCode::kOk : ExitCode::kInputUnreadable;
  }

 private:
  static absl::StatusOr<std::vector<wire::Job>> Ask(CommandContext& context) {
    ASSIGN_OR_RETURN(const wire::ListJobsResponse response, context.collector.ListJobs());
    PrintLeftOutNote(response.left_out(), "jobs", context.err);
    return std::vector<wire::Job>(response.jobs().begin(), response.jobs().end());
  }

  absl::StatusOr<std::vector<wire::Job>> Judge(CommandContext& context, std::vector<UnreadableInput>* unreadable) {
    std::optional<InputFormat> format;
    if (format_ != "auto") {
      format = InputFormatOf(format_);
      if (!format.has_value()) {
        return absl::InvalidArgumentError(
            absl::StrCat("--format: expected auto, ", InputFormatNames(), ", found '", format_, "'"));
      }
    }
    ThreadExecutor executor(std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads));
    DiagnosisOptions options;
    options.executor = &executor;
    options.remedies = true;
    if (!absl::SimpleAtod(min_cost_, &options.min_cost) || !(options.min_cost >= 0 && options.min_cost <= 1)) {
      return absl::InvalidArgumentError(absl::StrCat("--min-cost: expected 0 to 1, found '", min_cost_, "'"));
    }
    InputFiles inputs = ReadInputFiles(paths_, format, [](const ReadProgress&) {});
    *unreadable = std::move(inputs.unreadable);
    for (const UnreadableInput& input : *unreadable) {
      context.err << "lockstep: " << Printable(input.path) << ": " << Printable(input.error) << "\n";
    }
    std::vector<wire::Job> jobs;
    for (JobInput& input : inputs.jobs) {
      JobReport report = Diagnose(input.evidence, options);
      ForgetStandIns(report, input.evidence.trace);
      input.evidence = {};
      wire::Job& job = jobs.emplace_back();
      job.set_job(report.job);
      job.set_state(Name(report.state));
      FillLedger({.ledger = std::move(report.ledger), .remedies = std::move(report.remedies)}, job);
    }
    return jobs;
  }

  static void Print(CommandContext& context, const std::vector<UnreadableInput>& unreadable,
                    const std::vector<wire::Job>& jobs) {
    if (context.format == OutputFormat::kTable) {
      if (jobs.empty() && unreadable.empty()) context.out << "no jobs\n";
      for (size_t i = 0; i < jobs.size(); ++i) {
        context.out << (i > 0 ? "\n" : "") << WhatIfText(jobs[i], context.width, context.colour);
      }
      return;
    }
    nlohmann::ordered_json errors = nlohmann::ordered_json::array();
    for (const UnreadableInput& input : unreadable) {
      errors.push_back(nlohmann::ordered_json{{"path", input.path}, {"error", input.error}});
    }
    nlohmann::ordered_json all_jobs = nlohmann::ordered_json::array();
    for (const wire::Job& job : jobs) {
      const nlohmann::ordered_json ledger = job.has_ledger() ? ToJson(job.ledger()) : nlohmann::ordered_json();
      all_jobs.push_back(nlohmann::ordered_json{{"job", job.job()}, {"state", job.state()}, {"ledger", ledger}});
    }
    const nlohmann::ordered_json all = {
        {"lockstep_version", kVersion}, {"unreadable", std::move(errors)}, {"jobs", std::move(all_jobs)}};
    context.out << JsonText(all, /*indented=*/true) << "\n";
  }

  std::vector<std::string> paths_;
  std::string job_;
  std::string format_ = "auto";
  std::string min_cost_ = "0.03";
};

}  // namespace

std::unique_ptr<Command> MakeWhatIfCommand() { return std::make_unique<WhatIfCommand>(); }

}  // namespace lockstep
