#include "cli/commands/profile_command.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "cli/left_out_note.h"
#include "cli/render/json.h"
#include "cli/render/pattern_text.h"
#include "cli/render/report_json.h"
#include "cli/render/report_text.h"
#include "cli/render/text_table.h"
#include "collector/demands/profile_length.h"
#include "daemon/version.h"
#include "detector/patterns/profile_diagnosis.h"
#include "detector/patterns/rank_patterns.h"
#include "formats/pattern_message.h"
#include "nlohmann/json.hpp"
#include "proto/admin.pb.h"
#include "proto/patterns.pb.h"
#include "proto/query.pb.h"

namespace lockstep {
namespace {

constexpr uint32_t kMaxSteps = 100;
constexpr uint32_t kMaxSeconds = 60;
constexpr uint32_t kMillisPerSecond = 1000;

// What one rank answered.
struct Answer {
  ProfiledRank rank;
  std::string trace;  // where it is kept; "" = nowhere
  uint64_t trace_bytes = 0;
};

struct Failure {
  int32_t rank = -1;
  std::string host;
  std::string why;
};

// Not thread-safe.
class ProfileCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {
        {"JOB", "the job, as `lockstep jobs` calls it", &job_, /*required=*/true},
        {"--ranks",
         "17,18: these, and at most 16 others to compare them with; else those that open incidents name, or any",
         &ranks_},
        {"--steps", "as long as so many of the job's usual steps; at most 100", &steps_},
        {"--seconds", "so long instead of so many steps; at most 60", &seconds_},
        {"--python", "also functions of Python: meanwhile a step takes up to 1.3 times as long, and 1.02 times without",
         &python_},
        {"--keep", "leave the traces where the ranks have written them", &keep_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    ASSIGN_OR_RETURN(const wire::OnDemandRequest request, Request(context.collector));
    RETURN_IF_ERROR(
        context.collector.OnDemand(request, [&](const wire::OnDemandAnswer& answer) { Take(answer, context.err); }));
    std::sort(answers_.begin(), answers_.end(),
              [](const Answer& a, const Answer& b) { return a.rank.patterns.rank < b.rank.patterns.rank; });
    std::sort(failures_.begin(), failures_.end(), [](const Failure& a, const Failure& b) { return a.rank < b.rank; });
    if (context.format == OutputFormat::kTable) PrintFailures(context.err);
    if (answers_.empty() && context.format == OutputFormat::kTable) {
      return absl::NotFoundError(
          absl::StrCat("no rank of job ", job_,
                       " could be profiled: its agents need kineto_endpoint: true, its processes KINETO_USE_DAEMON=1"));
    }
    Print(context);
    return failures_.empty() ? ExitCode::kOk : ExitCode::kFindings;
  }

 private:
  absl::StatusOr<wire::OnDemandRequest> Request(CollectorClient& collector) const {
    if (steps_ == 0 || steps_ > kMaxSteps) return absl::InvalidArgumentError("--steps: from 1 to 100");
    if (seconds_ > kMaxSeconds) return absl::InvalidArgumentError("--seconds: at most 60");
    wire::OnDemandRequest request;
    request.set_kind("profile");
    request.set_job(job_);
    ASSIGN_OR_RETURN(const std::set<int32_t> ranks, NamedRanks());
    for (const int32_t rank : ranks) request.add_ranks(rank);
    wire::ProfileParameters parameters;
    parameters.set_steps(steps_);
    ASSIGN_OR_RETURN(const uint32_t millis, Millis(collector));
    parameters.set_duration_ms(millis);
    parameters.set_python(python_);
    parameters.set_keep(keep_);
    request.set_parameters(parameters.SerializeAsString());
    return request;
  }

  absl::StatusOr<std::set<int32_t>> NamedRanks() const {
    std::set<int32_t> ranks;
    for (const std::string& list : ranks_) {
      for (const absl::string_view text : absl::StrSplit(list, ',')) {
        int32_t rank = 0;
        if (!absl::SimpleAtoi(text, &rank) || rank < 0) {
          return absl::InvalidArgumentError(absl::StrCat("--ranks: ", Printable(text), " is no rank"));
        }
        ranks.insert(rank);
      }
    }
    return ranks;
  }

  // How long the profiles last; 0 = the length of steps is not known.
  absl::StatusOr<uint32_t> Millis(CollectorClient& collector) const {
    if (seconds_ > 0) return seconds_ * kMillisPerSecond;
    ASSIGN_OR_RETURN(const wire::ListJobsResponse jobs, collector.ListJobs());
    for (const wire::Job& job : jobs.jobs()) {
      if (job.job() == job_) return ProfileMillis(job.step_seconds_median(), steps_);
    }
    return 0;
  }

  void Take(const wire::OnDemandAnswer& answer, std::ostream& err) {
    PrintLeftOutNote(answer.left_out(), "ranks", err);
    wire::RankProfile profile;
    absl::StatusOr<RankPatterns> patterns = absl::UnknownError(answer.reason());
    if (answer.outcome() == wire::DemandAnswer::OUTCOME_DONE) {
      patterns = ParseProfile(answer.payload(), profile);
    }
    if (!patterns.ok()) {
      failures_.push_back({answer.rank(), answer.host(), std::string(patterns.status().message())});
      return;
    }
    for (const std::string& note : profile.notes()) {
      err << "lockstep: rank " << answer.rank() << ": " << Printable(note) << "\n";
    }
    patterns->rank = answer.rank();
    patterns->host = answer.host();
    answers_.push_back(
        {{*std::move(patterns), profile.pid(), answer.duty() - 1}, profile.trace(), profile.trace_bytes()});
  }

  void PrintFailures(std::ostream& err) const {
    for (const Failure& failure : failures_) {
      err << "rank " << failure.rank << " on " << Printable(failure.host) << ": " << Printable(failure.why) << "\n";
    }
  }

  void Print(CommandContext& context) const {
    std::vector<ProfiledRank> ranks;
    for (const Answer& answer : answers_) ranks.push_back(answer.rank);
    const JobReport report = DiagnoseProfiles(job_, ranks);
    if (context.format == OutputFormat::kTable) return PrintText(context, report);
    nlohmann::ordered_json all = {{"lockstep_version", kVersion},
                                  {"ranks", nlohmann::ordered_json::array()},
                                  {"failed", nlohmann::ordered_json::array()},
                                  {"jobs", nlohmann::ordered_json::array()}};
    for (const Answer& answer : answers_) {
      nlohmann::ordered_json row = PatternJson(answer.rank.patterns);
      row["trace_bytes"] = answer.trace_bytes;
      row["trace"] = answer.trace;
      all["ranks"].push_back(std::move(row));
    }
    for (const Failure& failure : failures_) {
      all["failed"].push_back(
          nlohmann::ordered_json{{"rank", failure.rank}, {"host", failure.host}, {"reason", failure.why}});
    }
    if (!answers_.empty()) all["jobs"].push_back(ReportJson(report));
    context.out << JsonText(all, /*indented=*/true) << "\n";
  }

  void PrintText(CommandContext& context, const JobReport& report) const {
    const std::string numbers = absl::StrJoin(
        answers_, ", ", [](std::string* out, const Answer& a) { absl::StrAppend(out, a.rank.patterns.rank); });
    context.out << "profiled: rank " << numbers << "\n";
    for (const Answer& answer : answers_) {
      if (answer.trace.empty()) continue;
      context.out << "trace of rank " << answer.rank.patterns.rank << ": " << Printable(answer.rank.patterns.host)
                  << ":" << Printable(answer.trace) << "\n";
    }
    context.out << ReportText(report);
  }

  std::string job_;
  std::vector<std::string> ranks_;
  uint32_t steps_ = kUsualProfileSteps;
  uint32_t seconds_ = 0;
  bool python_ = false;
  bool keep_ = false;
  std::vector<Answer> answers_;
  std::vector<Failure> failures_;
};

}  // namespace

std::unique_ptr<Command> MakeProfileCommand() { return std::make_unique<ProfileCommand>(); }

}  // namespace lockstep
