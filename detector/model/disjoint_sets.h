// Disjoint sets of the numbers 0 to n - 1 (union by the lower number, path halving). Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_MODEL_DISJOINT_SETS_H_
#define LOCKSTEP_DETECTOR_MODEL_DISJOINT_SETS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lockstep {

class DisjointSets {
 public:
  explicit DisjointSets(size_t n) : parent_(n) {
    for (size_t i = 0; i < n; ++i) parent_[i] = static_cast<int32_t>(i);
  }

  // The lowest member of the set.
  int32_t Find(int32_t member) {
    while (parent_[static_cast<size_t>(member)] != member) {
      int32_t& parent = parent_[static_cast<size_t>(member)];
      parent = parent_[static_cast<size_t>(parent)];
      member = parent;
    }
    return member;
  }

  void Join(int32_t a, int32_t b) {
    a = Find(a);
    b = Find(b);
    if (b < a) std::swap(a, b);
    parent_[static_cast<size_t>(b)] = a;
  }

 private:
  std::vector<int32_t> parent_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_DISJOINT_SETS_H_
