// How many queries may be under way: of one client, and of all.
//
// Every answer and every chunk of a capture is bounded, so that the number of those in memory at the same time bounds
// them all together. A query is under way from its arrival until its answer is taken: a client that asks and does not
// read keeps its places and costs nobody else anything. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_QUERY_ADMISSION_H_
#define LOCKSTEP_COLLECTOR_QUERY_ADMISSION_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "collector/metrics.h"

namespace lockstep {

struct QueryAdmissionOptions {
  size_t max_of_client = 8;  // a few people and a dashboard on one machine
  size_t max_at_once = 32;   // of all clients; one takes about 30 MiB at most, for the longest lists
};

class QueryAdmission {
 public:
  // A place, which is free again when the last copy is gone.
  using Slot = std::shared_ptr<void>;

  // `metrics` is borrowed.
  QueryAdmission(const QueryAdmissionOptions& options, QueryMetrics& metrics) : options_(options), metrics_(metrics) {}

  // A place for a query of `peer`, as the transport says it ("ipv4:10.0.0.7:40312"): connections from one address are
  // one client. RESOURCE_EXHAUSTED names the limit. The slot must not outlive this object.
  absl::StatusOr<Slot> Admit(const std::string& peer);

 private:
  void Release(const std::string& client);

  const QueryAdmissionOptions options_;
  QueryMetrics& metrics_;
  Mutex mutex_;
  std::map<std::string, size_t> under_way_ ABSL_GUARDED_BY(mutex_);  // by client; none is 0
  size_t total_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_QUERY_ADMISSION_H_
