// A platform connector of NVSentinel as tests need it: a real gRPC server on a Unix socket, which takes HealthEvents.
//
// Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_ALERT_TESTING_HEALTH_EVENT_SERVER_H_
#define LOCKSTEP_COLLECTOR_ALERT_TESTING_HEALTH_EVENT_SERVER_H_

#include <grpcpp/server.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "proto/health_event.grpc.pb.h"

namespace lockstep {

class HealthEventServer final : private datamodels::PlatformConnector::Service {
 public:
  struct Call {
    datamodels::HealthEvents events;
    std::string authorization;  // the header of that name; "" = there was none
  };
  using Answering = std::function<grpc::Status(const datamodels::HealthEvents& events)>;

  // The socket must not be there yet.
  explicit HealthEventServer(const std::string& path);
  ~HealthEventServer() override;

  // Calls get what `answering` says, one at a time; OK until then.
  void AnswerBy(Answering answering);

  // While held, calls are taken but not answered, unless they are cancelled.
  void Hold(bool hold);

  // Waits until `count` calls have come in, held ones too; false after ten seconds.
  bool WaitForCalls(size_t count);

  std::vector<Call> calls() const;

 private:
  grpc::Status HealthEventOccurredV1(grpc::ServerContext* context, const datamodels::HealthEvents* events,
                                     google::protobuf::Empty* nothing) override;

  mutable Mutex mutex_;
  CondVar changed_;
  Answering answering_ ABSL_GUARDED_BY(mutex_);
  std::vector<Call> calls_ ABSL_GUARDED_BY(mutex_);
  bool hold_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<grpc::Server> server_;  // last: serves when everything else is there
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_TESTING_HEALTH_EVENT_SERVER_H_
