// What the NCCL recorder costs the library that calls it, measured through the v5 interface from one thread.
//
// One operation is one AllReduce under the mask Coll | P2p | KernelCh, for which NCCL 2.28 and later also start the
// group and call events. "Enqueue" is every start and stop on the launching thread: GroupApi, CollApi, Group, Coll, in
// NCCL's order; what the plugin drops is not stopped. "All callbacks" adds start, GPU time and stop of each channel's
// kernel. Every figure contains one clock reading of the driver per operation.

#ifndef LOCKSTEP_TESTS_BENCH_NCCL_BENCH_H_
#define LOCKSTEP_TESTS_BENCH_NCCL_BENCH_H_

#include <string>

#include "absl/status/status.h"

namespace lockstep {

// Prints the figures of issue "The NCCL recorder" for the plugin at `plugin`, whose ring appears in `ring_directory`
// ($LOCKSTEP_RING_DIR must say the same). Takes some seconds. An error: the plugin could not be loaded, or recorded
// something else than what it was sent, so that its figures would mean nothing. Not thread-safe.
absl::Status RunNcclBenchmarks(const std::string& plugin, const std::string& ring_directory);

}  // namespace lockstep

#endif  // LOCKSTEP_TESTS_BENCH_NCCL_BENCH_H_
