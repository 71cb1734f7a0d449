#include "collector/admin_service.h"

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "collector/access/valid_text.h"
#include "collector/answer_budget.h"
#include "collector/convert/check_name.h"
#include "daemon/grpc_status.h"

namespace lockstep {
namespace {

grpc::Status TooManyWait() {
  return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many queries wait for history");
}

}  // namespace

grpc::ServerUnaryReactor* AdminService::ForAdmitted(grpc::CallbackServerContext& context, const char* method,
                                                    absl::FunctionRef<void(const Call&)> work) {
  grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
  const absl::StatusOr<std::shared_ptr<const Caller>> caller = parts_.access.Admit(context, method);
  if (caller.ok()) {
    work({reactor, *caller, context.peer()});
  } else {
    reactor->Finish(ToGrpc(caller.status()));
  }
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::ForgetHost(grpc::CallbackServerContext* context,
                                                   const wire::ForgetHostRequest* request,
                                                   wire::ForgetHostResponse* /*response*/) {
  return ForAdmitted(*context, "lockstep.wire.Admin.ForgetHost", [&](const Call& call) {
    const Change change = {call, "forget_host", request->host()};
    const bool taken = parts_.worker.TryRun([this, change] { Finish(change, Forget(change.of)); });
    if (!taken) call.reactor->Finish(TooManyWait());
  });
}

grpc::ServerUnaryReactor* AdminService::Backup(grpc::CallbackServerContext* context,
                                               const wire::BackupRequest* /*request*/, wire::BackupResponse* response) {
  return ForAdmitted(*context, "lockstep.wire.Admin.Backup", [&](const Call& call) {
    const auto done = [this, response, call](const absl::StatusOr<std::string>& directory) {
      if (directory.ok()) response->set_directory(*directory);
      Conclude({call, "backup", directory.value_or("")}, directory.status());
    };
    if (const absl::Status begun = parts_.backups.Run(done); !begun.ok()) done(begun);
  });
}

grpc::ServerUnaryReactor* AdminService::Acknowledge(grpc::CallbackServerContext* context,
                                                    const wire::AcknowledgeRequest* request, wire::Incident* response) {
  return ForAdmitted(*context, "lockstep.wire.Admin.Acknowledge", [&](const Call& call) {
    const Change change = {call, request->undo() ? "unacknowledge" : "acknowledge",
                           absl::StrCat("incident ", request->incident())};
    if (const absl::Status begun = BeginAcknowledging(change, *request, response); !begun.ok()) Conclude(change, begun);
  });
}

absl::Status AdminService::BeginAcknowledging(const Change& change, const wire::AcknowledgeRequest& request,
                                              wire::Incident* response) {
  RETURN_IF_ERROR(CheckName("note", request.note(), kMaxNoteBytes));
  const std::optional<wire::Incident> incident = parts_.incidents.Find(request.incident());
  // As for an incident that there is not.
  if (!incident.has_value() || !change.call.by->Sees(incident->job())) {
    return absl::NotFoundError(absl::StrCat("no incident ", request.incident()));
  }
  wire::Incident::Acknowledgement acknowledgement;
  acknowledgement.set_by(ValidText(change.call.by->name, AuditLog::kMaxFieldBytes));
  acknowledgement.set_note(request.note());
  const auto task = [this, change, job = incident->job(), id = request.incident(), undo = request.undo(),
                     acknowledgement, response](JobTable& table) {
    absl::StatusOr<wire::Incident> changed = table.Acknowledge(job, id, undo ? nullptr : &acknowledgement);
    if (!changed.ok()) return Conclude(change, changed.status());
    *response = *std::move(changed);
    parts_.outbox.WhenWritten([this, change](const absl::Status& written) {
      Conclude(change, written.ok() ? written
                                    : absl::ResourceExhaustedError(absl::StrCat(
                                          "it holds, but history has not taken it yet: ", written.message())));
    });
  };
  if (parts_.run_on_shard(incident->job(), task)) return absl::OkStatus();
  return absl::ResourceExhaustedError("the engine of this job is busy, or is still given its log: try again");
}

void AdminService::Conclude(const Change& change, const absl::Status& outcome) {
  // What has happened is kept, whoever has to wait for it.
  if (!parts_.worker.TryRun([this, change, outcome] { Finish(change, outcome); })) Finish(change, outcome);
}

void AdminService::Finish(const Change& change, const absl::Status& outcome) {
  parts_.audit.Note(*change.call.by, change.call.peer, change.action, change.of, outcome);
  change.call.reactor->Finish(ToGrpc(outcome));
}

grpc::ServerUnaryReactor* AdminService::ListAudit(grpc::CallbackServerContext* context,
                                                  const wire::ListAuditRequest* request,
                                                  wire::ListAuditResponse* response) {
  return ForAdmitted(*context, "lockstep.wire.Admin.ListAudit", [&](const Call& call) {
    const bool taken = parts_.worker.TryRun(
        [this, reactor = call.reactor, request, response] { reactor->Finish(FillAudit(*request, *response)); });
    if (!taken) call.reactor->Finish(TooManyWait());
  });
}

grpc::Status AdminService::FillAudit(const wire::ListAuditRequest& request, wire::ListAuditResponse& response) const {
  const absl::StatusOr<std::vector<wire::AuditRecord>> records = parts_.history.LoadAudit();
  if (!records.ok()) return ToGrpc(records.status());
  const size_t limit = request.limit() == 0 ? kDefaultAuditRecords : request.limit();
  AnswerBudget budget;
  uint32_t beyond = 0;
  for (const wire::AuditRecord& record : *records) {
    if (record.wall_ns() < request.since_wall_ns()) continue;
    if (static_cast<size_t>(response.records_size()) >= limit) {
      ++beyond;
    } else if (budget.Take(record)) {
      *response.add_records() = record;
    }
  }
  response.set_left_out(budget.left_out() + beyond);
  return grpc::Status::OK;
}

absl::Status AdminService::Forget(const std::string& host) {
  RETURN_IF_ERROR(parts_.hosts.CheckForget(host, parts_.agents.agents()));
  RETURN_IF_ERROR(parts_.history.RemoveHost(host));
  parts_.hosts.Forget(host);
  Log(LogLevel::kInfo, "a host is not expected any more", {{"host", host}});
  return absl::OkStatus();
}

}  // namespace lockstep
