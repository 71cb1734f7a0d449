#include "detector/counters/work_stop.h"

#include <algorithm>

namespace lockstep {
namespace {

constexpr double kMost = 1e6;  // times less: of a unit that did nothing at all

}  // namespace

void WorkStops::Observe(size_t unit, double part, double value, double independent, bool usual, int64_t time_ms) {
  const double less = part <= 0 ? 1 : part / std::max(value, part / kMost);
  WorkStop& stop = stops_[unit];
  if (less < kStopped) {
    stop = {};
  } else {
    if (stop.since_ms == 0) stop.since_ms = time_ms;
    stop.surprisal = std::max(stop.surprisal, record_.SurprisalOf(less, independent));
  }
  if (usual) record_.Add(less);
}

void WorkStops::Clear() { std::fill(stops_.begin(), stops_.end(), WorkStop()); }

}  // namespace lockstep
