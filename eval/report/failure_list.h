// The episodes that went wrong, for people to look at. Plain values; thread-compatible.

#ifndef LOCKSTEP_EVAL_REPORT_FAILURE_LIST_H_
#define LOCKSTEP_EVAL_REPORT_FAILURE_LIST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

struct FailedEpisode {
  uint64_t number = 0;
  std::string why;
  std::string description;  // of what was simulated
  std::string answer;
};

struct FailureList {
  static constexpr size_t kMaxListed = 40;

  std::vector<FailedEpisode> listed;  // the first kMaxListed
  int64_t not_listed = 0;

  void Add(FailedEpisode episode) {
    if (listed.size() < kMaxListed) {
      listed.push_back(std::move(episode));
    } else {
      ++not_listed;
    }
  }
  int64_t total() const { return static_cast<int64_t>(listed.size()) + not_listed; }
};

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_REPORT_FAILURE_LIST_H_
