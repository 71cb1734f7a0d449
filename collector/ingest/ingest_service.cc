#include "collector/ingest/ingest_service.h"

#include <grpcpp/security/auth_context.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/check.h"
#include "daemon/grpc_status.h"

namespace lockstep {
namespace {

// Ends a stream that is not let in.
class RefusedStream final : public grpc::ServerBidiReactor<wire::AgentMessage, wire::CollectorMessage> {
 public:
  explicit RefusedStream(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

IngestService::IngestService(const IngestServiceOptions& options, AccessControl& access, ReportSink& sink,
                             const Clock& clock)
    : options_(options), access_(access), sink_(sink), clock_(clock) {}

IngestService::~IngestService() { CHECK(streams() == 0); }

grpc::ServerBidiReactor<wire::AgentMessage, wire::CollectorMessage>* IngestService::Stream(
    grpc::CallbackServerContext* context) {
  absl::StatusOr<std::shared_ptr<const Caller>> caller = access_.Admit(*context, "lockstep.wire.Ingest.Stream");
  if (!caller.ok()) return new RefusedStream(ToGrpc(caller.status()));
  const std::shared_ptr<const grpc::AuthContext> auth = context->auth_context();
  auto stream =
      std::make_shared<IngestStream>(sink_, context->peer(), *caller, [this](IngestStream* done) { Forget(done); });
  {
    MutexLock lock(mutex_);
    if (draining_) return new RefusedStream(grpc::Status(grpc::StatusCode::UNAVAILABLE, "draining"));
    if (live_.size() >= options_.max_streams) {
      return new RefusedStream(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many streams"));
    }
    live_[stream.get()] = {stream, clock_.MonotonicNanos(), auth == nullptr ? PeerNames() : NamesOf(*auth),
                           std::string(AuthorizationOf(*context)), *caller};
  }
  IngestStream* reactor = stream.get();
  reactor->Start(std::move(stream));
  return reactor;
}

void IngestService::Forget(IngestStream* stream) {
  std::shared_ptr<IngestStream> last;  // dies after the lock is released
  MutexLock lock(mutex_);
  const auto found = live_.find(stream);
  CHECK(found != live_.end());
  last = std::move(found->second.stream);
  live_.erase(found);
  changed_.NotifyAll();
}

void IngestService::CloseMute() {
  const int64_t now = clock_.MonotonicNanos();
  std::vector<std::shared_ptr<IngestStream>> mute;
  {
    MutexLock lock(mutex_);
    for (const auto& [key, live] : live_) {
      if (now - live.opened_ns > options_.hello_within_ns && live.stream->is_waiting_for_hello()) {
        mute.push_back(live.stream);
      }
    }
  }
  for (const auto& stream : mute) {
    sink_.OnRejected("no_hello");
    stream->Close(absl::DeadlineExceededError("no hello"));
  }
}

void IngestService::CloseRevoked() {
  const uint64_t generation = access_.generation();
  std::vector<std::shared_ptr<IngestStream>> revoked;
  {
    MutexLock lock(mutex_);
    if (std::exchange(judged_by_, generation) == generation) return;
    for (const auto& [key, live] : live_) {
      const absl::StatusOr<std::shared_ptr<const Caller>> now =
          access_.IdentifyAsOf(live.caller->token_judged_ns, live.names, live.authorization);
      const bool is_same = now.ok() && (*now)->role == live.caller->role && (*now)->hosts == live.caller->hosts &&
                           (*now)->reports_any_host == live.caller->reports_any_host &&
                           (*now)->reports == live.caller->reports;
      if (!is_same) revoked.push_back(live.stream);
    }
  }
  for (const auto& stream : revoked) {
    sink_.OnRejected("revoked");
    stream->Close(absl::PermissionDeniedError("the rules of access have changed: say hello again"));
  }
}

bool IngestService::Drain(int64_t nanos) {
  std::vector<std::shared_ptr<IngestStream>> streams;
  {
    MutexLock lock(mutex_);
    draining_ = true;
    for (const auto& [key, live] : live_) streams.push_back(live.stream);
  }
  for (const auto& stream : streams) stream->Close(absl::UnavailableError("draining"));
  streams.clear();
  const int64_t deadline = RealClock().MonotonicNanos() + nanos;
  MutexLock lock(mutex_);
  while (!live_.empty()) {
    const int64_t left = deadline - RealClock().MonotonicNanos();
    if (left <= 0) return false;
    changed_.WaitFor(mutex_, left);
  }
  return true;
}

size_t IngestService::streams() const {
  MutexLock lock(mutex_);
  return live_.size();
}

}  // namespace lockstep
