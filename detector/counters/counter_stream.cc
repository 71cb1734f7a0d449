#include "detector/counters/counter_stream.h"

#include <algorithm>

#include "base/clock.h"
#include "detector/model/sample_losses.h"

namespace lockstep {

void CounterStream::Observe(int32_t host_slot, const HostReport& report, bool compared) {
  int64_t made_ns = report.host_ns;
  for (const MetricSample& sample : report.samples) made_ns = std::max(made_ns, sample.host_ns);
  const int64_t offset_ns = clock_.OffsetNs(host_slot, made_ns, report.due_ns());
  for (const MetricSample& sample : report.samples) {
    const MetricInfo* const info = FindMetric(sample.metric);
    if (info == nullptr) continue;
    const auto key = std::make_tuple(host_slot, sample.metric, sample.device, compared);
    auto series = series_.find(key);
    if (series == series_.end()) {
      const int32_t added = driver_.AddSeries({.host = host_slot,
                                               .host_name = report.host,
                                               .device = sample.device,
                                               .metric_name = std::string(info->name),
                                               .metric = sample.metric,
                                               .compared = compared});
      // What is not looked at needs no memory: it is asked again.
      if (added < 0) continue;
      series = series_.emplace(key, added).first;
    }
    driver_.Observe(series->second, (sample.host_ns + offset_ns) / kNanosPerMilli, sample.value);
  }
}

std::vector<HardwareFinding> CounterStream::Findings(int64_t watermark_ns) const {
  return driver_.Findings(watermark_ns / kNanosPerMilli);
}

uint64_t CounterStream::discarded() const {
  const SampleLosses& losses = driver_.losses();
  return losses.not_finite + losses.blank + losses.duplicate + losses.out_of_order + losses.late + losses.over_limit;
}

}  // namespace lockstep
