// A profile of a process on demand: the process is told to take one when it next asks (agent/kineto), writes its trace,
// and the trace becomes patterns of functions here. Only these leave the machine.
//
// Where a dynolog has the socket of the fabric, that one is asked to tell the process; all else is the same.
//
// Nothing is loaded into the process and nothing is attached to it. What it writes is its own: the trace is opened as
// TraceFolder says, is read up to kMaxTraceBytes and to the deadline, and is deleted unless it is to be kept.

#ifndef LOCKSTEP_AGENT_PROFILES_PROFILER_H_
#define LOCKSTEP_AGENT_PROFILES_PROFILER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "agent/demands/demand_kind.h"
#include "agent/kineto/dynolog_client.h"
#include "agent/kineto/fabric_endpoint.h"
#include "agent/profiles/trace_folder.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "detector/patterns/pattern_builder.h"
#include "proto/patterns.pb.h"

namespace lockstep {

// Thread-safe; traces are read one at a time, each within fixed memory.
class Profiler {
 public:
  static constexpr int64_t kMaxTraceBytes = int64_t{2} << 30;
  static constexpr int64_t kLookNanos = kNanosPerSecond / 5;  // between two looks for what is awaited
  // A few steps have fewer of both; of what is beyond, the shortest are left out and counted. With these, reading takes
  // 64 MiB at most, whatever a trace holds.
  static constexpr PatternLimits kLimits = {.events = size_t{1} << 18, .functions = size_t{8} << 10};
  // Where Kineto lets every process write.
  static constexpr char kUsualFolder[] = "/tmp";
  static constexpr int64_t kQuietNanos = kNanosPerSecond;  // a trace that has not grown for so long may be whole

  // `folder` is where processes are to write, as they see it; those that have no such folder, or one that somebody else
  // has made, write to kUsualFolder. `dynolog` is asked while another daemon has the name;
  // nullptr = nobody is. Borrows all but `folder`.
  Profiler(FabricEndpoint& fabric, const DynologClient* dynolog, std::string folder, const Clock& clock)
      : fabric_(fabric), dynolog_(dynolog), folder_(std::move(folder)), clock_(clock) {}

  // A wire::RankProfile, for a call whose parameters are a wire::ProfileParameters. FAILED_PRECONDITION for a process
  // that has not registered, and for a trace that may not be read; UNAVAILABLE where another daemon has the name and
  // does not tell the process; DEADLINE_EXCEEDED with what was awaited; DATA_LOSS for a trace without calls; CANCELLED
  // when the agent ends.
  absl::StatusOr<std::string> Profile(const DemandCall& call) const;

 private:
  // Where a process writes.
  struct Place {
    TraceFolder folder;
    std::string path;  // as the process sees it
  };

  absl::StatusOr<Place> PlaceOf(const DemandedProcess& process) const;
  // Waits for the trace, which has one of these names, and reads it.
  absl::StatusOr<std::string> Await(const DemandCall& call, const wire::ProfileParameters& parameters,
                                    const Place& place, absl::Span<const std::string> names) const;
  // Has dynolog tell the process.
  absl::Status AskDynolog(const DemandCall& call, const std::string& order) const;
  absl::StatusOr<wire::RankProfile> Read(const DemandCall& call, const std::string& name, OpenTrace trace) const;

  FabricEndpoint& fabric_;
  const DynologClient* const dynolog_;
  const std::string folder_;
  const Clock& clock_;
  mutable Mutex reading_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_PROFILES_PROFILER_H_
