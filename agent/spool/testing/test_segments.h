// Reports and segments for tests of the spool, as bytes. Pure.

#ifndef LOCKSTEP_AGENT_SPOOL_TESTING_TEST_SEGMENTS_H_
#define LOCKSTEP_AGENT_SPOOL_TESTING_TEST_SEGMENTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/spool/segment_format.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// Each block is a kilobyte of counters, the padding is text of the kernel log.
inline std::string ReportBytes(uint64_t sequence, int metric_blocks = 0, size_t padding = 0) {
  wire::AgentReport report;
  report.set_sequence(sequence);
  for (int i = 0; i < metric_blocks; ++i) report.add_metrics()->set_device(std::string(1'000, 'd'));
  if (padding > 0) report.add_kernel_events()->set_text(std::string(padding, 'e'));
  return report.SerializeAsString();
}

// A whole one with these reports.
inline std::string Segment(const std::vector<uint64_t>& sequences) {
  std::string bytes = EncodeSegmentHeader({"node", "boot", 7, 1, 0});
  for (const uint64_t sequence : sequences) {
    absl::StrAppend(&bytes, EncodeReport({sequence, 10, 20, "resume", ReportBytes(sequence, 0, 50)}));
  }
  return bytes;
}

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SPOOL_TESTING_TEST_SEGMENTS_H_
