// What a source of telemetry is: something that is asked once per tick and adds what it sees to the agent's report.
//
// Three answers, which must never be mixed up: OK = it worked; NoData = this machine has nothing of the kind (no GPU,
// no InfiniBand), which is no fault; any other error = it should have worked and did not. What was there once and is
// gone counts as failed as well (SourceRunner), be it all that a source looks at or a part of it.

#ifndef LOCKSTEP_AGENT_SOURCE_H_
#define LOCKSTEP_AGENT_SOURCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// The moment that all sources are asked about.
struct Tick {
  int64_t monotonic_ns = 0;
};

// A source keeps what it needs from tick to tick and is called by one thread at a time. Not thread-safe.
//
// A source that may hang (SourceRunner::Add) can outlive the runner, and so must own everything that it touches.
class Source {
 public:
  virtual ~Source() = default;

  // Short and stable: the `name` of its SourceStatus. Points to memory that lives as long as the source.
  virtual absl::string_view name() const = 0;

  // Whether what it looks at comes and goes with jobs: having no data after it had some is then no failure.
  virtual bool comes_and_goes() const { return false; }

  // Appends to the metrics, processes, kernel events and dropped counts of `report`. What was appended before an error
  // stays: the parts that did work are still true.
  virtual absl::Status Collect(const Tick& tick, wire::AgentReport& report) = 0;

  // How far it has read, as of the last Collect: kept with the report, for Resume of an agent after this one. Empty =
  // it has nothing to go on with. Not called for a source that may hang.
  virtual std::string position() const { return ""; }

  // The parts of the machine that the last Collect found, by names that hold for a boot: "mlx5_3/1", or the PCI address
  // of a GPU. One that was found before and is not any more is a failure of this source (SourceRunner).
  virtual std::vector<std::string> parts() const { return {}; }

  // Goes on where another agent of this boot stopped, whose reports are on their way. Before the first Collect.
  virtual void Resume(absl::string_view) {}

  // Instead: an agent has run before the present boot, and none since. Whatever is of this boot is unread.
  virtual void ResumeAfterBoot() {}
};

// The answer of a source that has nothing to look at here, and why.
inline absl::Status NoData(absl::string_view reason) { return absl::NotFoundError(reason); }
inline bool IsNoData(const absl::Status& status) { return absl::IsNotFound(status); }

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCE_H_
