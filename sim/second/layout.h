// Who works with whom: the place of every rank in the job, and the communicators that follow from it.
//
// Immutable; thread-safe.

#ifndef LOCKSTEP_SIM_SECOND_LAYOUT_H_
#define LOCKSTEP_SIM_SECOND_LAYOUT_H_

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/second/world.h"

namespace lockstep::second {

struct Place {
  int tensor = 0;
  int context = 0;
  int data = 0;
  int stage = 0;
};

// kData spans the context dimension too: its members hold the same parameters.
enum class Role : uint8_t { kTensor, kContext, kData, kExpert, kPipeline, kPair, kWorld };
inline constexpr int kSingleRoles = 7;

struct Group {
  Role role = Role::kWorld;
  std::string name;
  std::vector<int> members;  // ranks, by communicator rank
};

class Layout {
 public:
  explicit Layout(const World& world);

  int ranks() const { return static_cast<int>(places_.size()); }
  int hosts() const { return ranks() / gpus_per_host_; }
  int gpus_per_host() const { return gpus_per_host_; }
  int HostOf(int rank) const { return rank / gpus_per_host_; }
  int GpuOf(int rank) const { return rank % gpus_per_host_; }
  const Place& PlaceOf(int rank) const { return places_[static_cast<size_t>(rank)]; }
  int RankAt(const Place& place) const;

  const std::vector<Group>& groups() const { return groups_; }
  const Group& group(int index) const { return groups_[static_cast<size_t>(index)]; }

  // Index of the group of that role, -1 = the rank has none. Not for kPair.
  int GroupOf(int rank, Role role) const { return group_of_[static_cast<size_t>(rank)][static_cast<size_t>(role)]; }

  // The group in which two ranks of neighbouring stages talk.
  int GroupBetween(int rank, int other) const;

  // Position of `rank` among the members of group `index`.
  int MemberOf(int index, int rank) const;

 private:
  int Add(Role role, std::vector<int> members, const World& world);
  void AddLines(const World& world, Role role);
  void AddPairs(const World& world);

  const int gpus_per_host_;
  const Shape shape_;
  std::vector<Place> places_;
  std::vector<Group> groups_;
  std::vector<std::array<int, kSingleRoles>> group_of_;
  std::map<std::pair<int, int>, int> pair_groups_;  // (lower rank, higher rank)
};

}  // namespace lockstep::second

#endif  // LOCKSTEP_SIM_SECOND_LAYOUT_H_
