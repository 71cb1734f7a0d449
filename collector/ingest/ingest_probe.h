// Asks the ingest service whether its reactions still run: a stream of our own that is opened, ended, and has to come
// back.
//
// Streams have no thread that could count its turns. gRPC's threads run their reactions, and if all of those hang, no
// agent is read from however well everything behind is. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_INGEST_INGEST_PROBE_H_
#define LOCKSTEP_COLLECTOR_INGEST_INGEST_PROBE_H_

#include <grpcpp/channel.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/progress_watch.h"
#include "proto/ingest.grpc.pb.h"

namespace lockstep {

class IngestProbe {
 public:
  // `channel` leads to the server of this process, which lets the probe in by its `token`; "" = it needs none.
  explicit IngestProbe(const std::shared_ptr<grpc::Channel>& channel, std::string token = "");
  // Stop, if that was not done.
  ~IngestProbe();
  IngestProbe(const IngestProbe&) = delete;
  IngestProbe& operator=(const IngestProbe&) = delete;

  // Opens a stream, unless one is under way. To be called about once per second.
  void Ask();

  // Cancels the stream that is under way and waits for its end; Ask does nothing from now on. To be called before the
  // server is shut down. Idempotent.
  void Stop();

  // Has work while a stream is under way; moves when one has come back, whatever its status.
  Progress progress() const;

 private:
  class Call;

  void OnAnswered();

  const std::unique_ptr<wire::Ingest::Stub> stub_;
  const std::string token_;
  mutable Mutex mutex_;
  CondVar answered_;
  std::shared_ptr<Call> call_ ABSL_GUARDED_BY(mutex_);  // nullptr = none is under way
  uint64_t answers_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INGEST_INGEST_PROBE_H_
