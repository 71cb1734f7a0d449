// Whatever bytes an agent sends: parsed, split and converted, or refused with a reason; never worse.

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "collector/convert/convert.h"
#include "collector/convert/report_split.h"
#include "proto/ingest.pb.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::wire::AgentMessage message;
  if (!message.ParseFromArray(data, static_cast<int>(size)) || !message.has_report()) return 0;
  const auto inputs = lockstep::SplitReport("node-1", 1, message.report());
  if (!inputs.ok()) return 0;
  for (const lockstep::wire::CaptureInput& input : *inputs) {
    lockstep::ConvertLosses losses;
    const auto report = lockstep::ToHostReport(input, losses);
    if (!report.ok()) {
      CHECK(!report.status().message().empty());
      continue;
    }
    for (const lockstep::RankView& rank : report->ranks) {
      CHECK(rank.rank >= 0);
      for (const lockstep::CommunicatorView& communicator : rank.communicators) {
        for (const lockstep::Operation& operation : communicator.operations) {
          CHECK(operation.end_ns >= operation.start_ns);
        }
      }
    }
  }
  return 0;
}
