#include "cli/commands/audit_command.h"

#include <cstdint>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "cli/duration_argument.h"
#include "cli/left_out_note.h"
#include "cli/render/json.h"
#include "cli/render/quantity_text.h"
#include "cli/render/text_table.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

class AuditCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {{"--since", "only what happened within this time, such as 24h", &since_},
            {"--limit", "at most so many, newest first", &limit_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    wire::ListAuditRequest request;
    request.set_limit(limit_);
    if (!since_.empty()) {
      ASSIGN_OR_RETURN(const int64_t nanos, ParseDurationArgument("--since", since_));
      wire::GetStatusRequest times;
      times.set_only_times(true);
      // Unlike all else the log has the times of the system's clock, as other logs of that machine do.
      ASSIGN_OR_RETURN(const wire::GetStatusResponse status, context.collector.GetStatus(times));
      request.set_since_wall_ns(status.now_wall_ns() - nanos);
    }
    ASSIGN_OR_RETURN(const wire::ListAuditResponse response, context.collector.ListAudit(request));
    PrintLeftOutNote(response.left_out(), "records", context.err);
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText(ToJson(response), /*indented=*/true) << "\n";
    } else if (response.records_size() == 0) {
      context.out << "nobody asked for anything\n";
    } else {
      context.out << Table(response).Render(context.width);
    }
    return ExitCode::kOk;
  }

 private:
  static TextTable Table(const wire::ListAuditResponse& response) {
    TextTable table({{"TIME (UTC)"}, {"ACTION"}, {"OF"}, {"BY"}, {"FROM"}, {"OUTCOME"}});
    for (const wire::AuditRecord& record : response.records()) {
      table.AddRow({WallText(record.wall_ns()).substr(0, 19), record.action(), record.of(),
                    record.by().empty() ? "-" : record.by(), record.from(), record.outcome()});
    }
    return table;
  }

  std::string since_;
  uint32_t limit_ = 100;
};

}  // namespace

std::unique_ptr<Command> MakeAuditCommand() { return std::make_unique<AuditCommand>(); }

}  // namespace lockstep
