// Which channel each record of some ranks belongs to: the first half of matching, in which every rank stands for itself
// (see operation_instances.h for channels and holes).
//
// Channels are numbered as they turn up among these ranks. Cost O(records), each read once. Thread-compatible.

#ifndef LOCKSTEP_DETECTOR_MODEL_RANK_CHANNELS_H_
#define LOCKSTEP_DETECTOR_MODEL_RANK_CHANNELS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "detector/model/input.h"
#include "detector/model/operation_instances.h"
#include "detector/model/trace.h"

namespace lockstep {

// Communicator rank of every membership of a rank.
class CommunicatorPlaces {
 public:
  explicit CommunicatorPlaces(const Trace& trace);

  // -1 = not a member.
  int32_t Of(size_t rank_index, int32_t communicator) const;

 private:
  std::vector<std::vector<std::pair<int32_t, int32_t>>> by_rank_;  // communicator, place
};

// The sequence numbers that a channel has among some ranks.
struct SequenceRange {
  uint64_t first = std::numeric_limits<uint64_t>::max();
  uint64_t last = 0;
  uint64_t records = 0;

  void Note(uint64_t sequence) { Add({sequence, sequence, 1}); }
  void Add(const SequenceRange& other) {
    first = std::min(first, other.first);
    last = std::max(last, other.last);
    records += other.records;
  }
};

class RankChannels {
 public:
  // Both must outlive it.
  RankChannels(const Trace& trace, const CommunicatorPlaces& places);

  // Once. Fills, for the operations of ranks [first_rank, last_rank): channel_of (-1 = it matches nothing), rank_of and
  // sequence_low, the lower half of the sequence number.
  void Run(size_t first_rank, size_t last_rank, int32_t* channel_of, int32_t* rank_of, uint32_t* sequence_low);

  const std::vector<OperationChannel>& channels() const { return channels_; }  // without instances
  const std::vector<SequenceRange>& ranges() const { return ranges_; }         // by channel
  const std::vector<SequenceHole>& holes() const { return holes_; }
  const std::vector<size_t>& first_hole() const { return first_hole_; }  // by rank of these

 private:
  struct Recent {
    int32_t communicator;
    int32_t peer;
    OperationKind kind;
    int32_t channel;
  };
  // The one with the highest number.
  struct Latest {
    uint32_t operation = 0;
    uint64_t sequence = 0;
  };
  // Numbers between two records.
  struct Gap {
    size_t channel;
    uint64_t first;
    uint64_t last;
    uint64_t missing;
  };

  int32_t ChannelOf(size_t rank, const TraceOperation& operation);
  int32_t ChannelOfPair(size_t rank, const TraceOperation& operation);
  int32_t Add(const OperationChannel& channel);
  void Note(uint32_t operation, uint64_t sequence, size_t first_of_rank, size_t channel);
  void FillGap(size_t channel, uint64_t sequence);
  void DropFilledHoles();

  const Trace& trace_;
  const CommunicatorPlaces& places_;
  std::vector<int32_t> channel_of_collectives_;  // by communicator
  absl::flat_hash_map<std::tuple<int32_t, int32_t, int32_t>, int32_t> pairs_;
  std::vector<Recent> recent_;  // of the rank at hand
  std::vector<Gap> gaps_;       // by hole of the rank at hand
  std::vector<OperationChannel> channels_;
  std::vector<SequenceRange> ranges_;
  std::vector<Latest> latest_;  // by channel
  std::vector<SequenceHole> holes_;
  std::vector<size_t> first_hole_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_RANK_CHANNELS_H_
