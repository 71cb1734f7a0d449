#include "detector/model/member_places.h"

#include <algorithm>

namespace lockstep {
namespace {

// Bound of the search.
constexpr size_t kMaxTries = 4096;

class Seating {
 public:
  Seating(const std::vector<UnplacedMember>& members, int32_t size)
      : members_(members), size_(size), places_(members.size()) {}

  std::vector<int32_t> Run() {
    Place(0, 0);
    return answers_ == 1 && tries_ < kMaxTries ? answer_ : std::vector<int32_t>{};
  }

 private:
  // Seats member `m` and all after it at `first` or later.
  void Place(size_t m, int32_t first) {
    if (m == members_.size()) {
      ++answers_;
      answer_ = places_;
      return;
    }
    const int32_t behind = static_cast<int32_t>(members_.size() - m) - 1;
    for (int32_t place = first; place + behind < size_ && answers_ < 2 && ++tries_ < kMaxTries; ++place) {
      places_[m] = place;
      if (Fits(m)) Place(m + 1, place + 1);
    }
  }

  // Whether what member `m` does agrees with its place and with those before it.
  bool Fits(size_t m) const {
    const std::set<int32_t>& peers = members_[m].peers;
    if (peers.contains(places_[m])) return false;
    for (size_t other = 0; other < m; ++other) {
      if (peers.contains(places_[other]) != members_[other].peers.contains(places_[m])) return false;
    }
    return true;
  }

  const std::vector<UnplacedMember>& members_;
  const int32_t size_;
  std::vector<int32_t> places_;
  std::vector<int32_t> answer_;
  size_t answers_ = 0;
  size_t tries_ = 0;
};

}  // namespace

std::vector<int32_t> PlacesByPeers(const std::vector<UnplacedMember>& members, int32_t size) {
  const bool exchange =
      std::any_of(members.begin(), members.end(), [](const UnplacedMember& member) { return !member.peers.empty(); });
  if (!exchange || static_cast<size_t>(size) <= members.size()) return {};
  return Seating(members, size).Run();
}

}  // namespace lockstep
