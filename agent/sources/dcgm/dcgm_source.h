// What the profiling counters of GPUs say, from a dcgm-exporter on this machine: NVML does not have them, and whoever
// reads them himself takes them away from DCGM.

#ifndef LOCKSTEP_AGENT_SOURCES_DCGM_DCGM_SOURCE_H_
#define LOCKSTEP_AGENT_SOURCES_DCGM_DCGM_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "agent/gpu_names.h"
#include "agent/source.h"
#include "agent/sources/dcgm/prometheus_text.h"
#include "base/clock.h"
#include "base/metric_catalog.h"
#include "daemon/http_client.h"
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
// tells it, or to the MIG instance that is all of the GPU instance whose id it names. Samples of other GPUs, of GPU
// instances that several MIG instances share, and of impossible values are passed over. NoData while NVML tells of no
// GPU; an error where the exporter does not answer, or where that leaves nothing. May hang for as long as a page takes.
// Owns all that it touches. Not thread-safe.
class DcgmSource final : public Source {
 public:
  // Exporters read their counters every 30 s, if nobody sets it otherwise.
  static constexpr int64_t kPeriodNs = 10 * kNanosPerSecond;
  static constexpr int64_t kTimeoutNs = 5 * kNanosPerSecond;
  static constexpr size_t kMaxPageBytes = 4 << 20;  // some 20,000 samples

  // A `url` that CheckLoopbackUrl refuses is never asked: each Collect says why.
  DcgmSource(std::string url, std::shared_ptr<const GpuNames> names)
      : url_(std::move(url)),
        client_({.url = url_, .timeout_ns = kTimeoutNs}, [] { return false; }),
        names_(std::move(names)) {}

  absl::string_view name() const override { return "dcgm_exporter"; }
  absl::Status Collect(const Tick& tick, wire::AgentReport& report) override;

 private:
  absl::StatusOr<std::string> Scrape();
  absl::Status Take(absl::string_view page, const Tick& tick, wire::AgentReport& report) const;
  // What the sample is of; "" = of nothing that NVML knows.
  std::string DeviceOf(const PrometheusSample& sample) const;

  const std::string url_;
  HttpClient client_;
  const std::shared_ptr<const GpuNames> names_;
  absl::optional<int64_t> scraped_ns_;
  absl::Status outcome_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_DCGM_DCGM_SOURCE_H_
