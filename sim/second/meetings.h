// Operations under way: who has arrived, and what they load. Numbers are used again once an operation is over.
//
// Not thread-safe.

#ifndef LOCKSTEP_SIM_SECOND_MEETINGS_H_
#define LOCKSTEP_SIM_SECOND_MEETINGS_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "detector/model/operation_kind.h"
#include "sim/second/fabric.h"
#include "sim/second/layout.h"
#include "sim/second/script.h"

namespace lockstep::second {

// All members of one operation.
struct Meeting {
  int expected = 0;
  std::vector<std::pair<int, Stream>> arrived;
  const std::vector<Load>* loads = nullptr;
  OperationKind operation = OperationKind::kUnknown;
  uint64_t bytes = 0;
  uint64_t version = 0;  // counts the changes of its end
  bool stuck = false;
  bool flowing = false;
  uint64_t channel = 0;
  uint64_t sequence = 0;
};

class Meetings {
 public:
  // Borrows both.
  Meetings(const Layout& layout, const Fabric& fabric) : layout_(layout), fabric_(fabric) {}

  // What counts the operations of a rank: a group, or a directed way between two of its members.
  uint64_t ChannelOf(int rank, const Instruction& call) const;

  // The number of the operation that `call` is, the `sequence`-th of its channel; made at the first arrival.
  int NumberOf(int rank, const Instruction& call, uint64_t sequence);

  Meeting& operator[](int number) { return meetings_[static_cast<size_t>(number)]; }
  int count() const { return static_cast<int>(meetings_.size()); }

  // Forgets an operation that is over and returns what it was.
  Meeting Close(int number);

 private:
  const std::vector<Load>* LoadsFor(int rank, const Instruction& call);

  const Layout& layout_;
  const Fabric& fabric_;
  std::vector<Meeting> meetings_;
  std::vector<int> free_;
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, int> number_of_;
  std::map<std::pair<uint64_t, OperationKind>, std::vector<Load>> loads_;
};

}  // namespace lockstep::second

#endif  // LOCKSTEP_SIM_SECOND_MEETINGS_H_
