#include "cli/commands/explain_command.h"

#include "base/status_macros.h"
#include "cli/render/incident_text.h"
#include "cli/render/json.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

class ExplainCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {{"ID", "number of the incident", &id_, /*required=*/true}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    ASSIGN_OR_RETURN(const wire::Incident incident, context.collector.GetIncident(id_));
    ASSIGN_OR_RETURN(const int64_t now_ns, context.collector.NowWallNanos());
    const std::string explanation = Explanation(incident, now_ns);
    if (context.format == OutputFormat::kTable) {
      context.out << explanation;
      return ExitCode::kOk;
    }
    nlohmann::ordered_json json = ToJson(incident);
    json["explanation"] = explanation;
    context.out << JsonText(json, /*indented=*/true) << "\n";
    return ExitCode::kOk;
  }

 private:
  uint64_t id_ = 0;
};

}  // namespace

std::unique_ptr<Command> MakeExplainCommand() { return std::make_unique<ExplainCommand>(); }

}  // namespace lockstep
