#include "collector/query_service.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/metric_catalog.h"
#include "collector/capture_stream.h"

namespace lockstep {
namespace {

grpc::Status NotFound(const std::string& message) { return grpc::Status(grpc::StatusCode::NOT_FOUND, message); }

grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, const grpc::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

}  // namespace

grpc::ServerUnaryReactor* QueryService::GetStatus(grpc::CallbackServerContext* context,
                                                  const wire::GetStatusRequest* request,
                                                  wire::GetStatusResponse* response) {
  response->set_version(view_.version);
  response->set_started_wall_ns(view_.started_wall_ns);
  response->set_now_wall_ns(view_.clock.WallNanos());
  response->set_reports_stored(view_.reports_stored());
  response->set_open_incidents(static_cast<uint32_t>(view_.incidents.open_count()));
  for (const AgentView& agent : view_.agents.agents()) {
    wire::AgentStatus& status = *response->add_agents();
    status.set_host(agent.host);
    status.set_version(agent.version);
    status.set_connected(agent.connected);
    status.set_last_report_wall_ns(agent.last_report_wall_ns);
    status.set_last_sequence(agent.last_sequence);
  }
  return Answer(context, grpc::Status::OK);
}

grpc::ServerUnaryReactor* QueryService::ListJobs(grpc::CallbackServerContext* context,
                                                 const wire::ListJobsRequest* request,
                                                 wire::ListJobsResponse* response) {
  for (const auto& snapshot : view_.snapshots()) {
    for (const wire::Job& job : snapshot->jobs) *response->add_jobs() = job;
  }
  std::sort(response->mutable_jobs()->begin(), response->mutable_jobs()->end(),
            [](const wire::Job& a, const wire::Job& b) { return a.job() < b.job(); });
  return Answer(context, grpc::Status::OK);
}

grpc::ServerUnaryReactor* QueryService::ListRanks(grpc::CallbackServerContext* context,
                                                  const wire::ListRanksRequest* request,
                                                  wire::ListRanksResponse* response) {
  for (const auto& snapshot : view_.snapshots()) {
    const auto found = snapshot->ranks.find(request->job());
    if (found == snapshot->ranks.end()) continue;
    for (const wire::Rank& rank : *found->second) *response->add_ranks() = rank;
    return Answer(context, grpc::Status::OK);
  }
  return Answer(context, NotFound(absl::StrCat("no job \"", request->job(), "\"")));
}

grpc::ServerUnaryReactor* QueryService::ListIncidents(grpc::CallbackServerContext* context,
                                                      const wire::ListIncidentsRequest* request,
                                                      wire::ListIncidentsResponse* response) {
  const size_t limit = request->limit() == 0 ? kDefaultIncidents : request->limit();
  for (wire::Incident& incident :
       view_.incidents.List(request->open_only(), request->job(), std::min(limit, kMaxIncidentsPerAnswer))) {
    *response->add_incidents() = std::move(incident);
  }
  return Answer(context, grpc::Status::OK);
}

grpc::ServerUnaryReactor* QueryService::GetIncident(grpc::CallbackServerContext* context,
                                                    const wire::GetIncidentRequest* request, wire::Incident* response) {
  std::optional<wire::Incident> incident = view_.incidents.Find(request->id());
  if (!incident.has_value()) return Answer(context, NotFound(absl::StrCat("no incident ", request->id())));
  *response = *std::move(incident);
  return Answer(context, grpc::Status::OK);
}

grpc::ServerUnaryReactor* QueryService::GetHistory(grpc::CallbackServerContext* context,
                                                   const wire::GetHistoryRequest* request,
                                                   wire::GetHistoryResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const bool taken =
      view_.worker.TryRun([this, reactor, request, response] { reactor->Finish(ReadHistory(*request, *response)); });
  if (!taken) {
    reactor->Finish(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many queries wait for history"));
  }
  return reactor;
}

grpc::Status QueryService::ReadHistory(const wire::GetHistoryRequest& request,
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
  bool truncated = false;
  const absl::StatusOr<std::vector<SeriesRange>> ranges =
      view_.history.ReadSeries(selector, kMaxSeriesPerAnswer, truncated);
  if (!ranges.ok()) {
    return grpc::Status(static_cast<grpc::StatusCode>(ranges.status().code()), std::string(ranges.status().message()));
  }
  size_t points_left = kMaxPointsPerAnswer;
  for (const SeriesRange& range : *ranges) {
    truncated = truncated || range.points.size() > points_left;
    const size_t taken = std::min(range.points.size(), points_left);
    if (taken == 0) continue;
    points_left -= taken;
    wire::Series& series = *response.add_series();
    series.set_metric(request.metric());
    series.set_host(range.host);
    series.set_device(range.device);
    for (size_t i = 0; i < taken; ++i) {
      series.add_wall_ns(range.points[i].first);
      series.add_values(range.points[i].second);
    }
  }
  response.set_truncated(truncated);
  return grpc::Status::OK;
}

grpc::ServerWriteReactor<wire::CaptureEntry>* QueryService::Capture(grpc::CallbackServerContext* context,
                                                                    const wire::CaptureRequest* request) {
  wire::CaptureRequest bounded = *request;
  if (bounded.to_wall_ns() == 0) bounded.set_to_wall_ns(view_.clock.WallNanos());
  auto stream = std::make_shared<CaptureStream>(std::move(bounded), view_.history, view_.worker);
  CaptureStream* reactor = stream.get();
  reactor->Start(std::move(stream));
  return reactor;
}

}  // namespace lockstep
