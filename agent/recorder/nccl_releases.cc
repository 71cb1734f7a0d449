#include "agent/recorder/nccl_releases.h"

#include "agent/recorder/nccl_abi.h"

namespace lockstep::ring {
namespace {

struct FirstRelease {
  uint32_t version;
  int abi;
};
// Newest first.
constexpr FirstRelease kFirstReleases[] = {
    {23100, 7}, {22900, 6}, {22800, 5}, {22700, 4}, {22600, 3}, {22400, 2}, {22300, 1},
};

struct Defect {
  uint32_t first;
  uint32_t last;  // inclusive
  ReleaseJudgement judgement;
};
constexpr Defect kDefects[] = {
    {22707, 22707, {DisabledReason::kNone, nccl_abi::kKernelCh, "nccl#2039: proxy appends run out of bounds"}},
    {23003, 23003, {DisabledReason::kDefectiveRelease, 0, "nccl#2112: crashes with any profiler"}},
};

}  // namespace

int NativeAbi(uint32_t version) {
  for (const FirstRelease& row : kFirstReleases) {
    if (version >= row.version) return row.abi;
  }
  return 0;
}

ReleaseJudgement JudgeRelease(uint32_t version, int abi, bool is_forced) {
  if (is_forced || version == 0) return {};
  if (abi != NativeAbi(version)) {
    return {DisabledReason::kUnknownAbi, 0, "this NCCL version should use another profiler interface"};
  }
  for (const Defect& defect : kDefects) {
    if (version >= defect.first && version <= defect.last) return defect.judgement;
  }
  return {};
}

}  // namespace lockstep::ring
