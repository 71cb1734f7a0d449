#include "agent/sources/rings/job_fingerprint.h"

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

// Of two that are as large, the one that was made first.
bool IsBetter(const ring::CommunicatorEntry& entry, const ring::CommunicatorEntry* than) {
  if (entry.id == 0) return false;
  if (than == nullptr || entry.size != than->size) return than == nullptr || entry.size > than->size;
  return entry.created_at_ns < than->created_at_ns;
}

}  // namespace

std::string JobFingerprint(const ring::RingHeader& header, const std::vector<RingCommunicator>& communicators,
                           int64_t now_ns) {
  if (header.recorder_kind == static_cast<uint32_t>(ring::RecorderKind::kMpi)) return "";
  const ring::CommunicatorEntry* largest = nullptr;
  for (const RingCommunicator& communicator : communicators) {
    // It has members of another job.
    if (header.world_size > 0 && communicator.entry.size > header.world_size) continue;
    if (IsBetter(communicator.entry, largest)) largest = &communicator.entry;
  }
  if (largest == nullptr) return "";
  const bool is_world = header.world_size > 0 && largest->size == header.world_size;
  if (!is_world && now_ns - header.opened_at_ns < kSettledNanos) return "";
  return absl::StrCat("nccl-", absl::Hex(largest->id, absl::kZeroPad16));
}

}  // namespace lockstep
