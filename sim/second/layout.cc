#include "sim/second/layout.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "sim/second/draws.h"

namespace lockstep::second {
namespace {

constexpr const char* kRoleNames[] = {"tp", "cp", "dp", "ep", "pp", "pair", "world"};

Place PlaceAt(const Shape& shape, int rank) {
  Place place;
  place.tensor = rank % shape.tensor;
  rank /= shape.tensor;
  place.context = rank % shape.context;
  rank /= shape.context;
  if (shape.data_outermost) {
    place.stage = rank % shape.pipeline;
    place.data = rank / shape.pipeline;
  } else {
    place.data = rank % shape.data;
    place.stage = rank / shape.data;
  }
  return place;
}

// What all members of a group of `role` have in common.
int64_t KeyOf(const Shape& shape, Role role, const Place& place) {
  const auto key = [](int64_t a, int64_t b, int64_t c) { return (a * 4096 + b) * 4096 + c; };
  switch (role) {
    case Role::kTensor:
      return key(place.context, place.data, place.stage);
    case Role::kContext:
      return key(place.tensor, place.data, place.stage);
    case Role::kData:
      return key(0, place.tensor, place.stage);
    case Role::kExpert:
      return key((place.data * shape.context + place.context) / shape.expert, place.tensor, place.stage);
    case Role::kPipeline:
      return key(place.tensor, place.context, place.data);
    default:
      return 0;
  }
}

}  // namespace

Layout::Layout(const World& world) : gpus_per_host_(world.shape.gpus_per_host), shape_(world.shape) {
  for (int rank = 0; rank < shape_.ranks(); ++rank) places_.push_back(PlaceAt(shape_, rank));
  group_of_.resize(places_.size());
  for (auto& groups : group_of_) groups.fill(-1);
  if (shape_.tensor > 1) AddLines(world, Role::kTensor);
  if (shape_.context > 1) AddLines(world, Role::kContext);
  if (shape_.data * shape_.context > 1) AddLines(world, Role::kData);
  if (shape_.expert > 1) AddLines(world, Role::kExpert);
  if (shape_.pipeline > 1 && !shape_.pair_communicators) AddLines(world, Role::kPipeline);
  if (shape_.pipeline > 1 && shape_.pair_communicators) AddPairs(world);
  AddLines(world, Role::kWorld);
}

int Layout::RankAt(const Place& place) const {
  const int outer =
      shape_.data_outermost ? place.data * shape_.pipeline + place.stage : place.stage * shape_.data + place.data;
  return (outer * shape_.context + place.context) * shape_.tensor + place.tensor;
}

int Layout::Add(Role role, std::vector<int> members, const World& world) {
  const int index = static_cast<int>(groups_.size());
  const char* const word = kRoleNames[static_cast<size_t>(role)];
  const std::string name =
      world.recorder.plain_names
          ? absl::StrCat(word, "_", index)
          : absl::StrFormat("0x%016x", Draws(world.seed).Bits(Topic::kName, {int64_t{1} << 20, index}));
  groups_.push_back({role, name, std::move(members)});
  return index;
}

void Layout::AddLines(const World& world, Role role) {
  std::map<int64_t, std::vector<int>> lines;
  for (int rank = 0; rank < ranks(); ++rank) lines[KeyOf(shape_, role, PlaceOf(rank))].push_back(rank);
  for (auto& [key, members] : lines) {
    const int index = Add(role, members, world);
    for (const int rank : members) group_of_[static_cast<size_t>(rank)][static_cast<size_t>(role)] = index;
  }
}

void Layout::AddPairs(const World& world) {
  for (int rank = 0; rank < ranks(); ++rank) {
    Place next = PlaceOf(rank);
    if (next.stage + 1 == shape_.pipeline && (shape_.chunks == 1 || shape_.pipeline == 2)) continue;
    next.stage = (next.stage + 1) % shape_.pipeline;
    const int other = RankAt(next);
    const std::pair<int, int> key = std::minmax(rank, other);
    pair_groups_[key] = Add(Role::kPair, {key.first, key.second}, world);
  }
}

int Layout::GroupBetween(int rank, int other) const {
  if (!shape_.pair_communicators) return GroupOf(rank, Role::kPipeline);
  const auto found = pair_groups_.find(std::minmax(rank, other));
  CHECK(found != pair_groups_.end());
  return found->second;
}

int Layout::MemberOf(int index, int rank) const {
  const std::vector<int>& members = group(index).members;
  // Members are in rising order, since lines are collected by rising rank.
  const auto at = std::lower_bound(members.begin(), members.end(), rank);
  CHECK(at != members.end() && *at == rank);
  return static_cast<int>(at - members.begin());
}

}  // namespace lockstep::second
