// The first series of many, by host and device: which ones the next page of an answer holds.
//
// Offered in any order, several times or once. Keeps the smallest names only, so that memory is bounded by `max`
// however many series a metric has. Not thread-safe.

#ifndef LOCKSTEP_COLLECTOR_STORE_SERIES_NAMES_H_
#define LOCKSTEP_COLLECTOR_STORE_SERIES_NAMES_H_

#include <cstddef>
#include <iterator>
#include <set>
#include <string>
#include <utility>

namespace lockstep {

class SeriesNames {
 public:
  using Name = std::pair<std::string, std::string>;  // host, device

  // Names before `first` are left out. `max` is at least 1.
  SeriesNames(Name first, size_t max) : first_(std::move(first)), max_(max) {}

  void Offer(const std::string& host, const std::string& device) {
    Name name{host, device};
    if (name < first_) return;
    const bool full = names_.size() == max_;
    if (full && name >= *names_.rbegin()) return;
    if (names_.insert(std::move(name)).second && full) names_.erase(std::prev(names_.end()));
  }

  const std::set<Name>& names() const { return names_; }

 private:
  const Name first_;
  const size_t max_;
  std::set<Name> names_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_SERIES_NAMES_H_
