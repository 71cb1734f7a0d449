#include "sim/recorder.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sim/chance.h"
#include "sim/step_conditions.h"

namespace lockstep {
namespace {

constexpr int64_t kLastReportNs = 2'000'000'000;  // an unreachable machine takes at most so much unreported with it

class Recorder {
 public:
  Recorder(const JobSpec& job, const Layout& layout, uint64_t seed, const ReplayResult& replay)
      : job_(job), layout_(layout), seed_(seed), replay_(replay), losses_(seed, ChanceUse::kLoss) {
    silent_.assign(layout.ranks(), false);
    const Chance silent(seed, ChanceUse::kGap, 1);
    int32_t left = job.recording.silent_ranks;
    for (uint64_t draw = 0; left > 0; ++draw) {
      const auto rank = static_cast<size_t>(silent.Unit(draw) * layout.ranks());
      if (!silent_[rank]) --left;
      silent_[rank] = true;
    }
    cut_ns_.assign(layout.ranks(), std::numeric_limits<int64_t>::max());
    gone_.assign(layout.ranks(), false);
    for (const InjectedHang& hang : replay.hung_ranks) {
      if (hang.kind == FaultKind::kProcessDead) gone_[hang.rank] = true;
      if (hang.kind != FaultKind::kMachineUnreachable) continue;
      const double unreported = Chance(seed, ChanceUse::kLoss, 2).Unit(layout.HostOf(hang.rank));
      cut_ns_[hang.rank] = replay.hang_ns - static_cast<int64_t>(unreported * kLastReportNs);
    }
  }

  Trace Record(RecordTable records) {
    trace_.job = job_.name;
    for (int32_t h = 0; h < layout_.hosts(); ++h) trace_.hosts.push_back(layout_.HostName(h));
    rank_index_.assign(layout_.ranks(), -1);
    size_t kept = 0;
    for (int32_t r = 0; r < layout_.ranks(); ++r) {
      const size_t begin = kept;
      if (!silent_[r]) KeepRow(r, records, kept);
      if (kept == begin) {
        trace_.missing_ranks.push_back(r);
        continue;
      }
      rank_index_[r] = static_cast<int32_t>(trace_.ranks.size());
      trace_.first_operation.push_back(begin);
      trace_.ranks.push_back({.rank = r,
                              .host = layout_.HostOf(r),
                              .gpu = layout_.GpuOf(r),
                              .pid = 4000 + layout_.GpuOf(r),
                              .process_state = gone_[r] ? ProcessState::kGone : ProcessState::kUnknown});
    }
    trace_.first_operation.push_back(kept);
    records.operations.resize(kept);
    trace_.operations = std::move(records.operations);
    AddCommunicators();
    return std::move(trace_);
  }

 private:
  // Moves what is recorded of a rank down to `kept`, which is never above the row itself.
  void KeepRow(int32_t rank, RecordTable& records, size_t& kept) {
    const HostClock clock = ClockOf(job_, layout_.HostOf(rank), seed_);
    const size_t row_begin = kept;
    for (size_t i = records.first[rank]; i < records.first[rank + 1]; ++i) {
      TraceOperation operation = records.operations[i];
      if (operation.enqueue_ns == kNoTime || operation.enqueue_ns >= cut_ns_[rank]) continue;
      if (IsLost(rank, i, operation.enqueue_ns)) {
        ++trace_.lost_records;
        continue;
      }
      if (operation.started() && operation.start_ns >= cut_ns_[rank]) operation.start_ns = kNoTime;
      if (!operation.started() || operation.end_ns >= cut_ns_[rank]) operation.end_ns = kNoTime;
      for (int64_t* time_ns : {&operation.enqueue_ns, &operation.start_ns, &operation.end_ns}) {
        if (*time_ns != kNoTime) *time_ns = clock.At(*time_ns);
      }
      records.operations[kept++] = operation;
    }
    // A rank that enters two groups in the wrong order was recorded in the order that it was meant to keep.
    const auto begin = records.operations.begin() + static_cast<ptrdiff_t>(row_begin);
    const auto end = records.operations.begin() + static_cast<ptrdiff_t>(kept);
    const auto earlier = [](const TraceOperation& a, const TraceOperation& b) { return a.enqueue_ns < b.enqueue_ns; };
    if (!std::is_sorted(begin, end, earlier)) std::stable_sort(begin, end, earlier);
  }

  bool IsLost(int32_t rank, size_t row_position, int64_t enqueue_ns) const {
    const Recording& recording = job_.recording;
    if (recording.lost_share > 0 && losses_.Unit(row_position) < recording.lost_share) return true;
    if (recording.gap_share <= 0) return false;
    const auto step = std::upper_bound(replay_.step_begin_ns.begin(), replay_.step_begin_ns.end(), enqueue_ns);
    return Chance(seed_, ChanceUse::kGap, 0, rank).Unit(step - replay_.step_begin_ns.begin()) < recording.gap_share;
  }

  void AddCommunicators() {
    trace_.communicators.reserve(layout_.communicators());
    for (int k = 0; k < kGroupKinds; ++k) {
      const auto kind = static_cast<GroupKind>(k);
      if (!layout_.Uses(kind)) continue;
      for (int32_t g = 0; g < layout_.GroupCount(kind); ++g) {
        TraceCommunicator& communicator = trace_.communicators.emplace_back();
        // Like NCCL's: a number that says nothing.
        communicator.name =
            absl::StrCat("0x", absl::Hex(Chance(seed_, ChanceUse::kClock, 7, k).At(g), absl::kZeroPad16));
        if (job_.recording.names_groups) communicator.hint = absl::StrCat(ShortName(kind), "_", g);
        communicator.members = layout_.Members(kind, g);
        for (int32_t& member : communicator.members) member = rank_index_[member];
      }
    }
  }

  const JobSpec& job_;
  const Layout& layout_;
  const uint64_t seed_;
  const ReplayResult& replay_;
  const Chance losses_;
  std::vector<bool> silent_;
  std::vector<bool> gone_;
  std::vector<int64_t> cut_ns_;  // by rank: nothing later was ever reported
  std::vector<int32_t> rank_index_;
  Trace trace_;
};

}  // namespace

HostClock ClockOf(const JobSpec& job, int32_t host, uint64_t seed) {
  const Chance clock(seed, ChanceUse::kClock);
  return {
      .offset_ns = static_cast<int64_t>(job.recording.clock_offset_seconds * 1e9 * Chance::BellOf(clock.At(2 * host))),
      .drift = job.recording.clock_drift * Chance::BellOf(clock.At(2 * host + 1))};
}

Trace RecordTrace(const JobSpec& job, const Layout& layout, uint64_t seed, const ReplayResult& replay,
                  RecordTable records) {
  return Recorder(job, layout, seed, replay).Record(std::move(records));
}

}  // namespace lockstep
