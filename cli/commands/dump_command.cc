#include "cli/commands/dump_command.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/left_out_note.h"
#include "cli/render/stacks_text.h"
#include "cli/render/text_table.h"
#include "proto/admin.pb.h"
#include "proto/stacks.pb.h"

namespace lockstep {
namespace {

constexpr uint32_t kMaxSamples = 100;

class DumpCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {{"JOB", "the job, as `lockstep jobs` calls it", &job_, /*required=*/true},
            {"--rank", "only this rank; may be given more than once", &ranks_},
            {"--samples", "how often each is looked at, within two seconds; at most 100", &samples_},
            {"-o,--output",
             "table, json, folded (one line per stack) or svg (a flame graph)",
             &output_,
             /*required=*/false,
             {std::begin(kStacksForms), std::end(kStacksForms)}}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    RETURN_IF_ERROR(CheckStacksForm("-o", output_));
    ASSIGN_OR_RETURN(const wire::OnDemandRequest request, Request());
    std::vector<wire::StackDump> dumps;
    std::vector<UnreadRank> failed;
    RETURN_IF_ERROR(context.collector.OnDemand(request, [&](const wire::OnDemandAnswer& answer) {
      PrintLeftOutNote(answer.left_out(), "ranks", context.err);
      wire::StackDump dump;
      const bool done = answer.outcome() == wire::DemandAnswer::OUTCOME_DONE && dump.ParseFromString(answer.payload());
      if (done) {
        dump.set_host(answer.host());
        dump.set_job(job_);
        dumps.push_back(std::move(dump));
      } else {
        failed.push_back(
            {answer.rank(), answer.host(), answer.reason().empty() ? "the answer cannot be read" : answer.reason()});
        context.err << "rank " << answer.rank() << " on " << Printable(answer.host()) << ": "
                    << Printable(failed.back().why) << "\n";
      }
    }));
    const bool is_default = output_ == kStacksForms[0] && context.format == OutputFormat::kJson;
    const std::string form = is_default ? "json" : output_;
    // Whoever reads JSON has why in it.
    if (dumps.empty() && (failed.empty() || form != "json")) {
      return absl::NotFoundError(absl::StrCat("no rank of job ", job_, " could be looked at"));
    }
    std::sort(dumps.begin(), dumps.end(), [](const auto& a, const auto& b) { return a.rank() < b.rank(); });
    context.out << StacksText(dumps, form, absl::StrCat("job ", job_), failed);
    return failed.empty() ? ExitCode::kOk : ExitCode::kFindings;
  }

 private:
  absl::StatusOr<wire::OnDemandRequest> Request() const {
    wire::OnDemandRequest request;
    request.set_kind("stacks");
    request.set_job(job_);
    for (const std::string& text : ranks_) {
      int32_t rank = 0;
      if (!absl::SimpleAtoi(text, &rank) || rank < 0) {
        return absl::InvalidArgumentError(absl::StrCat("--rank: ", Printable(text), " is no rank"));
      }
      request.add_ranks(rank);
    }
    if (samples_ == 0 || samples_ > kMaxSamples) {
      return absl::InvalidArgumentError(absl::StrCat("--samples: from 1 to ", kMaxSamples));
    }
    wire::StackParameters parameters;
    parameters.set_samples(samples_);
    request.set_parameters(parameters.SerializeAsString());
    return request;
  }

  std::string job_;
  std::vector<std::string> ranks_;
  uint32_t samples_ = 10;
  std::string output_ = kStacksForms[0];
};

}  // namespace

std::unique_ptr<Command> MakeDumpCommand() { return std::make_unique<DumpCommand>(); }

}  // namespace lockstep
