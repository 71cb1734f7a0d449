#include "cli/commands/patterns_command.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "cli/render/json.h"
#include "cli/render/pattern_text.h"
#include "cli/render/text_table.h"
#include "daemon/version.h"
#include "detector/patterns/rank_patterns.h"
#include "formats/byte_source.h"
#include "formats/kineto_profile.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

class PatternsCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {{"TRACE", "one profile (Kineto's or PyTorch's Chrome trace, also .gz and .zst), or two to compare", &paths_,
             /*required=*/true},
            {"--rows", "functions to print at most; JSON has all", &rows_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    if (paths_.size() > 2) {
      return absl::InvalidArgumentError("TRACE: expected one or two; for more there is `lockstep diagnose`");
    }
    std::vector<RankPatterns> ranks;
    bool damaged = false;
    for (const std::string& path : paths_) {
      absl::StatusOr<std::unique_ptr<ByteSource>> source = ByteSource::Open(path);
      ProfileResult result;
      result.status = source.status();
      if (source.ok()) result = ReadKinetoProfile(path, **source);
      if (!result.status.ok()) {
        damaged = true;
        context.err << "lockstep: " << Printable(path) << ": " << Printable(result.status.message()) << "\n";
      }
      ranks.push_back(std::move(result.patterns));
    }
    if (context.format == OutputFormat::kJson) {
      nlohmann::ordered_json all = {{"lockstep_version", kVersion}, {"ranks", nlohmann::ordered_json::array()}};
      for (const RankPatterns& patterns : ranks) all["ranks"].push_back(PatternJson(patterns));
      context.out << JsonText(all, /*indented=*/false) << "\n";
    } else if (ranks.size() == 1) {
      if (ranks[0].window_seconds > 0) context.out << PatternText(ranks[0], rows_, context.width);
    } else if (ranks[0].window_seconds > 0 && ranks[1].window_seconds > 0) {
      context.out << PatternDifferenceText(ranks[0], ranks[1], rows_, context.width);
    }
    return damaged ? ExitCode::kInputUnreadable : ExitCode::kOk;
  }

 private:
  std::vector<std::string> paths_;
  uint32_t rows_ = 30;
};

}  // namespace

std::unique_ptr<Command> MakePatternsCommand() { return std::make_unique<PatternsCommand>(); }

}  // namespace lockstep
