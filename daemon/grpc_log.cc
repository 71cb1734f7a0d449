#include "daemon/grpc_log.h"

#include <grpc/support/log.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/log.h"

namespace lockstep {
namespace {

void Print(gpr_log_func_args* line) {
  if (line->severity != GPR_LOG_SEVERITY_ERROR) return;
  static std::atomic<int64_t> second{0};
  static std::atomic<int> lines{0};
  const int64_t now = RealClock().MonotonicNanos() / kNanosPerSecond;
  if (second.exchange(now) != now) lines = 0;
  if (++lines <= kMaxGrpcLinesPerSecond) Log(LogLevel::kWarning, "gRPC", {{"says", line->message}});
}

void Drop(gpr_log_func_args* /*line*/) {}

}  // namespace

void TakeOverGrpcLog() { gpr_set_log_function(Print); }

void SilenceGrpcLog() { gpr_set_log_function(Drop); }

}  // namespace lockstep
