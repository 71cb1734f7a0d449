// How ranks, communicators, operations and durations are called, so that every sentence calls them the same.
//
// Reasons carry the names as values; the text is made when somebody reads them. Pure.

#ifndef LOCKSTEP_DETECTOR_VERDICT_WORDING_H_
#define LOCKSTEP_DETECTOR_VERDICT_WORDING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/model/operation_kind.h"

namespace lockstep {

struct RankName {
  int32_t rank = -1;
  std::string host;  // empty = not known
  bool operator==(const RankName&) const = default;
};

struct CommunicatorName {
  std::string name;
  std::string hint;  // of what it is for; empty = not known
  uint64_t members = 0;
  bool operator==(const CommunicatorName&) const = default;
};

struct OperationName {
  OperationKind kind = OperationKind::kUnknown;
  uint64_t sequence = 0;
  CommunicatorName communicator;
  bool operator==(const OperationName&) const = default;
};

// "rank 2 (host node-a)".
std::string Text(const RankName& rank);
// "rank 2", or "ranks 1, 2, 3 and 5 more".
std::string Text(std::vector<int32_t> ranks);
// "communicator 0x1f (dp, 8 members)".
std::string Text(const CommunicatorName& communicator);
// "AllReduce 7 of communicator 0x1f (dp, 8 members)".
std::string Text(const OperationName& operation);
// "43.1 ms", "5.2 s".
std::string Duration(double seconds);
// As the first word of a sentence.
std::string Capitalized(std::string text);
// Those that are not empty, with blanks between them.
std::string Sentences(const std::vector<std::string>& sentences);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_WORDING_H_
