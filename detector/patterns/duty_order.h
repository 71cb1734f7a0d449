// Workers in the order of their duties, so that those of one duty lie side by side in a column. Pure value.

#ifndef LOCKSTEP_DETECTOR_PATTERNS_DUTY_ORDER_H_
#define LOCKSTEP_DETECTOR_PATTERNS_DUTY_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace lockstep {

struct DutyOrder {
  std::vector<uint32_t> workers;  // by place
  std::vector<uint32_t> places;   // by worker
  std::vector<size_t> begins;     // first place of each duty, and one behind the last

  size_t duties() const { return begins.size() - 1; }
  size_t size_of(size_t duty) const { return begins[duty + 1] - begins[duty]; }
};

inline DutyOrder OrderByDuty(const std::vector<std::vector<uint32_t>>& groups) {
  DutyOrder order;
  for (const std::vector<uint32_t>& group : groups) {
    order.begins.push_back(order.workers.size());
    order.workers.insert(order.workers.end(), group.begin(), group.end());
  }
  order.begins.push_back(order.workers.size());
  order.places.resize(order.workers.size());
  for (uint32_t place = 0; place < order.workers.size(); ++place) order.places[order.workers[place]] = place;
  return order;
}

// The part of a column by place that belongs to the workers of a duty.
template <typename T>
absl::Span<T> OfDuty(const DutyOrder& order, std::vector<T>& column, size_t duty) {
  return absl::MakeSpan(column).subspan(order.begins[duty], order.size_of(duty));
}
template <typename T>
absl::Span<const T> OfDuty(const DutyOrder& order, const std::vector<T>& column, size_t duty) {
  return absl::MakeConstSpan(column).subspan(order.begins[duty], order.size_of(duty));
}

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PATTERNS_DUTY_ORDER_H_
