#include "collector/ingest/ingest_probe.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <utility>

namespace lockstep {

// One stream. Lives until OnDone, and as long as the probe has it.
class IngestProbe::Call final : public grpc::ClientBidiReactor<wire::AgentMessage, wire::CollectorMessage> {
 public:
  explicit Call(IngestProbe& probe) : probe_(probe) {}

  void Start(std::shared_ptr<Call> self, wire::Ingest::Stub& stub) {
    self_ = std::move(self);
    if (!probe_.token_.empty()) context_.AddMetadata("authorization", "Bearer " + probe_.token_);
    stub.async()->Stream(&context_, this);
    StartWritesDone();
    StartCall();
  }

  void Cancel() { context_.TryCancel(); }

  void OnDone(const grpc::Status& status) override {
    const std::shared_ptr<Call> self = std::move(self_);
    probe_.OnAnswered();
  }

 private:
  IngestProbe& probe_;
  grpc::ClientContext context_;
  std::shared_ptr<Call> self_;
};

IngestProbe::IngestProbe(const std::shared_ptr<grpc::Channel>& channel, std::string token)
    : stub_(wire::Ingest::NewStub(channel)), token_(std::move(token)) {}

IngestProbe::~IngestProbe() { Stop(); }

void IngestProbe::Stop() {
  std::shared_ptr<Call> call;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    call = call_;
  }
  if (call != nullptr) call->Cancel();
  MutexLock lock(mutex_);
  while (call_ != nullptr) answered_.Wait(mutex_);
}

void IngestProbe::Ask() {
  auto call = std::make_shared<Call>(*this);
  {
    MutexLock lock(mutex_);
    if (call_ != nullptr || stopped_) return;
    call_ = call;
  }
  // Without the lock: gRPC may run reactions before it returns.
  Call& started = *call;
  started.Start(std::move(call), *stub_);
}

void IngestProbe::OnAnswered() {
  std::shared_ptr<Call> last;  // dies after the lock is released
  MutexLock lock(mutex_);
  last = std::move(call_);
  ++answers_;
  answered_.NotifyAll();
}

Progress IngestProbe::progress() const {
  MutexLock lock(mutex_);
  return {.turns = answers_, .has_work = call_ != nullptr};
}

}  // namespace lockstep
