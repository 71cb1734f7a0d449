#include "agent/sources/rings/kept_operations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "agent/recorder/ring_format.h"

namespace lockstep {
namespace {

// What a collector accepts; see collector/convert/report_limits.h.
constexpr uint32_t kMaxKeptStride = 1u << 20;

}  // namespace

void AppendLater(const RingSnapshot& later, RingSnapshot& kept) {
  const auto is_kept = [&kept](const ring::OperationSlot& operation) { return operation.sequence % kept.stride == 0; };
  const size_t before = kept.finished.size();
  std::copy_if(later.finished.begin(), later.finished.end(), std::back_inserter(kept.finished), is_kept);
  kept.thinned += later.finished.size() - (kept.finished.size() - before);
  kept.overwritten += later.overwritten;
  kept.skipped += later.skipped;
  kept.malformed += later.malformed;
}

void ThinKept(RingSnapshot& kept) {
  auto end = kept.finished.begin() + static_cast<ptrdiff_t>(kept.finished.size() / 2);
  if (kept.stride < kMaxKeptStride) {
    kept.stride *= 2;
    end = std::remove_if(kept.finished.begin(), kept.finished.end(), [&kept](const ring::OperationSlot& operation) {
      return operation.sequence % kept.stride != 0;
    });
  }
  kept.thinned += static_cast<uint64_t>(kept.finished.end() - end);
  kept.finished.erase(end, kept.finished.end());
}

}  // namespace lockstep
