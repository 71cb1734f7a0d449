// The calls of a rank's step put together again where records are lost, after the pattern of its class.
//
// Ranks of one class make the same calls in the same order, step after step. So a step of some peer that left all
// records is the *pattern*: which calls there are, in which order they begin, and what each goes on from. A call is
// known by its channel and its place among the step's calls there. Channels of two peers correspond by group family,
// direction, the class of the other side, size of calls and which comes first; and since every step uses a channel
// equally often, sequence numbers alone tell to which step and place a record belongs. What is left over of the pattern
// was lost; others' records under the same number are of the same operation. How long the work before a lost call took
// nobody knows, nor that before the calls that went on from it: it is taken to be what the rank needed there in the
// nearest steps; where these do not tell, the middle of whole steps of the class, times the ratio by which this step
// differs from them at most of its calls.
//
// Abstains for classes without a whole step, and for ranks that between their usual steps made other calls (an
// evaluation). Holds buffers between calls; not thread-safe. Cost O(calls log peers) per step, and once O(records).

#ifndef LOCKSTEP_DETECTOR_STEPS_STEP_PATTERN_H_
#define LOCKSTEP_DETECTOR_STEPS_STEP_PATTERN_H_

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "detector/steps/trace_analysis.h"

namespace lockstep {

struct PatternCall {
  uint32_t like = kNoOperation;      // the same call in the pattern: index into Trace::operations
  uint32_t recorded = kNoOperation;  // of the step itself; kNoOperation = lost
  uint32_t instance = kNoInstance;   // of the matched operations
  uint32_t after = kNoOperation;     // position in the result; kNoOperation = the beginning of the step
  bool after_end = false;
  float own_seconds = 0;
};

class StepPattern {
 public:
  explicit StepPattern(const TraceAnalysis& analysis) : analysis_(analysis) {}

  // All calls of the step in the order of their starts. Nothing when the step is whole, there is no pattern for it, or
  // nobody else recorded what it lacks. Valid until the next call.
  const std::vector<PatternCall>& Complete(size_t rank, int32_t step);

 private:
  // A channel as ranks of one class have it, and which it is for one of them.
  struct Channel {
    bool one_sided = false;
    bool sends = false;
    int32_t family = -1;
    int32_t other_class = -1;  // of the other side; -1 = a collective
    int32_t ahead = 0;         // how far the other side is ahead in the communicator
    uint64_t largest = 0;      // bytes of its largest call: two groups of the same ranks are told apart by what they do
    uint32_t turn = 0;         // in which channels come first in the step
    int32_t channel = -1;

    auto Order() const { return std::tie(one_sided, sends, family, other_class, ahead, largest, turn); }
    bool IsLike(const Channel& other) const {
      return one_sided == other.one_sided && sends == other.sends && family == other.family &&
             other_class == other.other_class;
    }
  };
  struct Pattern {
    bool is_sought = false;          // there is none, if it has no calls
    std::vector<Channel> channels;   // sorted
    std::vector<uint32_t> first_of;  // by channel, and one past the last: of its calls in position_of
    std::vector<uint32_t> position_of;
    std::vector<uint32_t> channel_of;  // by position
    std::vector<uint32_t> place_of;    // by position: among the calls of its channel
    std::vector<PatternCall> calls;    // by rising start

    uint32_t CallsIn(size_t channel) const { return first_of[channel + 1] - first_of[channel]; }
  };
  struct RankChannels {
    bool is_sought = false;        // there are none that go with the pattern, if it is empty
    std::vector<int32_t> channel;  // by channel of the pattern
    std::vector<int64_t> base;     // its sequence number at the beginning of step 0
  };

  bool IsWhole(size_t rank, int32_t step) const;
  const Pattern& PatternOf(size_t rank);
  void BuildPattern(const std::vector<int32_t>& peers, Pattern* pattern);
  void LayOut(size_t rank, int32_t step, Pattern* pattern);
  void TakeMiddleOwn(const std::vector<std::pair<size_t, int32_t>>& whole, Pattern* pattern);
  const RankChannels& ChannelsFor(size_t rank, const Pattern& pattern);
  void FindBases(size_t rank, const Pattern& pattern, RankChannels* own);
  std::vector<Channel> ChannelsOf(size_t rank, const StepRange& range);
  std::vector<Channel> UsualChannelsOf(size_t rank);
  Channel Describe(size_t rank, int32_t channel) const;
  StepRange RecordsAround(size_t rank, int32_t step) const;
  // Position in the calls of the pattern; kNoOperation = of no call of the step.
  uint32_t PositionOf(const Pattern& pattern, const RankChannels& own, uint32_t operation, int32_t step) const;
  bool FindLost(size_t rank, int32_t step, const Pattern& pattern, const RankChannels& own);
  void TakeOwn(size_t rank, int32_t step, const StepRange& range, const Pattern& pattern, const RankChannels& own);
  // Negative = not known.
  float NearestOwn(size_t rank, int32_t step, uint32_t at, const Pattern& pattern, const RankChannels& own) const;
  uint32_t RecordOf(size_t rank, uint32_t instance) const;

  const TraceAnalysis& analysis_;
  std::vector<Pattern> patterns_;  // by class
  std::vector<RankChannels> of_rank_;
  std::vector<uint32_t> seen_;  // by channel: mark of the latest search
  std::vector<uint32_t> turn_;  // by channel seen in the latest search
  uint32_t mark_ = 0;
  std::vector<PatternCall> calls_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_STEP_PATTERN_H_
