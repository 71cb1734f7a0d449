// The names of the GPUs of all hosts, and the ranks on them: what a verdict calls by one name gets the others.
//
// Learned from reports: the lists of GPUs that agents send every now and then, and the processes of each report. A rank
// that is not told of any more keeps its GPU for kKeepNanos, since it may be what a verdict is about. Of a host that
// falls silent all is kept, until there is no room. Bounded; what does not fit is counted. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_GPU_DIRECTORY_H_
#define LOCKSTEP_COLLECTOR_GPU_DIRECTORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "proto/incident.pb.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

class GpuDirectory {
 public:
  // Hosts of a fleet as large as a collector takes, and more: 200 MiB with eight ranks on each.
  static constexpr size_t kMaxHosts = 50'000;
  static constexpr size_t kMaxGpusPerHost = 64;
  static constexpr size_t kMaxRanksPerHost = 256;
  static constexpr size_t kMaxNameBytes = 128;
  // As long as a cause that is gone may come back as the same incident.
  static constexpr int64_t kKeepNanos = 600'000'000'000;

  // Takes in what `report` of `host` says of GPUs, with jobs by their settled names. `now_ns` does not decrease.
  void Observe(const std::string& host, const wire::AgentReport& report, int64_t now_ns);

  // Gives each culprit of a verdict about `job` all names of its GPU: index, UUID and PCI address, and the rank where
  // only one of the job is on that GPU. What nobody has told stays as it is.
  void Name(const std::string& job, wire::Verdict& verdict) const;

  // How many hosts, GPUs and ranks did not fit since the last call.
  uint64_t TakeRefused();

 private:
  struct Names {
    std::string uuid;
    std::string pci_address;
  };
  // Of one rank of one job.
  struct Seat {
    int32_t gpu = -1;
    Names names;  // of the instance, where the rank has one of those
    int64_t told_ns = 0;
  };
  struct Host {
    std::map<int32_t, Names> gpus;                          // by index
    std::map<std::pair<std::string, int32_t>, Seat> seats;  // by job and rank
    int64_t swept_ns = 0;
  };

  void ListGpus(const wire::AgentReport& report, Host& host) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeSeats(const wire::AgentReport& report, int64_t now_ns, Host& host) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Sweep(int64_t now_ns, Host& host);
  static void Name(const Host& host, const std::string& job, wire::Culprit& culprit);

  mutable Mutex mutex_;
  std::map<std::string, Host> hosts_ ABSL_GUARDED_BY(mutex_);
  uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_GPU_DIRECTORY_H_
