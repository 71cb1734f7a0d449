#include "cli/testing/fake_query_server.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "proto/admin.grpc.pb.h"
#include "proto/query.grpc.pb.h"

namespace lockstep {

class FakeQueryServer::Service final : public wire::Query::Service {
 public:
  explicit Service(Answers answers) : answers_(std::move(answers)) {}

  grpc::Status GetStatus(grpc::ServerContext*, const wire::GetStatusRequest*,
                         wire::GetStatusResponse* response) override {
    *response = answers_.status;
    return grpc::Status::OK;
  }

  grpc::Status ListJobs(grpc::ServerContext*, const wire::ListJobsRequest*, wire::ListJobsResponse* response) override {
    *response = answers_.jobs;
    return grpc::Status::OK;
  }

  grpc::Status ListRanks(grpc::ServerContext*, const wire::ListRanksRequest* request,
                         wire::ListRanksResponse* response) override {
    if (request->job() != answers_.job) return UnknownJob(request->job());
    *response = answers_.ranks;
    return grpc::Status::OK;
  }

  grpc::Status ListIncidents(grpc::ServerContext*, const wire::ListIncidentsRequest* request,
                             wire::ListIncidentsResponse* response) override {
    if (answers_.is_away && answers_.is_away()) return {grpc::StatusCode::UNAVAILABLE, "away"};
    if (answers_.on_incidents) answers_.on_incidents(*request);
    if (answers_.change_incidents) answers_.change_incidents(answers_.incidents);
    *response = answers_.incidents;
    return grpc::Status::OK;
  }

  grpc::Status GetIncident(grpc::ServerContext*, const wire::GetIncidentRequest* request,
                           wire::Incident* response) override {
    for (const wire::Incident& incident : answers_.incidents.incidents()) {
      if (incident.id() != request->id()) continue;
      *response = incident;
      return grpc::Status::OK;
    }
    return {grpc::StatusCode::NOT_FOUND, absl::StrCat("no incident ", request->id())};
  }

  grpc::Status ListMaintenance(grpc::ServerContext*, const wire::ListMaintenanceRequest*,
                               wire::ListMaintenanceResponse* response) override {
    *response = answers_.maintenance;
    return grpc::Status::OK;
  }

  grpc::Status ListGpus(grpc::ServerContext*, const wire::ListGpusRequest* request,
                        wire::ListGpusResponse* response) override {
    const auto& hosts = request->hosts();
    for (const wire::Gpu& gpu : answers_.gpus.gpus()) {
      const bool is_there = hosts.empty() || std::find(hosts.begin(), hosts.end(), gpu.host()) != hosts.end();
      const bool is_named =
          request->gpu().empty() || request->gpu() == gpu.uuid() || request->gpu() == gpu.pci_address();
      if (is_there && is_named) *response->add_gpus() = gpu;
    }
    return grpc::Status::OK;
  }

  grpc::Status GetHistory(grpc::ServerContext*, const wire::GetHistoryRequest* request,
                          wire::GetHistoryResponse* response) override {
    if (answers_.on_history) answers_.on_history(*request);
    *response = request->has_resume() ? answers_.more_history[request->resume().wall_ns()] : answers_.history;
    auto& series = *response->mutable_series();
    const auto is_other = [request](const wire::Series& one) { return one.host() != request->host(); };
    if (!request->host().empty()) series.erase(std::remove_if(series.begin(), series.end(), is_other), series.end());
    return grpc::Status::OK;
  }

  grpc::Status Capture(grpc::ServerContext*, const wire::CaptureRequest* request,
                       grpc::ServerWriter<wire::CaptureEntry>* writer) override {
    if (request->job() != answers_.job) return UnknownJob(request->job());
    for (const wire::CaptureEntry& entry : answers_.capture) writer->Write(entry);
    return grpc::Status::OK;
  }

 private:
  static grpc::Status UnknownJob(const std::string& job) {
    return {grpc::StatusCode::NOT_FOUND, absl::StrCat("no job called ", job)};
  }

  Answers answers_;
};

class FakeQueryServer::AdminService final : public wire::Admin::Service {
 public:
  explicit AdminService(const Answers& answers)
      : job_(answers.job), on_demand_(answers.on_demand), on_change_(answers.on_change) {}

  grpc::Status OnDemand(grpc::ServerContext*, const wire::OnDemandRequest* request,
                        grpc::ServerWriter<wire::OnDemandAnswer>* writer) override {
    if (request->job() != job_) return {grpc::StatusCode::NOT_FOUND, absl::StrCat("no job called ", request->job())};
    for (const wire::OnDemandAnswer& answer : on_demand_) writer->Write(answer);
    return Note(*request);
  }

  grpc::Status Acknowledge(grpc::ServerContext*, const wire::AcknowledgeRequest* request,
                           wire::Incident* response) override {
    if (!request->undo()) response->mutable_acknowledgement()->set_by("alice");
    return Note(*request);
  }
  grpc::Status Silence(grpc::ServerContext*, const wire::SilenceRequest* request, wire::Incident* response) override {
    if (request->until_wall_ns() != 0) response->mutable_silence()->set_until_wall_ns(request->until_wall_ns());
    return Note(*request);
  }
  grpc::Status Resolve(grpc::ServerContext*, const wire::ResolveRequest* request, wire::Incident* response) override {
    response->mutable_resolved_by()->set_by("alice");
    return Note(*request);
  }
  grpc::Status Comment(grpc::ServerContext*, const wire::CommentRequest* request, wire::Incident* response) override {
    response->add_comments()->set_text(request->text());
    return Note(*request);
  }
  grpc::Status AddMaintenance(grpc::ServerContext*, const wire::AddMaintenanceRequest* request,
                              wire::MaintenanceWindow* response) override {
    response->set_id(3);
    *response->mutable_hosts() = request->hosts();
    *response->mutable_jobs() = request->jobs();
    response->set_begin_wall_ns(request->begin_wall_ns());
    response->set_end_wall_ns(request->end_wall_ns());
    return Note(*request);
  }
  grpc::Status EndMaintenance(grpc::ServerContext*, const wire::EndMaintenanceRequest* request,
                              wire::MaintenanceWindow* response) override {
    response->set_id(request->id());
    return Note(*request);
  }

 private:
  grpc::Status Note(const google::protobuf::Message& request) const {
    if (on_change_) on_change_(request);
    return grpc::Status::OK;
  }

  const std::string job_;
  const std::vector<wire::OnDemandAnswer> on_demand_;
  const std::function<void(const google::protobuf::Message&)> on_change_;
};

class FakeQueryServer::Listener {
 public:
  Listener(grpc::Service& service, grpc::Service& admin) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&service);
    builder.RegisterService(&admin);
    server_ = builder.BuildAndStart();
    CHECK(server_ != nullptr);
  }
  ~Listener() { server_->Shutdown(); }

  int port() const { return port_; }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

FakeQueryServer::FakeQueryServer(Answers answers)
    : service_(std::make_unique<Service>(answers)),
      admin_(std::make_unique<AdminService>(answers)),
      listener_(std::make_unique<Listener>(*service_, *admin_)),
      address_(absl::StrCat("127.0.0.1:", listener_->port())) {}

FakeQueryServer::~FakeQueryServer() = default;

}  // namespace lockstep
