#include "agent/sources/nvml/nvml_fields.h"

#include <array>

#include "absl/types/optional.h"
#include "base/check.h"

namespace lockstep {
namespace {

constexpr double kSecondsPerNano = 1e-9;
constexpr double kBytesPerKibibyte = 1024;

constexpr NvmlFieldRow kMemoryTemperature[] = {
    {Metric::kGpuMemoryTemperatureCelsius, 1, 0, {kNvmlFieldMemoryTemperature}, 1, /*zero_is_absent=*/true},
};

constexpr NvmlFieldRow kNvlinkErrors[] = {
    {Metric::kGpuNvlinkCrcErrorsTotal, 1, 0, {kNvmlFieldCrcFlitErrors, kNvmlFieldCrcDataErrors}, 2},
    {Metric::kGpuNvlinkReplayErrorsTotal, 1, 0, {kNvmlFieldReplayErrors}, 1},
    {Metric::kGpuNvlinkRecoveryErrorsTotal, 1, 0, {kNvmlFieldRecoveryErrors}, 1},
    {Metric::kGpuNvlinkRecoveryErrorsTotal, 1, kNvmlScopeAllLinks, {kNvmlFieldRecoveryEvents}, 1},
    {Metric::kGpuNvlinkReceiveErrorsTotal, 1, kNvmlScopeAllLinks, {kNvmlFieldReceiveErrors}, 1},
    {Metric::kGpuNvlinkMalformedPacketsTotal, 1, kNvmlScopeAllLinks, {kNvmlFieldMalformedPackets}, 1},
    {Metric::kGpuNvlinkBufferOverrunsTotal, 1, kNvmlScopeAllLinks, {kNvmlFieldBufferOverruns}, 1},
    {Metric::kGpuNvlinkIntegrityErrorsTotal, 1, kNvmlScopeAllLinks, {kNvmlFieldIntegrityErrors}, 1},
    {Metric::kGpuNvlinkTransmitDiscardsTotal, 1, kNvmlScopeAllLinks, {kNvmlFieldTransmitDiscards}, 1},
    {Metric::kGpuNvlinkRecoveryFailuresTotal, 1, kNvmlScopeAllLinks, {kNvmlFieldRecoveryFailures}, 1},
};

constexpr NvmlFieldRow kNvlinkThroughput[] = {
    {Metric::kGpuNvlinkReceiveBytesTotal, 1, kNvmlScopeAllLinks, {kNvmlFieldReceiveBytes}, 1},
    {Metric::kGpuNvlinkReceiveBytesTotal, kBytesPerKibibyte, kNvmlScopeAllLinks, {kNvmlFieldThroughputReceive}, 1},
    {Metric::kGpuNvlinkTransmitBytesTotal, 1, kNvmlScopeAllLinks, {kNvmlFieldTransmitBytes}, 1},
    {Metric::kGpuNvlinkTransmitBytesTotal, kBytesPerKibibyte, kNvmlScopeAllLinks, {kNvmlFieldThroughputTransmit}, 1},
};

constexpr NvmlFieldRow kViolations[] = {
    {Metric::kGpuPowerViolationSecondsTotal, kSecondsPerNano, 0, {kNvmlFieldPowerViolation}, 1},
    {Metric::kGpuThermalViolationSecondsTotal, kSecondsPerNano, 0, {kNvmlFieldThermalViolation}, 1},
    {Metric::kGpuSyncBoostViolationSecondsTotal, kSecondsPerNano, 0, {kNvmlFieldSyncBoostViolation}, 1},
    {Metric::kGpuBoardLimitViolationSecondsTotal, kSecondsPerNano, 0, {kNvmlFieldBoardLimitViolation}, 1},
    {Metric::kGpuReliabilityViolationSecondsTotal, kSecondsPerNano, 0, {kNvmlFieldReliabilityViolation}, 1},
};

// Nothing of signed types: no field of ours has them.
absl::optional<double> NumberOf(const NvmlFieldValue& field) {
  if (field.nvml_return != kNvmlSuccess) return absl::nullopt;
  switch (field.value_type) {
    case kNvmlValueDouble:
      return field.value.as_double;
    case kNvmlValueUint32:
      return field.value.as_uint32;
    case kNvmlValueUnsignedLong:
    case kNvmlValueUint64:
      return static_cast<double>(field.value.as_uint64);
    default:
      return absl::nullopt;
  }
}

}  // namespace

absl::Span<const NvmlFieldRow> MemoryTemperatureFields() { return kMemoryTemperature; }
absl::Span<const NvmlFieldRow> NvlinkErrorFields() { return kNvlinkErrors; }
absl::Span<const NvmlFieldRow> NvlinkThroughputFields() { return kNvlinkThroughput; }
absl::Span<const NvmlFieldRow> ViolationFields() { return kViolations; }

int ReadFields(const NvmlApi& api, NvmlDevice device, absl::Span<const NvmlFieldRow> rows, MetricBlockBuilder& block) {
  if (api.field_values == nullptr) return kNvmlFunctionNotFound;
  std::array<NvmlFieldValue, kMaxNvmlFields> fields = {};
  size_t count = 0;
  for (const NvmlFieldRow& row : rows) {
    for (size_t i = 0; i < row.field_count; ++i) {
      CHECK(count < fields.size());
      fields[count].field_id = row.fields[i];
      fields[count].scope_id = row.scope;
      ++count;
    }
  }
  const int result = api.field_values(device, static_cast<int>(count), fields.data());
  if (result != kNvmlSuccess) return result;
  Metric added = Metric::kUnspecified;
  const NvmlFieldValue* next = fields.data();
  for (const NvmlFieldRow& row : rows) {
    double sum = 0;
    bool any = false;
    for (size_t i = 0; i < row.field_count; ++i, ++next) {
      if (next->nvml_return == kNvmlGpuIsLost || next->nvml_return == kNvmlUninitialized) return next->nvml_return;
      const absl::optional<double> number = NumberOf(*next);
      any = any || number.has_value();
      sum += number.value_or(0);
    }
    if (!any || row.metric == added || (row.zero_is_absent && sum == 0)) continue;
    block.Add(row.metric, sum * row.scale);
    added = row.metric;
  }
  return added == Metric::kUnspecified ? kNvmlNotSupported : kNvmlSuccess;
}

}  // namespace lockstep
