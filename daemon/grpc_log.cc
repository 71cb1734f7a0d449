#include "daemon/grpc_log.h"

#include <grpc/support/log.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/ration.h"

namespace lockstep {
namespace {

void Print(gpr_log_func_args* line) {
  if (line->severity != GPR_LOG_SEVERITY_ERROR) return;
  static Mutex mutex;
  static Ration lines(kMaxGrpcLinesPerSecond);
  {
    const MutexLock lock(mutex);
    if (!lines.Take(RealClock().MonotonicNanos())) return;
  }
  Log(LogLevel::kWarning, "gRPC", {{"says", line->message}});
}

void Drop(gpr_log_func_args* /*line*/) {}

}  // namespace

void TakeOverGrpcLog() { gpr_set_log_function(Print); }

void SilenceGrpcLog() { gpr_set_log_function(Drop); }

}  // namespace lockstep
