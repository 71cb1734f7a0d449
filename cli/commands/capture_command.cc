#include "cli/commands/capture_command.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/duration_argument.h"
#include "cli/render/json.h"
#include "formats/capture_file.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

constexpr uint64_t kEntriesPerProgressLine = 1000;

class CaptureCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {{"JOB", "the job, as `lockstep jobs` calls it", &job_, /*required=*/true},
            {"-o,--file", "the capture file to write", &file_, /*required=*/true},
            {"--since", "only this far back, such as 10m; all that is kept if absent", &since_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    wire::CaptureRequest request;
    request.set_job(job_);
    if (!since_.empty()) {
      ASSIGN_OR_RETURN(const int64_t since_ns, ParseDurationArgument("--since", since_));
      ASSIGN_OR_RETURN(const int64_t now_ns, context.collector.NowWallNanos());
      request.set_from_wall_ns(now_ns - since_ns);
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<CaptureFileWriter> writer, CaptureFileWriter::Create(file_));
    RETURN_IF_ERROR(context.collector.Capture(request, [&](const wire::CaptureEntry& entry) {
      const absl::Status appended = writer->Append(entry);
      if (context.progress && writer->entries() % kEntriesPerProgressLine == 0) {
        context.err << "\r" << writer->entries() << " entries, " << writer->file_bytes() << " bytes" << std::flush;
      }
      return appended;
    }));
    RETURN_IF_ERROR(writer->Close());
    if (context.progress) context.err << "\r\x1b[K";
    if (context.format == OutputFormat::kJson) {
      const nlohmann::ordered_json result = {
          {"job", job_}, {"file", file_}, {"entries", writer->entries()}, {"bytes", writer->file_bytes()}};
      context.out << JsonText(result, /*indented=*/true) << "\n";
    } else {
      context.out << file_ << ": " << writer->entries() << " entries, " << writer->file_bytes() << " bytes\n";
    }
    return ExitCode::kOk;
  }

 private:
  std::string job_;
  std::string file_;
  std::string since_;
};

}  // namespace

std::unique_ptr<Command> MakeCaptureCommand() { return std::make_unique<CaptureCommand>(); }

}  // namespace lockstep
