// The Ingest service: a reactor per stream, and the registry that makes an orderly end possible.
//
// A callback RPC that never finishes makes Server::Shutdown wait for ever; therefore every stream is known here, can be
// told to finish, and can be waited for. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_INGEST_INGEST_SERVICE_H_
#define LOCKSTEP_COLLECTOR_INGEST_INGEST_SERVICE_H_

#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "collector/access/access_control.h"
#include "collector/access/caller.h"
#include "collector/access/peer_names.h"
#include "collector/ingest/ingest_stream.h"
#include "collector/ingest/report_sink.h"
#include "proto/ingest.grpc.pb.h"

namespace lockstep {

struct IngestServiceOptions {
  size_t max_streams = 20'000;
  int64_t hello_within_ns = 10'000'000'000;  // a stream that says nothing for this long is closed
};

class IngestService final : public wire::Ingest::CallbackService {
 public:
  // References are borrowed.
  IngestService(const IngestServiceOptions& options, AccessControl& access, ReportSink& sink, const Clock& clock);
  ~IngestService() override;

  // The errors of AccessControl for who is no agent, RESOURCE_EXHAUSTED beyond max_streams, UNAVAILABLE once draining.
  grpc::ServerBidiReactor<wire::AgentMessage, wire::CollectorMessage>* Stream(
      grpc::CallbackServerContext* context) override;

  // Closes streams that never said hello. To be called every now and then.
  void CloseMute();

  // Closes streams of agents that the rules of access, if they have changed, let in no more or for other hosts. To be
  // called every now and then.
  void CloseRevoked();

  // Refuses new streams, ends all others with UNAVAILABLE and waits until they are gone, at most `nanos`. False if some
  // are left.
  bool Drain(int64_t nanos);

  size_t streams() const;

 private:
  struct Live {
    std::shared_ptr<IngestStream> stream;
    int64_t opened_ns;
    PeerNames names;            // of the agent's certificate
    std::string authorization;  // what it said with the call; "" = nothing
    std::shared_ptr<const Caller> caller;
  };

  void Forget(IngestStream* stream);

  const IngestServiceOptions options_;
  AccessControl& access_;
  ReportSink& sink_;
  const Clock& clock_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::map<IngestStream*, Live> live_ ABSL_GUARDED_BY(mutex_);
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t judged_by_ ABSL_GUARDED_BY(mutex_) = 0;  // generation of the rules
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INGEST_INGEST_SERVICE_H_
