// Fills the MetricBlock of one device.

#ifndef LOCKSTEP_AGENT_METRIC_BLOCK_H_
#define LOCKSTEP_AGENT_METRIC_BLOCK_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "agent/printable_text.h"
#include "base/metric_catalog.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// Adds a block to `report` with the first value: a device without values leaves no trace. Borrows `report` and
// `device` for its life. Not thread-safe.
class MetricBlockBuilder {
 public:
  // `device` as in telemetry.proto; "" = the host.
  MetricBlockBuilder(wire::AgentReport& report, absl::string_view device, int64_t monotonic_ns)
      : report_(report), device_(device), monotonic_ns_(monotonic_ns) {}

  void Add(Metric metric, double value) {
    if (block_ == nullptr) {
      block_ = report_.add_metrics();
      block_->set_device(PrintableText(device_, kMaxDeviceBytes));
      block_->set_monotonic_ns(monotonic_ns_);
    }
    block_->add_metrics(static_cast<uint32_t>(metric));
    block_->add_values(value);
  }

  bool empty() const { return block_ == nullptr; }

 private:
  // The longest name of a device that the kernel gives out has 64 bytes.
  static constexpr size_t kMaxDeviceBytes = 128;

  wire::AgentReport& report_;
  absl::string_view device_;
  int64_t monotonic_ns_;
  wire::MetricBlock* block_ = nullptr;  // owned by report_; its address is stable while blocks are added
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_METRIC_BLOCK_H_
