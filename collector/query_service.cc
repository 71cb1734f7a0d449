#include "collector/query_service.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/metric_catalog.h"
#include "base/status_macros.h"
#include "collector/answer_budget.h"
#include "collector/capture_stream.h"
#include "collector/host_histories.h"
#include "collector/tenant_share.h"
#include "daemon/grpc_status.h"

namespace lockstep {
namespace {

grpc::Status TooManyWait() {
  return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many queries wait for history");
}

grpc::Status NotFound(const std::string& message) { return grpc::Status(grpc::StatusCode::NOT_FOUND, message); }

wire::FailingSource ToProto(const FailingSource& source) {
  wire::FailingSource row;
  row.set_host(source.host);
  row.set_source(source.source);
  row.set_since_wall_ns(source.since_wall_ns);
  row.set_hangs(source.hangs);
  row.set_why(source.why);
  return row;
}

wire::MissingHost ToProto(const MissingHost& host) {
  wire::MissingHost row;
  row.set_host(host.name);
  row.set_last_report_wall_ns(host.last_report_wall_ns);
  row.set_in_inventory(host.in_inventory);
  return row;
}

wire::AgentStatus ToProto(const AgentView& agent) {
  wire::AgentStatus row;
  row.set_host(agent.host);
  row.set_version(agent.version);
  row.set_connected(agent.connected);
  row.set_last_report_wall_ns(agent.last_report_wall_ns);
  row.set_last_sequence(agent.last_sequence);
  return row;
}

// For AnswerBudget::Fill.
constexpr auto kToProto = [](const auto& row) { return ToProto(row); };

// One call with one answer. Keeps its place among the queries until gRPC has sent the answer.
class UnaryQuery final : public grpc::ServerUnaryReactor {
 public:
  explicit UnaryQuery(QueryAdmission::Slot slot) : slot_(std::move(slot)) {}
  void OnDone() override { delete this; }

 private:
  const QueryAdmission::Slot slot_;
};

// A capture that there is no place for.
class RefusedCapture final : public grpc::ServerWriteReactor<wire::CaptureEntry> {
 public:
  explicit RefusedCapture(const absl::Status& status) { Finish(ToGrpc(status)); }
  void OnDone() override { delete this; }
};

}  // namespace

absl::StatusOr<QueryService::Guest> QueryService::Enter(grpc::CallbackServerContext* context, absl::string_view method,
                                                        QueryAdmission& places) {
  ASSIGN_OR_RETURN(std::shared_ptr<const Caller> caller, view_.access.Admit(*context, method));
  ASSIGN_OR_RETURN(QueryAdmission::Slot slot, places.Admit(ClientOf(*caller, context->peer())));
  return Guest{std::move(caller), std::move(slot)};
}

grpc::ServerUnaryReactor* QueryService::Answer(grpc::CallbackServerContext* context, absl::string_view method,
                                               const std::function<grpc::Status(const TenantView&)>& fill) {
  absl::StatusOr<Guest> guest = Enter(context, method, queries_);
  auto* query = new UnaryQuery(guest.ok() ? std::move(guest->slot) : nullptr);
  query->Finish(guest.ok() ? fill(TenantView(*guest->caller, view_.snapshots)) : ToGrpc(guest.status()));
  return query;
}

uint32_t QueryService::OpenIncidents(const TenantView& tenant) const {
  if (tenant.sees_all()) return static_cast<uint32_t>(view_.incidents.open_count());
  uint32_t open = 0;
  view_.incidents.ForEach(/*open_only=*/true, "",
                          [&](const wire::Incident& incident) { open += tenant.SeesJob(incident.job()) ? 1 : 0; });
  return open;
}

std::vector<wire::HostHistory> QueryService::Histories(const TenantView& tenant) const {
  return HostHistories(view_.incidents, view_.clock.WallNanos(),
                       [&](const std::string& job) { return tenant.SeesJob(job); });
}

void QueryService::CountCut(bool cut) const {
  if (cut) view_.metrics.cut.Increment();
}

grpc::ServerUnaryReactor* QueryService::GetStatus(grpc::CallbackServerContext* context,
                                                  const wire::GetStatusRequest* request,
                                                  wire::GetStatusResponse* response) {
  return Answer(context, "lockstep.wire.Query.GetStatus", [&](const TenantView& tenant) {
    response->set_version(view_.version);
    response->set_started_wall_ns(view_.started_wall_ns);
    response->set_now_wall_ns(view_.os_clock.WallNanos());
    const int64_t now_ns = view_.clock.WallNanos();
    response->set_time_line_wall_ns(now_ns);
    if (request->only_times()) return grpc::Status::OK;
    response->set_reports_stored(view_.reports_stored());
    response->set_open_incidents(OpenIncidents(tenant));
    for (wire::HostHistory& history : Histories(tenant)) {
      if (static_cast<size_t>(response->host_histories_size()) >= kMaxHostHistories) break;
      *response->add_host_histories() = std::move(history);
    }
    AnswerBudget budget;
    const std::vector<AgentView> agents = view_.agents.agents();
    response->set_failing_sources_left_out(budget.Fill(tenant.HostsOf(view_.sources.List(now_ns), &FailingSource::host),
                                                       kToProto, response->mutable_failing_sources()));
    response->set_missing_hosts_left_out(
        budget.Fill(tenant.HostsOf(view_.hosts.Missing(agents, now_ns), &MissingHost::name), kToProto,
                    response->mutable_missing_hosts()));
    response->set_left_out(budget.Fill(tenant.HostsOf(agents, &AgentView::host), kToProto, response->mutable_agents()));
    CountCut(budget.left_out() > 0);
    return grpc::Status::OK;
  });
}

grpc::ServerUnaryReactor* QueryService::ListJobs(grpc::CallbackServerContext* context,
                                                 const wire::ListJobsRequest* request,
                                                 wire::ListJobsResponse* response) {
  return Answer(context, "lockstep.wire.Query.ListJobs", [&](const TenantView& tenant) {
    std::vector<const wire::Job*> jobs;
    const auto snapshots = view_.snapshots();
    for (const auto& snapshot : snapshots) {
      for (const wire::Job& job : snapshot->jobs) {
        if (tenant.SeesJob(job.job())) jobs.push_back(&job);
      }
    }
    std::sort(jobs.begin(), jobs.end(), [](const wire::Job* a, const wire::Job* b) { return a->job() < b->job(); });
    AnswerBudget budget;
    response->set_left_out(budget.Fill(
        jobs, [](const wire::Job* job) { return *job; }, response->mutable_jobs()));
    CountCut(budget.left_out() > 0);
    return grpc::Status::OK;
  });
}

grpc::ServerUnaryReactor* QueryService::ListRanks(grpc::CallbackServerContext* context,
                                                  const wire::ListRanksRequest* request,
                                                  wire::ListRanksResponse* response) {
  return Answer(context, "lockstep.wire.Query.ListRanks", [&](const TenantView& tenant) {
    for (const auto& snapshot : view_.snapshots()) {
      const auto found = snapshot->ranks.find(request->job());
      if (found == snapshot->ranks.end() || !tenant.SeesJob(request->job())) continue;
      AnswerBudget budget;
      response->set_left_out(budget.Fill(
          *found->second, [](const wire::Rank& rank) { return rank; }, response->mutable_ranks()));
      CountCut(budget.left_out() > 0);
      return grpc::Status::OK;
    }
    return NotFound(absl::StrCat("no job \"", request->job(), "\""));
  });
}

grpc::ServerUnaryReactor* QueryService::ListIncidents(grpc::CallbackServerContext* context,
                                                      const wire::ListIncidentsRequest* request,
                                                      wire::ListIncidentsResponse* response) {
  return Answer(context, "lockstep.wire.Query.ListIncidents", [&](const TenantView& tenant) {
    const size_t wanted = request->limit() == 0 ? kDefaultIncidents : request->limit();
    AnswerBudget budget;
    size_t visited = 0;
    view_.incidents.ForEach(request->open_only(), request->job(), [&](const wire::Incident& incident) {
      if (tenant.SeesJob(incident.job()) && ++visited <= wanted && budget.Take(incident))
        *response->add_incidents() = incident;
    });
    response->set_left_out(budget.left_out());
    CountCut(budget.left_out() > 0);
    return grpc::Status::OK;
  });
}

grpc::ServerUnaryReactor* QueryService::GetIncident(grpc::CallbackServerContext* context,
                                                    const wire::GetIncidentRequest* request, wire::Incident* response) {
  return Answer(context, "lockstep.wire.Query.GetIncident", [&](const TenantView& tenant) {
    std::optional<wire::Incident> incident = view_.incidents.Find(request->id());
    if (!incident.has_value() || !tenant.SeesJob(incident->job()))
      return NotFound(absl::StrCat("no incident ", request->id()));
    *response = *std::move(incident);
    const auto& culprits = response->verdict().culprits();
    for (wire::HostHistory& history : culprits.empty() ? std::vector<wire::HostHistory>() : Histories(tenant)) {
      if (history.host() == culprits[0].host()) *response->mutable_host_history() = std::move(history);
    }
    return grpc::Status::OK;
  });
}

grpc::ServerUnaryReactor* QueryService::GetStacks(grpc::CallbackServerContext* context,
                                                  const wire::GetStacksRequest* request,
                                                  wire::GetStacksResponse* response) {
  absl::StatusOr<Guest> guest = Enter(context, "lockstep.wire.Query.GetStacks", queries_);
  auto* query = new UnaryQuery(guest.ok() ? std::move(guest->slot) : nullptr);
  grpc::Status refusal = ToGrpc(guest.status());
  if (guest.ok()) {
    const std::optional<wire::Incident> incident = view_.incidents.Find(request->incident());
    const bool seen = incident.has_value() && guest->caller->Sees(incident->job());
    if (!seen) refusal = NotFound(absl::StrCat("no incident ", request->incident()));
  }
  if (!refusal.ok()) {
    query->Finish(refusal);
    return query;
  }
  const bool taken = view_.worker.TryRun([this, query, id = request->incident(), response] {
    absl::StatusOr<std::vector<wire::StackDump>> dumps = view_.history.LoadStacks(id);
    if (!dumps.ok()) return query->Finish(ToGrpc(dumps.status()));
    AnswerBudget budget;
    for (wire::StackDump& dump : *dumps) {
      if (budget.Take(dump)) *response->add_dumps() = std::move(dump);
    }
    CountCut(budget.left_out() > 0);
    query->Finish(grpc::Status::OK);
  });
  if (!taken) query->Finish(TooManyWait());
  return query;
}

grpc::ServerUnaryReactor* QueryService::ListMaintenance(grpc::CallbackServerContext* context,
                                                        const wire::ListMaintenanceRequest* request,
                                                        wire::ListMaintenanceResponse* response) {
  return Answer(context, "lockstep.wire.Query.ListMaintenance", [&](const TenantView& tenant) {
    std::vector<wire::MaintenanceWindow> windows;
    for (wire::MaintenanceWindow& window : view_.maintenance.List(request->with_past(), view_.clock.WallNanos())) {
      if (tenant.Narrow(window)) windows.push_back(std::move(window));
    }
    AnswerBudget budget;
    response->set_left_out(budget.Fill(
        windows, [](const wire::MaintenanceWindow& window) { return window; }, response->mutable_windows()));
    CountCut(budget.left_out() > 0);
    return grpc::Status::OK;
  });
}

grpc::ServerUnaryReactor* QueryService::ListGpus(grpc::CallbackServerContext* context,
                                                 const wire::ListGpusRequest* request,
                                                 wire::ListGpusResponse* response) {
  return Answer(context, "lockstep.wire.Query.ListGpus", [&](const TenantView& tenant) {
    const std::map<std::string, HostShare> shares = tenant.Shares();
    AnswerBudget budget;
    view_.gpus.ForEach(*request, [&](wire::Gpu gpu) {
      if (tenant.Narrow(shares, gpu) && budget.Take(gpu)) *response->add_gpus() = std::move(gpu);
    });
    response->set_left_out(budget.left_out());
    CountCut(budget.left_out() > 0);
    return grpc::Status::OK;
  });
}

grpc::ServerUnaryReactor* QueryService::GetHistory(grpc::CallbackServerContext* context,
                                                   const wire::GetHistoryRequest* request,
                                                   wire::GetHistoryResponse* response) {
  absl::StatusOr<Guest> guest = Enter(context, "lockstep.wire.Query.GetHistory", queries_);
  absl::StatusOr<HostShare> share =
      guest.ok() ? TenantView(*guest->caller, view_.snapshots).ShareOf(request->host()) : guest.status();
  auto* query = new UnaryQuery(guest.ok() ? std::move(guest->slot) : nullptr);
  if (!share.ok()) {
    query->Finish(ToGrpc(share.status()));
    return query;
  }
  const bool taken = view_.worker.TryRun([this, query, request, response, share = *std::move(share)] {
    query->Finish(ReadHistory(*request, share, *response));
  });
  if (!taken) {
    query->Finish(TooManyWait());
  }
  return query;
}

grpc::Status QueryService::ReadHistory(const wire::GetHistoryRequest& request, const HostShare& share,
                                       wire::GetHistoryResponse& response) const {
  const MetricInfo* metric = FindMetric(absl::string_view(request.metric()));
  if (metric == nullptr) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, absl::StrCat("no metric \"", request.metric(), "\""));
  }
  SeriesSelector selector;
  selector.metric = metric->metric;
  selector.host = request.host();
  selector.device = request.device();
  selector.from_wall_ns = request.from_wall_ns();
  selector.to_wall_ns = request.to_wall_ns() != 0 ? request.to_wall_ns() : view_.clock.WallNanos();
  if (!share.whole) {
    selector.from_wall_ns = std::max(selector.from_wall_ns, share.span.first_wall_ns);
    selector.to_wall_ns = std::min(selector.to_wall_ns, share.span.last_wall_ns + 1);
  }
  if (request.has_resume()) {
    selector.resume = SeriesCursor{request.resume().host(), request.resume().device(), request.resume().wall_ns()};
  }
  const absl::StatusOr<SeriesPage> page = view_.history.ReadSeries(selector, kHistoryPage);
  if (!page.ok()) return ToGrpc(page.status());
  for (const SeriesRange& range : page->ranges) {
    if (!share.Has(range.device)) continue;
    wire::Series& series = *response.add_series();
    series.set_metric(request.metric());
    series.set_host(range.host);
    series.set_device(range.device);
    series.mutable_wall_ns()->Reserve(static_cast<int>(range.points.size()));
    series.mutable_values()->Reserve(static_cast<int>(range.points.size()));
    for (const auto& [wall_ns, value] : range.points) {
      series.add_wall_ns(wall_ns);
      series.add_values(value);
    }
  }
  if (page->next.has_value()) {
    response.mutable_next()->set_host(page->next->host);
    response.mutable_next()->set_device(page->next->device);
    response.mutable_next()->set_wall_ns(page->next->wall_ns);
  }
  CountCut(page->next.has_value());
  return grpc::Status::OK;
}

grpc::ServerWriteReactor<wire::CaptureEntry>* QueryService::Capture(grpc::CallbackServerContext* context,
                                                                    const wire::CaptureRequest* request) {
  absl::StatusOr<Guest> guest = Enter(context, "lockstep.wire.Query.Capture", captures_);
  if (!guest.ok()) return new RefusedCapture(guest.status());
  // As for a job that there is not.
  if (!TenantView(*guest->caller, view_.snapshots).SeesJob(request->job())) {
    return new RefusedCapture(absl::NotFoundError(absl::StrCat("no job \"", request->job(), "\"")));
  }
  wire::CaptureRequest bounded = *request;
  if (bounded.to_wall_ns() == 0) bounded.set_to_wall_ns(view_.clock.WallNanos());
  auto stream = std::make_shared<CaptureStream>(std::move(bounded), !guest->caller->sees_all(), view_.history,
                                                view_.worker, std::move(guest->slot));
  CaptureStream* reactor = stream.get();
  reactor->Start(std::move(stream));
  return reactor;
}

}  // namespace lockstep
