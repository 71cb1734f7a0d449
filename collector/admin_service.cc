#include "collector/admin_service.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "collector/access/valid_text.h"
#include "collector/answer_budget.h"
#include "collector/convert/check_name.h"
#include "collector/demands/demand_targets.h"
#include "collector/demands/suspect_ranks.h"
#include "collector/profiles/profile_gathering.h"
#include "collector/profiles/profile_schedule.h"
#include "daemon/grpc_status.h"

namespace lockstep {
namespace {

// Whether all that the window is about belongs to jobs that the caller sees.
bool SeesWhole(const Caller& caller, const wire::MaintenanceWindow& window) {
  if (caller.sees_all()) return true;
  const auto& jobs = window.jobs();
  return window.hosts().empty() &&
         std::all_of(jobs.begin(), jobs.end(), [&](const std::string& job) { return caller.Sees(job); });
}

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
    RunChange(change, [this, host = change.of] { return Forget(host); });
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
  const auto what = request->undo() ? IncidentAction::What::kUnacknowledge : IncidentAction::What::kAcknowledge;
  return Act(*context, "lockstep.wire.Admin.Acknowledge", request->incident(), {.what = what, .text = request->note()},
             response);
}

grpc::ServerUnaryReactor* AdminService::Silence(grpc::CallbackServerContext* context,
                                                const wire::SilenceRequest* request, wire::Incident* response) {
  const bool ends = request->until_wall_ns() == 0;
  const auto what = ends ? IncidentAction::What::kUnsilence : IncidentAction::What::kSilence;
  return Act(*context, "lockstep.wire.Admin.Silence", request->incident(),
             {.what = what, .text = request->note(), .until_wall_ns = request->until_wall_ns()}, response);
}

grpc::ServerUnaryReactor* AdminService::Resolve(grpc::CallbackServerContext* context,
                                                const wire::ResolveRequest* request, wire::Incident* response) {
  return Act(*context, "lockstep.wire.Admin.Resolve", request->incident(),
             {.what = IncidentAction::What::kResolve, .text = request->note()}, response);
}

grpc::ServerUnaryReactor* AdminService::Comment(grpc::CallbackServerContext* context,
                                                const wire::CommentRequest* request, wire::Incident* response) {
  return Act(*context, "lockstep.wire.Admin.Comment", request->incident(),
             {.what = IncidentAction::What::kComment, .text = request->text()}, response);
}

grpc::ServerUnaryReactor* AdminService::Act(grpc::CallbackServerContext& context, const char* method, uint64_t incident,
                                            const IncidentAction& action, wire::Incident* response) {
  return ForAdmitted(context, method, [&](const Call& call) {
    const Change change = {call, NameOf(action.what), absl::StrCat("incident ", incident)};
    if (const absl::Status begun = BeginActing(change, incident, action, response); !begun.ok()) {
      Conclude(change, begun);
    }
  });
}

absl::Status AdminService::CheckAction(const IncidentAction& action) const {
  RETURN_IF_ERROR(CheckName("note", action.text, kMaxNoteBytes));
  if (action.what == IncidentAction::What::kComment && action.text.empty()) {
    return absl::InvalidArgumentError("a comment says something");
  }
  if (action.what != IncidentAction::What::kSilence) return absl::OkStatus();
  const int64_t ahead_ns = action.until_wall_ns - parts_.clock.WallNanos();
  if (ahead_ns > 0 && ahead_ns <= kLongestSilenceNanos) return absl::OkStatus();
  return absl::InvalidArgumentError("a silence ends later than now, and within 90 days");
}

absl::Status AdminService::BeginActing(const Change& change, uint64_t id, IncidentAction action,
                                       wire::Incident* response) {
  RETURN_IF_ERROR(CheckAction(action));
  const std::optional<wire::Incident> incident = parts_.incidents.Find(id);
  // As for an incident that there is not.
  if (!incident.has_value() || !change.call.by->Sees(incident->job())) {
    return absl::NotFoundError(absl::StrCat("no incident ", id));
  }
  action.by = ValidText(change.call.by->name, AuditLog::kMaxFieldBytes);
  const auto task = [this, change, job = incident->job(), id, action, response](JobTable& table) {
    absl::StatusOr<wire::Incident> changed = table.Act(job, id, action);
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

grpc::ServerUnaryReactor* AdminService::AddMaintenance(grpc::CallbackServerContext* context,
                                                       const wire::AddMaintenanceRequest* request,
                                                       wire::MaintenanceWindow* response) {
  return ForAdmitted(*context, "lockstep.wire.Admin.AddMaintenance", [&](const Call& call) {
    const std::string& first = request->hosts_size() > 0  ? request->hosts(0)
                               : request->jobs_size() > 0 ? request->jobs(0)
                                                          : request->note();
    const int more = request->hosts_size() + request->jobs_size() - 1;
    const Change change = {call, "add_maintenance", more > 0 ? absl::StrCat(first, " and ", more, " more") : first};
    RunChange(change, [this, by = call.by, request, response] { return AddWindow(*by, *request, response); });
  });
}

absl::Status AdminService::AddWindow(const Caller& by, const wire::AddMaintenanceRequest& request,
                                     wire::MaintenanceWindow* response) {
  RETURN_IF_ERROR(CheckName("note", request.note(), kMaxNoteBytes));
  // Hosts are of all tenants.
  if (!by.sees_all() && request.hosts_size() > 0) return absl::NotFoundError("no such host");
  for (const std::string& job : request.jobs()) {
    if (!by.Sees(job)) return absl::NotFoundError("no such job");
  }
  wire::MaintenanceWindow wanted;
  *wanted.mutable_hosts() = request.hosts();
  *wanted.mutable_jobs() = request.jobs();
  wanted.set_begin_wall_ns(request.begin_wall_ns());
  wanted.set_end_wall_ns(request.end_wall_ns());
  wanted.set_by(ValidText(by.name, AuditLog::kMaxFieldBytes));
  wanted.set_note(request.note());
  ASSIGN_OR_RETURN(*response, parts_.maintenance.Add(std::move(wanted), parts_.clock.WallNanos()));
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* AdminService::EndMaintenance(grpc::CallbackServerContext* context,
                                                       const wire::EndMaintenanceRequest* request,
                                                       wire::MaintenanceWindow* response) {
  return ForAdmitted(*context, "lockstep.wire.Admin.EndMaintenance", [&](const Call& call) {
    const Change change = {call, "end_maintenance", absl::StrCat("window ", request->id())};
    RunChange(change, [this, by = call.by, id = request->id(), response] { return EndWindow(*by, id, response); });
  });
}

absl::Status AdminService::EndWindow(const Caller& by, uint64_t id, wire::MaintenanceWindow* response) {
  const int64_t now_ns = parts_.clock.WallNanos();
  for (const wire::MaintenanceWindow& window : parts_.maintenance.List(/*with_past=*/true, now_ns)) {
    if (window.id() == id && !SeesWhole(by, window)) {
      return absl::NotFoundError(absl::StrCat("no window of maintenance ", id));
    }
  }
  ASSIGN_OR_RETURN(*response, parts_.maintenance.End(id, ValidText(by.name, AuditLog::kMaxFieldBytes), now_ns));
  return absl::OkStatus();
}

void AdminService::RunChange(const Change& change, std::function<absl::Status()> work) {
  const bool taken = parts_.worker.TryRun([this, change, work = std::move(work)] { Finish(change, work()); });
  if (!taken) change.call.reactor->Finish(TooManyWait());
}

void AdminService::Conclude(const Change& change, const absl::Status& outcome) {
  // What has happened is kept, whoever has to wait for it.
  if (!parts_.worker.TryRun([this, change, outcome] { Finish(change, outcome); })) Finish(change, outcome);
}

void AdminService::Finish(const Change& change, const absl::Status& outcome) {
  parts_.audit.Note(*change.call.by, change.call.peer, change.action, change.of, outcome);
  change.call.reactor->Finish(ToGrpc(outcome));
}

grpc::ServerWriteReactor<wire::OnDemandAnswer>* AdminService::OnDemand(grpc::CallbackServerContext* context,
                                                                       const wire::OnDemandRequest* request) {
  const absl::StatusOr<std::shared_ptr<const Caller>> caller =
      parts_.access.Admit(*context, "lockstep.wire.Admin.OnDemand");
  absl::Status admitted = caller.status();
  QueryAdmission::Slot place;
  if (admitted.ok()) {
    absl::StatusOr<QueryAdmission::Slot> slot = demands_.Admit(ClientOf(**caller, context->peer()));
    admitted = slot.status();
    if (slot.ok()) place = *std::move(slot);
  }
  const auto stream = std::make_shared<DemandStream>(std::move(place));
  stream->Start(stream);
  if (!admitted.ok()) {
    stream->Refuse(admitted);
    return stream.get();
  }
  const bool taken = parts_.worker.TryRun([this, by = *caller, peer = context->peer(), request = *request, stream] {
    BeginDemand(*by, peer, request, stream);
  });
  if (!taken) stream->Refuse(absl::ResourceExhaustedError("too many queries wait for history"));
  return stream.get();
}

void AdminService::BeginDemand(const Caller& by, const std::string& peer, const wire::OnDemandRequest& request,
                               const std::shared_ptr<DemandStream>& stream) {
  absl::StatusOr<DemandTargets> found = absl::NotFoundError(absl::StrCat("no job \"", request.job(), "\""));
  if (by.Sees(request.job())) {
    const DemandKindRow* const kind = FindDemandKind(request.kind());
    constexpr size_t kMost = DemandBook::kMaxOpenOfJob;
    const auto snapshots = parts_.snapshots();
    found = kind != nullptr && kind->peers > 0
                ? FindCompared(snapshots, request.job(), RanksToCompare(request, snapshots), kind->peers, kMost)
                : FindDemandTargets(snapshots, request.job(), request.ranks(), kMost);
  }
  absl::Status checked = found.status();
  if (checked.ok()) checked = CheckDemand(request.kind(), request.parameters());
  // Before anybody is asked: nothing is looked at of which there is no record.
  parts_.audit.Note(by, peer, "demand",
                    absl::StrCat(request.kind(), " of ", found.ok() ? found->targets.size() : 0, " ranks of job ",
                                 ValidText(request.job(), AuditLog::kMaxFieldBytes)),
                    checked);
  if (!checked.ok()) return stream->Refuse(checked);
  stream->Expect(found->targets.size(), found->left_out);
  const DemandBook::Answer take = AlsoTaking(request, found->targets.size());
  const auto answer = [take, weak = std::weak_ptr<DemandStream>(stream)](const DemandResult& result) {
    if (take != nullptr) take(result);
    if (const std::shared_ptr<DemandStream> waiting = weak.lock()) waiting->Push(result);
  };
  parts_.demands.Open({request.kind(), request.job(), request.parameters(), std::move(found->targets)}, answer);
}

DemandBook::Answer AdminService::AlsoTaking(const wire::OnDemandRequest& request, size_t answers) const {
  if (request.kind() != "profile") return nullptr;
  std::vector<wire::Incident> incidents = OpenIncidentsOf(request.job());
  std::erase_if(incidents, [](const wire::Incident& incident) { return !MayBeProfiled(incident); });
  const wire::Incident* const about = MostLikelyProfiled(incidents);
  return GatherProfiles({parts_.worker, parts_.metrics, parts_.run_on_shard}, request.job(),
                        about == nullptr ? 0 : about->id(), answers, /*done=*/nullptr);
}

std::vector<wire::Incident> AdminService::OpenIncidentsOf(const std::string& job) const {
  std::vector<wire::Incident> open;
  parts_.incidents.ForEach(/*open_only=*/true, job, [&](const wire::Incident& incident) { open.push_back(incident); });
  return open;
}

std::vector<int32_t> AdminService::RanksToCompare(
    const wire::OnDemandRequest& request, absl::Span<const std::shared_ptr<const JobsSnapshot>> snapshots) const {
  if (!request.ranks().empty()) return {request.ranks().begin(), request.ranks().end()};
  const std::vector<wire::Rank>* const ranks = RanksOf(snapshots, request.job());
  return ranks == nullptr ? std::vector<int32_t>() : SuspectRanks(OpenIncidentsOf(request.job()), *ranks);
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
  parts_.gpus.Forget(host);
  Log(LogLevel::kInfo, "a host is not expected any more", {{"host", host}});
  return absl::OkStatus();
}

}  // namespace lockstep
