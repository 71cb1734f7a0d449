// A few of many places, spread evenly: the middles of so many equal parts. Pure. Cost O(places taken).

#ifndef LOCKSTEP_DETECTOR_STATS_EVEN_PLACES_H_
#define LOCKSTEP_DETECTOR_STATS_EVEN_PLACES_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lockstep {

// At most `most` of the places 0 to count - 1, rising; all of them where there are no more.
inline std::vector<size_t> EvenPlaces(size_t count, size_t most) {
  std::vector<size_t> places(std::min(count, most));
  for (size_t i = 0; i < places.size(); ++i) places[i] = (2 * i + 1) * count / (2 * places.size());
  return places;
}

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STATS_EVEN_PLACES_H_
