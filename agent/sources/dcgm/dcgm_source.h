// What the profiling counters of GPUs say, from a dcgm-exporter on this machine: NVML does not have them, and whoever
// reads them himself takes them away from DCGM.

#ifndef LOCKSTEP_AGENT_SOURCES_DCGM_DCGM_SOURCE_H_
#define LOCKSTEP_AGENT_SOURCES_DCGM_DCGM_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "agent/gpu_names.h"
#include "agent/source.h"
#include "agent/sources/dcgm/loopback_page.h"
#include "base/clock.h"
#include "base/metric_catalog.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// What the exporter calls one of our metrics. Rows of one metric add up. Immutable.
struct DcgmField {
  absl::string_view theirs;
  Metric metric;
  double most;  // values beyond it, below 0 and DCGM's sentinels are none
};
absl::Span<const DcgmField> DcgmFields();

// Scrapes every kPeriodNs; ticks between repeat how that went. A sample belongs to the GPU whose UUID it names, as NVML
// tells it; samples of other GPUs, of MIG instances and of impossible values are passed over. NoData while
// NVML tells of no GPU; an error where the exporter does not answer, or where that leaves nothing. May hang for as long
// as a page takes. Owns all that it touches. Not thread-safe.
class DcgmSource final : public Source {
 public:
  // Exporters read their counters every 30 s, if nobody sets it otherwise.
  static constexpr int64_t kPeriodNs = 10 * kNanosPerSecond;

  DcgmSource(std::string url, std::shared_ptr<const GpuNames> names)
      : page_(std::move(url)), names_(std::move(names)) {}

  absl::string_view name() const override { return "dcgm_exporter"; }
  absl::Status Collect(const Tick& tick, wire::AgentReport& report) override;

 private:
  absl::Status Take(absl::string_view page, const Tick& tick, wire::AgentReport& report) const;

  LoopbackPage page_;
  const std::shared_ptr<const GpuNames> names_;
  absl::optional<int64_t> scraped_ns_;
  absl::Status outcome_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_DCGM_DCGM_SOURCE_H_
