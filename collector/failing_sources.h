// Which hosts' agents get nothing from one of their sources, by what they reported last.
//
// A host's word holds for kKeepNanos: one that falls silent is not known to fail any more, but to be silent. Bounded by
// kMaxRows; what does not fit is counted. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_FAILING_SOURCES_H_
#define LOCKSTEP_COLLECTOR_FAILING_SOURCES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

struct FailingSource {
  std::string host;
  std::string source;
  int64_t since_wall_ns = 0;
  bool hangs = false;  // does not answer; else it answers with an error, or is gone
  std::string why;     // at most FailingSources::kMaxWhyBytes
};

class FailingSources {
 public:
  static constexpr size_t kMaxRows = 50'000;  // 10 MiB; all sources of a fleet as large as a collector takes, and more
  static constexpr size_t kMaxWhyBytes = 200;
  static constexpr int64_t kKeepNanos = 60'000'000'000;

  // The names that agents of this release use, and one for all others: the values of a metric's label.
  static constexpr std::array kNames = {"rings",    "kernel_log", "host",          "net",  "infiniband",
                                        "nccl_ras", "nvml",       "dcgm_exporter", "other"};

  // Takes in what `report` of `host`, received at `now_wall_ns`, says of its sources.
  void Observe(const std::string& host, const wire::AgentReport& report, int64_t now_wall_ns);

  // By host, then as the agent lists them.
  std::vector<FailingSource> List(int64_t now_wall_ns) const;

  // Hosts, by kNames.
  std::array<int, kNames.size()> Count(int64_t now_wall_ns) const;

  // Forgets hosts that have fallen silent. To be called every now and then.
  void ForgetSilent(int64_t now_wall_ns);

  // How many rows did not fit since the last call.
  uint64_t TakeRefused();

 private:
  struct Said {
    int64_t heard_wall_ns = 0;
    std::vector<FailingSource> rows;  // never empty
  };

  mutable Mutex mutex_;
  std::map<std::string, Said> hosts_ ABSL_GUARDED_BY(mutex_);
  size_t rows_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;  // rows
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_FAILING_SOURCES_H_
