// The names of the GPUs of all hosts, and the ranks on them: what a verdict calls by one name gets the others, and who
// asks for history learns which GPU an index is, and was.
//
// Learned from reports: the lists of GPUs that agents send every now and then, and the processes of each report. A rank
// that is not told of any more keeps its GPU for kKeepNanos, since it may be what a verdict is about. Which GPUs have,
// and had, which index is kept in history as well, so that a change while the collector is away is one. Of a host that
// falls silent all is kept, until it is forgotten. Bounded; what does not fit is counted. No I/O: the caller stores
// what TakeChanged returns. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_GPU_DIRECTORY_H_
#define LOCKSTEP_COLLECTOR_GPU_DIRECTORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "proto/incident.pb.h"
#include "proto/query.pb.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

class GpuDirectory {
 public:
  // Hosts of a fleet as large as a collector takes, and more: 200 MiB with eight ranks on each.
  static constexpr size_t kMaxHosts = 50'000;
  static constexpr size_t kMaxGpusPerHost = 64;
  static constexpr size_t kMaxFormerPerHost = kMaxGpusPerHost;  // each index had another GPU once; the oldest go first
  // Of what history keeps, 80 for a GPU: eight on each of those hosts, and for each index one that had it before.
  static constexpr size_t kMaxBytes = 64 << 20;
  static constexpr size_t kMaxRanksPerHost = 256;
  static constexpr size_t kMaxNameBytes = 128;
  // As long as a cause that is gone may come back as the same incident.
  static constexpr int64_t kKeepNanos = 600'000'000'000;

  explicit GpuDirectory(size_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}

  // Takes in what `report` of `host` says of GPUs, with jobs by their settled names. `now_ns` does not decrease. The
  // report was made at `made_wall_ns` of the time line of history.
  void Observe(const std::string& host, const wire::AgentReport& report, int64_t now_ns, int64_t made_wall_ns);

  // Gives each culprit of a verdict about `job` all names of its GPU: index, UUID and PCI address, and the rank where
  // only one of the job is on that GPU. What nobody has told stays as it is.
  void Name(const std::string& job, wire::Verdict& verdict) const;

  // Visits what is asked for, in the order of the answer. Costs one host's memory, and no lock is held meanwhile.
  void ForEach(const wire::ListGpusRequest& request, const std::function<void(const wire::Gpu&)>& visit) const;

  // Takes in what history knows. Before the first Observe.
  void Restore(const std::vector<wire::HostGpus>& hosts);

  // The hosts of which something has changed since the last call. What could not be stored must be given to NotStored.
  std::vector<wire::HostGpus> TakeChanged();
  void NotStored(const std::vector<wire::HostGpus>& hosts);

  // Forgets a host, until it reports again.
  void Forget(const std::string& host);

  // How many hosts, GPUs and ranks did not fit, or had to go, since the last call.
  uint64_t TakeRefused();

 private:
  struct Names {
    std::string uuid;
    std::string pci_address;

    bool operator==(const Names&) const = default;
  };
  // One GPU under one index; as in wire::Gpu.
  struct Tenure {
    Names names;
    int64_t from_wall_ns = 0;
    int64_t to_wall_ns = 0;

    bool operator==(const Tenure&) const = default;
  };
  // Of one rank of one job.
  struct Seat {
    int32_t gpu = -1;
    Names names;  // of the instance, where the rank has one of those
    int64_t told_ns = 0;
  };
  struct Host {
    std::map<int32_t, Tenure> gpus;                         // by index
    std::vector<std::pair<int32_t, Tenure>> former;         // by index, in the order in which they ended
    std::map<std::pair<std::string, int32_t>, Seat> seats;  // by job and rank
    int64_t swept_ns = 0;
    size_t bytes = 0;         // of its GPUs, as history keeps them
    bool is_changed = false;  // these, since they were stored
  };

  void ListGpus(const wire::AgentReport& report, int64_t made_wall_ns, Host& host)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Retire(int32_t index, const Tenure& tenure, int64_t to_wall_ns, Host& host)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static bool IsSame(const Names& a, const Names& b);
  static Tenure Begin(int32_t index, const Names& names, int64_t made_wall_ns, Host& host);
  // Counts the bytes of a host anew. Where there is no room for them, its former GPUs go, the oldest first, and then
  // those that it has.
  void MakeFit(Host& host) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeSeats(const wire::AgentReport& report, int64_t now_ns, Host& host) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Sweep(int64_t now_ns, Host& host);
  static void Name(const Host& host, const std::string& job, wire::Culprit& culprit);
  static void Visit(const std::string& name, const Host& host, const std::string& gpu,
                    const std::function<void(const wire::Gpu&)>& visit);
  // By index, those of one index by time.
  static std::vector<std::pair<int32_t, Tenure>> Tenures(const Host& host);

  const size_t max_bytes_;
  mutable Mutex mutex_;
  std::map<std::string, Host> hosts_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of hosts_
  uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_GPU_DIRECTORY_H_
