#include "collector/alert/testing/health_event_server.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/clock.h"

namespace lockstep {
namespace {

constexpr int64_t kPatienceNanos = 10 * kNanosPerSecond;
constexpr int64_t kLookNanos = 10 * kNanosPerMilli;

}  // namespace

HealthEventServer::HealthEventServer(const std::string& path) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::StrCat("unix:", path), grpc::InsecureServerCredentials());
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  CHECK(server_ != nullptr);
}

HealthEventServer::~HealthEventServer() {
  Hold(false);
  server_->Shutdown();
}

void HealthEventServer::AnswerBy(Answering answering) {
  MutexLock lock(mutex_);
  answering_ = std::move(answering);
}

void HealthEventServer::Hold(bool hold) {
  MutexLock lock(mutex_);
  hold_ = hold;
  changed_.NotifyAll();
}

bool HealthEventServer::WaitForCalls(size_t count) {
  const int64_t until_ns = RealClock().MonotonicNanos() + kPatienceNanos;
  MutexLock lock(mutex_);
  while (calls_.size() < count) {
    const int64_t left_ns = until_ns - RealClock().MonotonicNanos();
    if (left_ns <= 0) return false;
    changed_.WaitFor(mutex_, left_ns);
  }
  return true;
}

std::vector<HealthEventServer::Call> HealthEventServer::calls() const {
  MutexLock lock(mutex_);
  return calls_;
}

grpc::Status HealthEventServer::HealthEventOccurredV1(grpc::ServerContext* context,
                                                      const datamodels::HealthEvents* events,
                                                      google::protobuf::Empty*) {
  Call call{*events, ""};
  const auto header = context->client_metadata().find("authorization");
  if (header != context->client_metadata().end()) {
    call.authorization = std::string(header->second.data(), header->second.size());
  }
  MutexLock lock(mutex_);
  calls_.push_back(std::move(call));
  changed_.NotifyAll();
  while (hold_ && !context->IsCancelled()) changed_.WaitFor(mutex_, kLookNanos);
  return answering_ ? answering_(*events) : grpc::Status::OK;
}

}  // namespace lockstep
