#include "sim/second/meetings.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lockstep::second {

uint64_t Meetings::ChannelOf(int rank, const Instruction& call) const {
  const auto group = static_cast<uint64_t>(call.group);
  if (call.peer < 0) return group;
  const auto own = static_cast<uint64_t>(layout_.MemberOf(call.group, rank));
  const auto peer = static_cast<uint64_t>(call.peer);
  const bool sends = call.operation == OperationKind::kSend;
  return group | ((sends ? own : peer) + 1) << 24 | ((sends ? peer : own) + 1) << 44;
}

int Meetings::NumberOf(int rank, const Instruction& call, uint64_t sequence) {
  const std::pair<uint64_t, uint64_t> key(ChannelOf(rank, call), sequence);
  const auto [found, is_new] = number_of_.try_emplace(key, 0);
  if (!is_new) return found->second;
  const int number = free_.empty() ? count() : free_.back();
  if (free_.empty()) {
    meetings_.emplace_back();
  } else {
    free_.pop_back();
  }
  found->second = number;
  Meeting& fresh = meetings_[static_cast<size_t>(number)];
  // Events about what had the number before have older versions.
  fresh = {.version = fresh.version + 1, .channel = key.first, .sequence = key.second};
  fresh.expected = call.peer >= 0 ? 2 : static_cast<int>(layout_.group(call.group).members.size());
  fresh.operation = call.peer >= 0 ? OperationKind::kSend : call.operation;
  fresh.bytes = call.bytes;
  fresh.loads = LoadsFor(rank, call);
  return number;
}

Meeting Meetings::Close(int number) {
  Meeting& meeting = meetings_[static_cast<size_t>(number)];
  Meeting over = std::move(meeting);
  meeting = {.version = over.version + 1};
  number_of_.erase({over.channel, over.sequence});
  free_.push_back(number);
  return over;
}

const std::vector<Load>* Meetings::LoadsFor(int rank, const Instruction& call) {
  const std::pair key(ChannelOf(rank, call), call.peer < 0 ? call.operation : OperationKind::kSend);
  const auto found = loads_.find(key);
  if (found != loads_.end()) return &found->second;
  const Group& group = layout_.group(call.group);
  if (call.peer < 0) return &(loads_[key] = fabric_.LoadsOf(call.operation, group));
  const int peer = group.members[static_cast<size_t>(call.peer)];
  const bool sends = call.operation == OperationKind::kSend;
  return &(loads_[key] = sends ? fabric_.LoadsBetween(rank, peer) : fabric_.LoadsBetween(peer, rank));
}

}  // namespace lockstep::second
