// One step of the whole job replayed from its records: how long would it have taken if ...
//
// The communication-operator graph of the step (Holmes, NSDI'25, section 2.3 of our notes; What-if, OSDI'25): nodes are
// operations, edges the order within a rank (own_time.h) and membership. A rank arrives at an operation when it has
// gone on from the one before and done its own work; a collective ends when its last member has arrived and the
// transfer is done, the transfer being the shortest time inside of any member; a Recv ends when both sides have arrived
// and the data have moved; a Send by itself that did not wait for its receiver in the records does not in the replay
// either. A rank whose begins are not seen (begins_seen.h) holds up nobody. Send and Recv of one rank that begin and
// end together were issued as one group: they end when the last of them does, and how long the others took is known
// from where they went alone; unless the step does not hang together that way. No clock of two hosts is compared. A
// counterfactual takes seconds off what some ranks work, where they exceed their peers (excess_places.h), and replaces
// lengths of some transfers. Calls whose records are lost are put back where the rank's other steps have them
// (step_pattern.h), so that it waits for others there, and others for it. How long such an operation's transfer took is
// not known if the lost member came last: then what the nearest complete ones of its channel took is the better guess.
//
// Preparing costs O(operations of the step), and so does each replay (tens of nanoseconds per operation, no allocation
// after the first but for ranks that work less). Going through the graph is what costs: two counterfactuals are
// replayed for the price of one. Not thread-safe: a replay reuses its buffers, for further steps as well. The analysis
// must outlive it.

#ifndef LOCKSTEP_DETECTOR_SLOW_STEP_REPLAY_H_
#define LOCKSTEP_DETECTOR_SLOW_STEP_REPLAY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "detector/steps/own_time.h"
#include "detector/steps/step_pattern.h"
#include "detector/steps/trace_analysis.h"

namespace lockstep {

// What is different from the records.
struct Counterfactual {
  struct OwnTime {
    int32_t rank = -1;
    float scale = 1;  // of what the rank works in the step
    float less = 0;   // seconds of it besides
  };
  struct Channel {
    int32_t channel = -1;  // OperationInstances::channels
    float scale = 1;       // of all its transfers
  };
  std::vector<OwnTime> own;
  std::vector<Channel> channels;
  std::vector<float> own_of_node;  // instead of the recorded own times, and of `own`; empty = those
};

class StepReplay {
 public:
  explicit StepReplay(const TraceAnalysis& analysis) : analysis_(&analysis), pattern_(analysis) {}
  StepReplay(const TraceAnalysis& analysis, int32_t step) : StepReplay(analysis) { Load(step); }

  // Goes over to another step.
  void Load(int32_t step);

  int32_t step() const { return step_; }
  size_t operations() const { return operation_.size(); }
  // By node: ranks one after the other, each by rising start. Indices into Trace::operations, kNoOperation = the record
  // is lost; seconds.
  absl::Span<const uint32_t> operation_of_node() const { return operation_; }
  absl::Span<const float> recorded_own() const { return recorded_own_; }
  // Share of the instances of which some member left no record and could not be put back: their waits cannot be told
  // from transfers.
  double hidden_share() const { return hidden_share_; }

  // Length of the step in seconds; 0 when the records do not hang together (a loop of waits, nothing recorded).
  double Run(const Counterfactual& counterfactual) { return RunBoth(counterfactual, counterfactual).first; }
  std::pair<double, double> RunBoth(const Counterfactual& first, const Counterfactual& second);

  // One link of the chain that the end of the step waited for.
  struct Link {
    uint32_t operation = kNoOperation;  // index into Trace::operations; kNoOperation = its record is lost
    int32_t rank = -1;
    float own_seconds = 0;       // of that rank before it
    float transfer_seconds = 0;  // of it
    bool waited = false;         // the link before this one is of another rank: that one arrived last
  };
  // Of the first counterfactual of the latest run, from the end of the step backwards.
  std::vector<Link> CriticalPath() const;

 private:
  static constexpr uint32_t kNone = kNoOperation;
  // Of both counterfactuals.
  static constexpr size_t kLanes = 2;
  using Lanes = std::array<double, kLanes>;
  using Lengths = std::array<float, kLanes>;

  void Prepare(int32_t step);
  std::pair<double, double> RunOnce(const Counterfactual& first, const Counterfactual& second);
  void Collect(const TraceAnalysis& analysis);
  void CollectRecorded(size_t rank);
  void CollectPattern(size_t rank, const std::vector<PatternCall>& calls);
  void GuessUnknownOwn(size_t first);
  void FindGroups(size_t first);
  bool Grouped(size_t node) const {
    return nodes_[node].group != node || (node + 1 < nodes_.size() && nodes_[node + 1].group == node);
  }
  void LinkNodes();
  void Connect(const TraceAnalysis& analysis);
  void NumberMeetings(const TraceAnalysis& analysis);
  bool HidesMember(const TraceAnalysis& analysis, uint32_t meeting) const;
  size_t MembersIn(uint32_t meeting) const {
    return meetings_[meeting + 1].first_member - meetings_[meeting].first_member;
  }
  void TrustIncompleteLess(const TraceAnalysis& analysis);
  void TrustGroupsLess(const TraceAnalysis& analysis);
  void Prepare(const Counterfactual& counterfactual, size_t lane);
  absl::Span<const float> OwnOf(size_t rank) const {
    return absl::MakeConstSpan(recorded_own_).subspan(first_node_[rank], first_node_[rank + 1] - first_node_[rank]);
  }
  void Shorten(const Counterfactual::OwnTime& changed, size_t lane);
  void Restart();
  void Arrive(uint32_t node);
  // Those that go on from its end, or from its beginning.
  void Wake(uint32_t node, bool after_end);
  void Finish(uint32_t meeting);
  void Move(uint32_t node, const Lanes& end);

  const TraceAnalysis* analysis_;
  StepPattern pattern_;
  int32_t step_ = -1;
  double hidden_share_ = 0;
  bool groups_count_ = true;  // false: with them the records of this step do not hang together
  // What a run touches of an operation lies in one cache line: members of a meeting are far apart.
  struct Node {
    Lanes arrival;
    Lanes end;         // of the first of a group until all are done: of those that are
    uint32_t after;    // node; kNone = the beginning of the step
    uint32_t meeting;  // which meeting it belongs to
    uint32_t group;    // its first node; itself when it was issued alone
    uint32_t rank;
    uint32_t unmoved;   // of the first of a group: how many are not done
    uint32_t decisive;  // of the first of a group: whose transfer ends last, of those that are done
    bool after_end;
    bool eager;  // a Send that did not wait
    bool arrived;
    bool moved;     // its own transfer is done
    bool finished;  // and those of its group
  };
  // An instance with the nodes of the step in it.
  struct Meeting {
    Lanes last_arrival;
    Lengths transfer;
    uint32_t first_member;
    uint32_t missing;       // members that have not arrived
    uint32_t last_arriver;  // node, of the first counterfactual
  };

  // Nodes of one rank follow one another by rising start.
  std::vector<Node> nodes_;
  std::vector<uint32_t> operation_;            // by node; kNoOperation = lost
  std::vector<uint32_t> like_;                 // by node: itself, of a lost one the same call in another step
  std::vector<float> recorded_own_;            // by node
  std::vector<float> duration_;                // by node; negative = lost
  std::vector<Lengths> own_;                   // by node, of a run
  std::vector<float> shortened_;               // of one rank, of a run
  std::vector<char> shortens_;                 // by rank, of a run
  std::vector<uint32_t> first_node_;           // by rank, one past the last at the end
  std::vector<Meeting> meetings_;              // and one behind the last
  std::vector<uint32_t> member_;               // nodes, by meeting
  std::vector<float> recorded_transfer_;       // by meeting
  std::vector<uint32_t> instance_;             // by meeting
  std::vector<uint32_t> meeting_of_instance_;  // by instance of the trace; kNone = not in this step
  std::vector<uint32_t> order_;                // of one rank, while it is collected: operations; and a buffer
  std::vector<uint32_t> node_of_;              // the same: by operation of the step
  std::vector<uint32_t> first_next_;           // by node, and one past the last: of those in next_ that go on from it
  std::vector<uint32_t> next_;                 // nodes
  std::vector<uint32_t> open_;                 // nodes whose rank may arrive
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_STEP_REPLAY_H_
