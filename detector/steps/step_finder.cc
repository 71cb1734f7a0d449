#include "detector/steps/step_finder.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "base/median.h"
#include "base/shares.h"
#include "detector/model/input.h"
#include "detector/stats/order_statistics.h"
#include "detector/steps/anchor_numbers.h"
#include "detector/steps/judged_steps.h"
#include "detector/steps/number_shifts.h"

namespace lockstep {
namespace {

// Of ranks: as own_time.cc.
constexpr size_t kPartsPerLane = 4;
// Instances per channel that connect two numberings: a budget of time.
constexpr size_t kSampledLinks = 64;
// Share of ranks that a step at either end of the records needs: the majority.
constexpr double kMinPresent = kMainPart;
constexpr int32_t kNoStep = AnchorNumbers::kNone;

int64_t TimeOf(const TraceOperation& operation) {
  return operation.finished() ? operation.end_ns : operation.started() ? operation.start_ns : operation.enqueue_ns;
}

// Where a host runs ahead, the launch of an operation and the end of another one tell nothing about what lies between.
bool HaveTimesOfOneKind(const TraceOperation& a, const TraceOperation& b) {
  return a.finished() == b.finished() && a.started() == b.started();
}

class StepFinder {
 public:
  StepFinder(const Trace& trace, const OperationInstances& matched, const JobRoles& roles, Executor* executor)
      : trace_(trace),
        matched_(matched),
        roles_(roles),
        executor_(executor),
        anchors_(NumberAnchors(trace, matched, roles, executor)) {}

  StepTable Run() {
    anchor_group_.assign(trace_.ranks.size(), -1);
    CutRanks();
    ConnectNumberings();
    return Assemble();
  }

 private:
  // A step ends with its anchor. Between two anchors that are not neighbours a record is lost: no step is known there.
  void CutRanks() {
    cuts_.resize(trace_.ranks.size());
    RunParts(executor_, cuts_.size(), PartsOf(executor_, cuts_.size(), kPartsPerLane),
             [this](size_t, size_t begin, size_t end) {
               for (size_t rank = begin; rank < end; ++rank) CutRank(rank);
             });
  }

  void CutRank(size_t rank) {
    const int32_t anchor = anchors_.of_class[static_cast<size_t>(roles_.class_of_rank[rank])];
    for (size_t i = trace_.first_operation[rank]; anchor >= 0 && i < trace_.first_operation[rank + 1]; ++i) {
      if (anchors_.AnchorAt(matched_, i) != anchor) continue;
      const TraceOperation& operation = trace_.operations[i];
      if (anchor_group_[rank] < 0) anchor_group_[rank] = operation.communicator;
      if (anchor_group_[rank] != operation.communicator) continue;
      cuts_[rank].push_back({static_cast<uint32_t>(i), anchors_.of_instance[matched_.instance_of[i]]});
    }
  }

  // Number of the step, in the rank's own numbering, that an operation belongs to.
  int32_t NumberAt(size_t rank, uint32_t operation) const {
    const std::vector<Cut>& cuts = cuts_[rank];
    const auto next = std::lower_bound(cuts.begin(), cuts.end(), operation,
                                       [](const Cut& cut, uint32_t at) { return cut.operation < at; });
    if (next == cuts.end()) return cuts.empty() ? kNoStep : cuts.back().number + 1;
    return next->number;
  }

  void ConnectNumberings() {
    NumberVotes votes;
    for (const OperationChannel& channel : matched_.channels) {
      const uint32_t sampled = std::min<uint32_t>(channel.instances, kSampledLinks);
      for (uint32_t i = 0; i < sampled; ++i) VoteOn(matched_.instances[channel.first_instance + i], &votes);
    }
    shift_of_group_ = NumberShifts(votes, trace_.communicators.size());
  }

  void VoteOn(const OperationInstance& instance, NumberVotes* votes) {
    const absl::Span<const uint32_t> members = matched_.MembersOf(instance);
    const auto first_rank = static_cast<size_t>(matched_.rank_of[members.front()]);
    const int32_t first_group = anchor_group_[first_rank];
    if (first_group < 0) return;
    int32_t first_number = kNoStep;
    int32_t last_group = first_group;
    for (const uint32_t member : members.subspan(1)) {
      const auto rank = static_cast<size_t>(matched_.rank_of[member]);
      const int32_t group = anchor_group_[rank];
      if (group < 0 || group == first_group || group == last_group) continue;
      last_group = group;
      if (first_number == kNoStep) first_number = NumberAt(first_rank, members.front());
      const int32_t number = NumberAt(rank, member);
      if (first_group < group) {
        ++(*votes)[{first_group, group}][number - first_number];
      } else {
        ++(*votes)[{group, first_group}][first_number - number];
      }
    }
  }

  int32_t ShiftOf(size_t rank) const {
    return anchor_group_[rank] < 0 ? 0 : shift_of_group_[static_cast<size_t>(anchor_group_[rank])];
  }

  StepTable Assemble() const {
    int32_t lowest = std::numeric_limits<int32_t>::max(), highest = kNoStep;
    for (size_t rank = 0; rank < cuts_.size(); ++rank) {
      // Of calls that were handed over in another order than they are numbered, the first is not the lowest.
      for (const Cut& cut : cuts_[rank]) {
        lowest = std::min(lowest, cut.number + ShiftOf(rank));
        highest = std::max(highest, cut.number + ShiftOf(rank));
      }
    }
    StepTable table;
    table.ranks = trace_.ranks.size();
    if (highest < lowest || highest - lowest >= kMaxSteps) return table;
    Trim(&lowest, &highest);
    table.steps = highest - lowest + 1;
    table.ranges.resize(table.ranks * static_cast<size_t>(table.steps));
    for (size_t rank = 0; rank < cuts_.size(); ++rank) Fill(rank, lowest, &table);
    Measure(lowest, &table);
    JudgeSteps(trace_, &table);
    return table;
  }

  // Ends at which fewer than half of the ranks have a step.
  void Trim(int32_t* lowest, int32_t* highest) const {
    std::vector<size_t> present(static_cast<size_t>(*highest - *lowest + 1), 0);
    for (size_t rank = 0; rank < cuts_.size(); ++rank) {
      for (const Cut& cut : cuts_[rank]) ++present[static_cast<size_t>(cut.number + ShiftOf(rank) - *lowest)];
    }
    const size_t needed = static_cast<size_t>(std::ceil(kMinPresent * static_cast<double>(cuts_.size())));
    const int32_t origin = *lowest;
    while (*lowest < *highest && present[static_cast<size_t>(*lowest - origin)] < needed) ++*lowest;
    while (*highest > *lowest && present[static_cast<size_t>(*highest - origin)] < needed) --*highest;
  }

  void Fill(size_t rank, int32_t lowest, StepTable* table) const {
    const std::vector<Cut>& cuts = cuts_[rank];
    std::vector<size_t> lengths;
    for (size_t i = 1; i < cuts.size(); ++i) {
      if (cuts[i].number == cuts[i - 1].number + 1) lengths.push_back(cuts[i].operation - cuts[i - 1].operation);
    }
    const size_t usual = UpperMedian(&lengths);
    for (size_t i = 0; i < cuts.size(); ++i) {
      const int32_t step = cuts[i].number + ShiftOf(rank) - lowest;
      if (step < 0 || step >= table->steps) continue;
      const bool starts = i == 0;
      if (!starts && cuts[i].number != cuts[i - 1].number + 1) continue;
      const auto begin = starts ? static_cast<uint32_t>(trace_.first_operation[rank]) : cuts[i - 1].operation + 1;
      StepRange& range = table->ranges[rank * static_cast<size_t>(table->steps) + static_cast<size_t>(step)];
      range = {begin, cuts[i].operation + 1, true};
      // The first stretch may have lost its beginning.
      if (starts) range.complete = usual > 0 && range.end - range.begin == usual;
    }
  }

  void Measure(int32_t lowest, StepTable* table) const {
    table->step_seconds.assign(static_cast<size_t>(table->steps), 0);
    std::vector<std::vector<double>> lengths(static_cast<size_t>(table->steps));
    for (size_t rank = 0; rank < cuts_.size(); ++rank) {
      const std::vector<Cut>& cuts = cuts_[rank];
      for (size_t i = 0; i < cuts.size(); ++i) {
        const int32_t step = cuts[i].number + ShiftOf(rank) - lowest;
        if (step < 0 || step >= table->steps) continue;
        const StepRange& range = table->Of(rank, step);
        if (range.empty() || (i == 0 && !range.complete)) continue;
        const TraceOperation& last = trace_.operations[cuts[i].operation];
        if (i > 0 && !HaveTimesOfOneKind(trace_.operations[cuts[i - 1].operation], last)) continue;
        const int64_t begin =
            i == 0 ? trace_.operations[range.begin].enqueue_ns : TimeOf(trace_.operations[cuts[i - 1].operation]);
        lengths[static_cast<size_t>(step)].push_back(ToSeconds(TimeOf(last) - begin));
      }
    }
    for (size_t step = 0; step < lengths.size(); ++step) table->step_seconds[step] = MedianInPlace(&lengths[step]);
  }

  struct Cut {
    uint32_t operation = 0;
    int32_t number = 0;
  };

  const Trace& trace_;
  const OperationInstances& matched_;
  const JobRoles& roles_;
  Executor* const executor_;
  const AnchorNumbers anchors_;
  std::vector<int32_t> anchor_group_;    // by rank: communicator
  std::vector<std::vector<Cut>> cuts_;   // by rank
  std::vector<int32_t> shift_of_group_;  // by communicator
};

}  // namespace

StepTable FindSteps(const Trace& trace, const OperationInstances& matched, const JobRoles& roles, Executor* executor) {
  return StepFinder(trace, matched, roles, executor).Run();
}

}  // namespace lockstep
