#include "detector/testing/pull_archive.h"

#include <algorithm>

namespace lockstep {
namespace {

template <typename T>
bool IsAsked(const std::vector<T>& asked, const T& value) {
  return asked.empty() || std::binary_search(asked.begin(), asked.end(), value);
}

}  // namespace

void PullArchive::Add(const HostReport& report) {
  for (const RankView& rank : report.ranks) {
    for (const CommunicatorView& view : rank.communicators) {
      std::vector<Operation>& held = held_[{report.host, rank.rank, rank.process_start_ticks, view.id}];
      held.insert(held.end(), view.operations.begin(), view.operations.end());
    }
  }
}

PullAnswer PullArchive::Answer(const PullRequest& request, int64_t host_ns) const {
  PullAnswer answer{.request = request.id, .done = true};
  for (const auto& [owner, operations] : held_) {
    const auto& [host, rank, start_ticks, communicator] = owner;
    if (host != request.host || !IsAsked(request.ranks, rank)) continue;
    if (!IsAsked(request.communicators, communicator)) continue;
    PulledOperations pulled{rank, start_ticks, communicator, {}};
    for (const Operation& operation : operations) {
      if (host_ns - operation.end_ns <= request.newest_ns) pulled.operations.push_back(operation);
    }
    if (!pulled.operations.empty()) answer.pulled.push_back(std::move(pulled));
  }
  return answer;
}

}  // namespace lockstep
