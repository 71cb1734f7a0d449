#include "agent/sources/dcgm/dcgm_source.h"

#include <map>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/metric_block.h"
#include "agent/sources/dcgm/prometheus_text.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr double kMostRatio = 1;
// A hundred times what a GPU has.
constexpr double kMostBytesPerSecond = 1e14;

constexpr DcgmField kFields[] = {
    {"DCGM_FI_PROF_DRAM_ACTIVE", Metric::kGpuDramActiveRatio, kMostRatio},
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", Metric::kGpuGraphicsActiveRatio, kMostRatio},
    {"DCGM_FI_PROF_NVLINK_RX_BYTES", Metric::kGpuNvlinkBytesPerSecond, kMostBytesPerSecond},
    {"DCGM_FI_PROF_NVLINK_TX_BYTES", Metric::kGpuNvlinkBytesPerSecond, kMostBytesPerSecond},
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", Metric::kGpuTensorActiveRatio, kMostRatio},
    {"DCGM_FI_PROF_SM_ACTIVE", Metric::kGpuSmActiveRatio, kMostRatio},
};

// Of a part of a GPU only: NVML's id of a GPU instance.
constexpr absl::string_view kInstanceLabel = "GPU_I_ID";

const DcgmField* FindField(absl::string_view theirs) {
  for (const DcgmField& field : kFields) {
    if (field.theirs == theirs) return &field;
  }
  return nullptr;
}

}  // namespace

std::string DcgmSource::DeviceOf(const PrometheusSample& sample) const {
  const absl::string_view instance = sample.Label(kInstanceLabel);
  if (instance.empty()) return names_->DeviceOf(sample.Label("UUID"));
  int32_t id = -1;
  return absl::SimpleAtoi(instance, &id) ? names_->DeviceOf(sample.Label("UUID"), id) : "";
}

absl::Span<const DcgmField> DcgmFields() { return kFields; }

absl::Status DcgmSource::Collect(const Tick& tick, wire::AgentReport& report) {
  if (names_->empty()) return NoData("NVML tells of no GPU");
  if (scraped_ns_.has_value() && tick.monotonic_ns - *scraped_ns_ < kPeriodNs) return outcome_;
  scraped_ns_ = tick.monotonic_ns;
  const absl::StatusOr<std::string> page = Scrape();
  outcome_ = page.ok() ? Take(*page, tick, report)
                       : absl::Status(page.status().code(), absl::StrCat("dcgm-exporter: ", page.status().message()));
  return outcome_;
}

absl::StatusOr<std::string> DcgmSource::Scrape() {
  RETURN_IF_ERROR(CheckLoopbackUrl(url_));
  HttpAnswer answer = client_.Get(kMaxPageBytes);
  if (answer.is_too_long) return absl::OutOfRangeError(answer.error);
  if (answer.status == 0) return absl::UnavailableError(answer.error);
  if (answer.status != 200) return absl::UnavailableError(absl::StrCat("the answer has status ", answer.status));
  return std::move(answer.body);
}

absl::Status DcgmSource::Take(absl::string_view page, const Tick& tick, wire::AgentReport& report) const {
  // By device, of those that NVML knows; of a sample that is given twice the last.
  std::map<std::string, std::map<const DcgmField*, double>> values;
  uint64_t malformed = 0, unusable = 0, ours = 0;
  PrometheusSample sample;
  while (TakePrometheusSample(page, sample, malformed)) {
    const DcgmField* const field = FindField(sample.name);
    if (field == nullptr) continue;
    ++ours;
    const std::string device = DeviceOf(sample);
    const bool is_possible = sample.value >= 0 && sample.value <= field->most && !IsBlankSentinel(sample.value);
    if (device.empty() || !is_possible) {
      ++unusable;
      continue;
    }
    values[device][field] = sample.value;
  }
  for (const auto& [device, of_fields] : values) {
    std::map<Metric, double> sums;
    for (const auto& [field, value] : of_fields) sums[field->metric] += value;
    MetricBlockBuilder block(report, device, tick.monotonic_ns);
    for (const auto& [metric, sum] : sums) block.Add(metric, sum);
  }
  if (!values.empty()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("dcgm-exporter: of the ", ours, " samples of profiling fields (DCGM_FI_PROF_...) on its page, ",
                   unusable, " are of no GPU that NVML knows, or of impossible value; ", malformed, " bad lines"));
}

}  // namespace lockstep
