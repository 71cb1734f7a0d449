#include "detector/verdict/trace_names.h"

#include <cstddef>

namespace lockstep {

std::string HostNameOf(const Trace& trace, int32_t rank_index) {
  const int32_t host = trace.ranks[static_cast<size_t>(rank_index)].host;
  return host < 0 ? "" : trace.hosts[static_cast<size_t>(host)];
}

RankName NameOf(const Trace& trace, int32_t rank_index) {
  return {.rank = trace.ranks[static_cast<size_t>(rank_index)].rank, .host = HostNameOf(trace, rank_index)};
}

std::vector<int32_t> NumbersOf(const Trace& trace, const std::vector<int32_t>& rank_indices) {
  std::vector<int32_t> numbers;
  for (const int32_t index : rank_indices) numbers.push_back(trace.ranks[static_cast<size_t>(index)].rank);
  return numbers;
}

CommunicatorName CommunicatorNameOf(const Trace& trace, int32_t communicator) {
  const TraceCommunicator& named = trace.communicators[static_cast<size_t>(communicator)];
  return {.name = named.name, .hint = named.hint, .members = named.members.size()};
}

Culprit TraceCulprit(const Trace& trace, int32_t rank_index, double confidence) {
  const TraceRank& rank = trace.ranks[static_cast<size_t>(rank_index)];
  return {.host = HostNameOf(trace, rank_index),
          .rank = rank.rank,
          .gpu = rank.gpu,
          .pid = rank.pid,
          .confidence = confidence};
}

}  // namespace lockstep
