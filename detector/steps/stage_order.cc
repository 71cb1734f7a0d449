#include "detector/steps/stage_order.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "detector/model/input.h"

namespace lockstep {
namespace {

constexpr int32_t kUnordered = -1;  // no position
// A stage talks to the one before and the one after.
constexpr size_t kNeighbours = 2;

class Order {
 public:
  Order(const Trace& trace, const JobRoles& roles, const StepTable& steps)
      : trace_(trace), roles_(roles), steps_(steps), stages_(roles.classes.size(), kUnordered) {}

  std::vector<int32_t> Run() {
    FollowChains(NextOfClasses());
    ForgetContradictions();
    int32_t fresh = 1 + *std::max_element(stages_.begin(), stages_.end());
    for (int32_t& stage : stages_) stage = stage == kUnordered ? fresh++ : stage;
    return std::move(stages_);
  }

 private:
  // Votes of one class, by the class at the other end: steps that begin with a Send, less those with a Recv.
  using Votes = std::map<int32_t, int32_t>;

  int32_t OtherClass(const TraceOperation& operation) const {
    const std::vector<int32_t>& members = trace_.communicators[static_cast<size_t>(operation.communicator)].members;
    if (operation.peer < 0 || static_cast<size_t>(operation.peer) >= members.size()) return -1;
    const int32_t peer = members[static_cast<size_t>(operation.peer)];
    return peer < 0 ? -1 : roles_.class_of_rank[static_cast<size_t>(peer)];
  }

  // What peers send to one another says nothing of stages.
  void VoteIn(size_t begin, size_t end, int32_t own, Votes* votes) const {
    std::set<int32_t> met{own};
    for (size_t i = begin; i < end && met.size() <= kNeighbours; ++i) {
      const TraceOperation& operation = trace_.operations[i];
      if (!IsSendOrRecv(operation.kind)) continue;
      const int32_t other = OtherClass(operation);
      if (other >= 0 && met.insert(other).second) (*votes)[other] += operation.kind == OperationKind::kSend ? 1 : -1;
    }
  }

  Votes VotesOf(size_t rank) const {
    Votes votes;
    const int32_t own = roles_.class_of_rank[rank];
    for (int32_t step = 0; step < steps_.steps; ++step) {
      const StepRange& range = steps_.Of(rank, step);
      if (range.complete) VoteIn(range.begin, range.end, own, &votes);
    }
    if (votes.empty()) VoteIn(trace_.first_operation[rank], trace_.first_operation[rank + 1], own, &votes);
    return votes;
  }

  std::vector<int32_t> NextOfClasses() const {
    std::vector<int32_t> next;
    for (const std::vector<int32_t>& ranks : roles_.classes) {
      const Votes votes = VotesOf(static_cast<size_t>(ranks.front()));
      const auto most = std::max_element(votes.begin(), votes.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      next.push_back(most == votes.end() || most->second <= 0 ? -1 : most->first);
    }
    return next;
  }

  void FollowChains(const std::vector<int32_t>& next) {
    std::vector<char> has_previous(next.size(), 0);
    for (const int32_t after : next) {
      if (after >= 0) has_previous[static_cast<size_t>(after)] = 1;
    }
    for (size_t start = 0; start < next.size(); ++start) {
      const bool closes_circle = start == 0 && stages_[0] == kUnordered;
      if (next[start] < 0 || (has_previous[start] != 0 && !closes_circle)) continue;
      int32_t stage = 0;
      for (auto at = static_cast<int32_t>(start); at >= 0 && stages_[static_cast<size_t>(at)] == kUnordered;
           at = next[static_cast<size_t>(at)]) {
        stages_[static_cast<size_t>(at)] = stage++;
      }
    }
  }

  // The order of a pipeline is unknown unless one chain holds all of its stages.
  void ForgetContradictions() {
    std::map<int32_t, std::set<int32_t>> classes_of_pipeline;
    for (size_t rank = 0; rank < roles_.pipeline_of_rank.size(); ++rank) {
      const int32_t pipeline = roles_.pipeline_of_rank[rank];
      if (pipeline >= 0) classes_of_pipeline[pipeline].insert(roles_.class_of_rank[rank]);
    }
    for (const auto& [pipeline, classes] : classes_of_pipeline) {
      std::set<int32_t> stages;
      for (const int32_t number : classes) stages.insert(stages_[static_cast<size_t>(number)]);
      if (stages.size() == classes.size() && !stages.contains(kUnordered)) continue;
      for (const int32_t number : classes) stages_[static_cast<size_t>(number)] = kUnordered;
    }
  }

  const Trace& trace_;
  const JobRoles& roles_;
  const StepTable& steps_;
  std::vector<int32_t> stages_;  // by class
};

}  // namespace

std::vector<int32_t> StagesOfClasses(const Trace& trace, const JobRoles& roles, const StepTable& steps) {
  if (roles.classes.empty()) return {};
  return Order(trace, roles, steps).Run();
}

}  // namespace lockstep
