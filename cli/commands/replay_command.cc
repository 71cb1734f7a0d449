#include "cli/commands/replay_command.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/render/json.h"
#include "cli/render/quantity_text.h"
#include "collector/replay/replay.h"
#include "detector/engine/job_engine.h"
#include "formats/capture_file.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

class ReplayCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {{"FILE", "a file of `lockstep capture`", &file_, /*required=*/true},
            {"--verify", "compare with what the live collector concluded; exit with 1 if they differ", &verify_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    nlohmann::ordered_json lines = nlohmann::ordered_json::array();
    Replayer replayer(JobEngineOptions(), [&](absl::string_view line) {
      if (context.format == OutputFormat::kTable) {
        context.out << line << "\n";
      } else {
        lines.push_back(std::string(line));
      }
    });
    replayer.SetRewind([this](const Replayer::Visit& visit) { return ReadCaptureFile(file_, visit); });
    RETURN_IF_ERROR(ReadCaptureFile(file_, [&](const wire::CaptureEntry& entry) {
      const absl::Status fed = replayer.Feed(entry);
      return fed.ok() ? fed : absl::DataLossError(fed.message());
    }));
    const ReplaySummary& summary = replayer.summary();
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText(Json(summary, std::move(lines)), /*indented=*/true) << "\n";
    } else if (verify_) {
      context.err << VerifyText(summary);  // beside the verdict lines, which stay comparable byte for byte
    }
    return verify_ && !Verified(summary) ? ExitCode::kFindings : ExitCode::kOk;
  }

 private:
  // A capture without any comparable conclusion proves nothing, unless there was nothing to conclude.
  static bool Verified(const ReplaySummary& summary) {
    return summary.conclusions_different == 0 && (summary.conclusions == 0 || summary.conclusions_equal > 0);
  }

  static std::string VerifyText(const ReplaySummary& summary) {
    std::string text = absl::StrCat("verify: ", Verified(summary) ? "identical" : "NOT identical", ": ",
                                    summary.conclusions_equal, " conclusions equal, ", summary.conclusions_different,
                                    " different, ", summary.conclusions_unanchored, " not comparable; ", summary.inputs,
                                    " inputs, ", summary.watermarks, " watermarks\n");
    if (summary.first_difference_wall_ns != 0) {
      absl::StrAppend(&text, "verify: first difference at ", WallText(summary.first_difference_wall_ns), "\n");
    }
    return text;
  }

  static nlohmann::ordered_json Json(const ReplaySummary& summary, nlohmann::ordered_json lines) {
    return {{"inputs", summary.inputs},
            {"watermarks", summary.watermarks},
            {"resets", summary.resets},
            {"conclusions", summary.conclusions},
            {"conclusions_equal", summary.conclusions_equal},
            {"conclusions_different", summary.conclusions_different},
            {"conclusions_not_comparable", summary.conclusions_unanchored},
            {"first_difference_wall_ns", summary.first_difference_wall_ns},
            {"lines", std::move(lines)}};
  }

  std::string file_;
  bool verify_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeReplayCommand() { return std::make_unique<ReplayCommand>(); }

}  // namespace lockstep
