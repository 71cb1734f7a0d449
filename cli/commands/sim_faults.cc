#include "cli/commands/sim_faults.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/render/json.h"
#include "cli/render/text_table.h"
#include "detector/verdict/verdict.h"
#include "nlohmann/json.hpp"
#include "sim/fault_spec.h"

namespace lockstep {
namespace {

// By TargetKind.
constexpr const char* kTargets[] = {"job", "rank", "host", "rank (its NIC)", "two hosts", "leaf"};

}  // namespace

ExitCode ListSimulatedFaults(CommandContext& context) {
  TextTable table({{"FAULT"}, {"ROW", TextTable::Align::kRight}, {"TARGET"}, {"CLASS"}, {"TYPICAL"}, {"SEVERITY IS"}});
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const FaultInfo& info : FaultTable()) {
    const char* const target = kTargets[static_cast<size_t>(info.target)];
    list.push_back({{"fault", std::string(info.name)},
                    {"table_row", info.table_row},
                    {"target", target},
                    {"class", Name(info.verdict_class)},
                    {"negative", info.negative},
                    {"hang", info.hang},
                    {"typical_severity", info.typical_severity},
                    {"severity_meaning", std::string(info.severity_meaning)}});
    table.AddRow({std::string(info.name), absl::StrCat(info.table_row), target, Name(info.verdict_class),
                  absl::StrCat(info.typical_severity), std::string(info.severity_meaning)});
  }
  if (context.format == OutputFormat::kJson) {
    context.out << JsonText(list, /*indented=*/true) << "\n";
  } else {
    context.out << table.Render(context.width);
  }
  return ExitCode::kOk;
}

}  // namespace lockstep
