#include "cli/commands/incident_actions.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "cli/duration_argument.h"
#include "cli/render/json.h"
#include "cli/render/quantity_text.h"
#include "cli/render/text_table.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using Answer = absl::StatusOr<wire::Incident>;

Answer Ack(const IncidentRequest& request, CommandContext& context) {
  if (request.undo && !request.note.empty()) return absl::InvalidArgumentError("--undo takes no --note");
  return context.collector.Acknowledge(request.id, request.note, request.undo);
}

Answer Silence(const IncidentRequest& request, CommandContext& context) {
  if (request.undo) {
    if (!request.note.empty() || !request.lasts.empty()) {
      return absl::InvalidArgumentError("--undo takes neither --note nor --for");
    }
    return context.collector.Silence(request.id, 0, "");
  }
  if (request.lasts.empty()) return absl::InvalidArgumentError("incidents silence needs --for, such as 2h");
  ASSIGN_OR_RETURN(const int64_t nanos, ParseDurationArgument("--for", request.lasts));
  ASSIGN_OR_RETURN(const int64_t now_ns, context.collector.NowWallNanos());
  return context.collector.Silence(request.id, now_ns + nanos, request.note);
}

Answer Resolve(const IncidentRequest& request, CommandContext& context) {
  return context.collector.Resolve(request.id, request.note);
}

Answer Comment(const IncidentRequest& request, CommandContext& context) {
  if (request.text.empty()) return absl::InvalidArgumentError("incidents comment needs a TEXT");
  return context.collector.Comment(request.id, request.text);
}

std::string AckText(const wire::Incident& incident) {
  if (!incident.has_acknowledgement()) return "is in nobody's hands";
  return absl::StrCat("is acknowledged by ", incident.acknowledgement().by());
}

std::string SilenceText(const wire::Incident& incident) {
  if (!incident.has_silence()) return "is silenced no more";
  return absl::StrCat("is silenced until ", WallText(incident.silence().until_wall_ns()));
}

std::string ResolveText(const wire::Incident& incident) {
  return absl::StrCat("is resolved by ", incident.resolved_by().by());
}

std::string CommentText(const wire::Incident& incident) {
  return absl::StrCat("has ", incident.comments_size(), incident.comments_size() == 1 ? " comment" : " comments");
}

struct Row {
  absl::string_view name;
  Answer (*run)(const IncidentRequest& request, CommandContext& context);
  std::string (*text)(const wire::Incident& incident);
  bool can_be_undone;
  bool has_time;
  bool has_note;
};

constexpr Row kRows[] = {
    {"ack", Ack, AckText, true, false, true},
    {"silence", Silence, SilenceText, true, true, true},
    {"resolve", Resolve, ResolveText, false, false, true},
    {"comment", Comment, CommentText, false, false, false},
};

const Row* FindRow(absl::string_view action) {
  const auto* const found =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) { return row.name == action; });
  return found == std::end(kRows) ? nullptr : found;
}

absl::Status Check(const Row& row, const IncidentRequest& request) {
  const auto refuse = [&](bool given, bool taken, const char* what) {
    if (!given || taken) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("incidents ", row.name, " takes no ", what));
  };
  RETURN_IF_ERROR(refuse(request.undo, row.can_be_undone, "--undo"));
  RETURN_IF_ERROR(refuse(!request.lasts.empty(), row.has_time, "--for"));
  RETURN_IF_ERROR(refuse(!request.note.empty(), row.has_note, "--note"));
  return refuse(!request.text.empty(), row.name == "comment", "TEXT");
}

}  // namespace

bool IsIncidentAction(absl::string_view action) { return FindRow(action) != nullptr; }

absl::StatusOr<ExitCode> RunIncidentAction(absl::string_view action, const IncidentRequest& request,
                                           CommandContext& context) {
  const Row* const row = FindRow(action);
  CHECK(row != nullptr);
  RETURN_IF_ERROR(Check(*row, request));
  ASSIGN_OR_RETURN(const wire::Incident incident, row->run(request, context));
  if (context.format == OutputFormat::kJson) {
    context.out << JsonText(ToJson(incident), /*indented=*/true) << "\n";
  } else {
    context.out << "incident " << request.id << " " << Printable(row->text(incident)) << "\n";
  }
  return ExitCode::kOk;
}

}  // namespace lockstep
