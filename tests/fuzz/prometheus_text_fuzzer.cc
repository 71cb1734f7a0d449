// Whatever listens on the port of a dcgm-exporter may answer anything.

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "agent/sources/dcgm/prometheus_text.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view page(reinterpret_cast<const char*>(data), size);
  absl::string_view text = page;
  lockstep::PrometheusSample sample;
  uint64_t malformed = 0, samples = 0;
  size_t left = text.size();
  while (lockstep::TakePrometheusSample(text, sample, malformed)) {
    CHECK(text.size() < left);
    left = text.size();
    CHECK(!sample.name.empty());
    CHECK(sample.name.data() >= page.data() && sample.name.end() <= page.end());
    CHECK(sample.labels.size() <= lockstep::kMaxPrometheusLabels);
    ++samples;
  }
  CHECK(text.empty());
  CHECK(samples + malformed <= size);
  return 0;
}
