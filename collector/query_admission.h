// How many queries may be under way: of one client, and of all.
//
// Every answer and every chunk of a capture is bounded, so that the number of those in memory at the same time bounds
// them all together. A query is under way from its arrival until its answer is taken: a client that asks and does not
// read keeps its places until it goes. Captures take long and are admitted apart from the others, so that they cannot
// take all places of those that want a quick answer. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_QUERY_ADMISSION_H_
#define LOCKSTEP_COLLECTOR_QUERY_ADMISSION_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "collector/access/caller.h"
#include "collector/metrics.h"

namespace lockstep {

struct QueryAdmissionOptions {
  std::string what;  // is admitted, in the plural; for messages
  size_t max_of_client = 1;
  size_t max_at_once = 1;  // of all clients
};

// Who counts as one: whoever has said who it is, from wherever it calls; of those who are not asked, an address. `peer`
// is as the transport says it ("ipv4:10.0.0.7:40312").
std::string ClientOf(const Caller& caller, const std::string& peer);

class QueryAdmission {
 public:
  // A place, which is free again when the last copy is gone.
  using Slot = std::shared_ptr<void>;

  // `metrics` is borrowed.
  QueryAdmission(QueryAdmissionOptions options, QueryMetrics& metrics)
      : options_(std::move(options)), metrics_(metrics) {}

  // A place for a query of `client` (ClientOf). RESOURCE_EXHAUSTED names the limit. The slot must not outlive this
  // object.
  absl::StatusOr<Slot> Admit(const std::string& client);

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
