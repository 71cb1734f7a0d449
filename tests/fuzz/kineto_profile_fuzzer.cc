// The profile of a rank from anywhere: whatever the bytes, a summary of bounded size whose shares are shares.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "base/check.h"
#include "detector/patterns/rank_patterns.h"
#include "formats/byte_source.h"
#include "formats/kineto_profile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto bytes = std::make_unique<std::istringstream>(std::string(reinterpret_cast<const char*>(data), size));
  const auto source = lockstep::ByteSource::FromStream(std::move(bytes));
  CHECK(source.ok());
  const lockstep::ProfileResult result = lockstep::ReadKinetoProfile("rank0", **source);
  CHECK(result.status.ok() || !result.status.message().empty());
  double shares = result.patterns.idle + result.patterns.left_out.beta;
  size_t summary_bytes = 0;
  for (const lockstep::FunctionPattern& pattern : result.patterns.functions) {
    shares += pattern.beta;
    summary_bytes += lockstep::PatternBytes(pattern);
  }
  CHECK(shares < 1.001);
  CHECK(summary_bytes <= lockstep::kMostPatternBytes);
  return 0;
}
