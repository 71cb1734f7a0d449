// The part of a host that is a tenant's: a time, the GPUs of its ranks, and what the kernel says of these and of its
// processes.
//
// Several tenants may use one machine, and one after the other. Its GPUs are those that ranks say are theirs; what is
// known of the machine as a whole (load, memory, adapters, sources) is everybody's who runs there. Pure; thread-safe.

#ifndef LOCKSTEP_COLLECTOR_TENANT_SHARE_H_
#define LOCKSTEP_COLLECTOR_TENANT_SHARE_H_

#include <cstdint>
#include <set>

#include "absl/strings/string_view.h"
#include "collector/seen_span.h"
#include "proto/capture.pb.h"
#include "proto/query.pb.h"

namespace lockstep {

struct HostShare {
  bool whole = false;      // all of it, at all times
  SeenSpan span;           // while ranks of the tenant ran there
  std::set<int32_t> gpus;  // of the machine

  // `device` as in MetricBlock: "gpu0" and "gpu0/mig1" are a GPU's, all others the machine's.
  bool Has(absl::string_view device) const;

  // Whether the GPU had its index while it was one of these.
  bool Has(const wire::Gpu& gpu) const;
};

// Removes from a job's input what is of GPUs and processes of others on the host.
void KeepOwnShare(wire::CaptureInput& input);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_TENANT_SHARE_H_
