#include "agent/sources/rings/operation_archive.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"

namespace lockstep {
namespace {

template <typename List, typename Value>
bool IsAmong(const List& list, Value value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

void OperationArchive::Add(const Owner& owner, const wire::OperationBatch& batch, int64_t newest_ns) {
  if (batch.kinds().empty()) return;
  Chunk chunk{owner, newest_ns, static_cast<uint64_t>(batch.kinds_size()), batch.SerializeAsString()};
  Shelf& shelf = shelves_[owner.user];
  bytes_ += chunk.bytes();
  shelf.bytes += chunk.bytes();
  shelf.chunks.push_back(std::move(chunk));
  while (bytes_ > max_bytes_) ThrowOneAway();
}

void OperationArchive::ThrowOneAway() {
  const auto fullest = std::max_element(shelves_.begin(), shelves_.end(),
                                        [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
  Shelf& shelf = fullest->second;
  bytes_ -= shelf.chunks.front().bytes();
  shelf.bytes -= shelf.chunks.front().bytes();
  thrown_away_ += shelf.chunks.front().operations;
  shelf.chunks.pop_front();
  if (shelf.chunks.empty()) shelves_.erase(fullest);
}

void OperationArchive::Pull(const std::set<std::string>& jobs, const wire::PullOperations& request, int64_t now_ns,
                            wire::CommandResult& result) const {
  const size_t limit = request.max_bytes() == 0 ? kMaxAnswerBytes : std::min(request.max_bytes(), kMaxAnswerBytes);
  const int64_t since_ns = now_ns - std::clamp<int64_t>(request.newest_ns(), 0, now_ns);
  std::vector<const Chunk*> chosen;  // newest first
  size_t bytes = 0;
  uint64_t left_out = 0;
  for (const auto& [user, shelf] : shelves_) {
    for (auto chunk = shelf.chunks.rbegin(); chunk != shelf.chunks.rend(); ++chunk) {
      if (jobs.count(chunk->owner.job) == 0 || chunk->newest_ns < since_ns) continue;
      if (!IsAmong(request.ranks(), chunk->owner.rank)) continue;
      if (!IsAmong(request.communicators(), chunk->owner.communicator)) continue;
      bytes += kBatchBytes + chunk->encoded.size();
      if (bytes > limit) {
        left_out += chunk->operations;
      } else {
        chosen.push_back(&*chunk);
      }
    }
  }
  for (auto chunk = chosen.rbegin(); chunk != chosen.rend(); ++chunk) {
    wire::PulledOperations& pulled = *result.add_pulled();
    pulled.set_rank((*chunk)->owner.rank);
    pulled.set_process_start_ticks((*chunk)->owner.process_start_ticks);
    pulled.set_communicator((*chunk)->owner.communicator);
    CHECK(pulled.mutable_operations()->ParseFromString((*chunk)->encoded));
  }
  result.set_left_out(left_out);
}

}  // namespace lockstep
