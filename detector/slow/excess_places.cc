#include "detector/slow/excess_places.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>

#include "base/check.h"

namespace lockstep {
namespace {

// What the peers take for the interval: the lower middle, so that of two the quicker one counts.
float MiddleAt(const std::vector<absl::Span<const float>>& peers, size_t interval) {
  std::array<float, kMostPlacePeers> values{};
  for (size_t peer = 0; peer < peers.size(); ++peer) values[peer] = peers[peer][interval];
  const auto end = values.begin() + static_cast<std::ptrdiff_t>(peers.size());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((peers.size() - 1) / 2);
  std::nth_element(values.begin(), middle, end);
  return *middle;
}

}  // namespace

std::vector<absl::Span<const float>> OwnTimesOfPeers(size_t rank, const std::vector<int32_t>& peers,
                                                     const std::vector<char>& left_out,
                                                     absl::FunctionRef<absl::Span<const float>(size_t rank)> own_of) {
  std::vector<absl::Span<const float>> sample;
  const size_t intervals = own_of(rank).size();
  const auto tells = [&](int32_t one) {
    const auto peer = static_cast<size_t>(one);
    return peer != rank && left_out[peer] == 0 && own_of(peer).size() == intervals;
  };
  // Of each part of them the first that tells, from its middle on.
  const size_t parts = std::min(peers.size(), kMostPlacePeers);
  for (size_t part = 0; part < parts; ++part) {
    const auto begin = peers.begin() + static_cast<std::ptrdiff_t>(part * peers.size() / parts);
    const auto end = peers.begin() + static_cast<std::ptrdiff_t>((part + 1) * peers.size() / parts);
    const auto middle = begin + (end - begin) / 2;
    auto found = std::find_if(middle, end, tells);
    if (found == end) found = std::find_if(begin, middle, tells);
    if (tells(*found)) sample.push_back(own_of(static_cast<size_t>(*found)));
  }
  return sample;
}

void TakeOffExcess(double less, const std::vector<absl::Span<const float>>& peers, absl::Span<float> own) {
  CHECK(peers.size() <= kMostPlacePeers);
  if (!peers.empty()) {
    std::vector<float> excess(own.size());
    for (size_t i = 0; i < own.size(); ++i) excess[i] = std::max(0.0F, own[i] - MiddleAt(peers, i));
    const double sum = std::accumulate(excess.begin(), excess.end(), 0.0);
    if (sum > 0) {
      const double share = std::min(1.0, less / sum);
      for (size_t i = 0; i < own.size(); ++i) own[i] -= static_cast<float>(share * static_cast<double>(excess[i]));
      less -= share * sum;
    }
  }
  const double left = std::accumulate(own.begin(), own.end(), 0.0);
  if (less <= 0 || left <= 0) return;
  const auto scale = static_cast<float>(std::max(0.0, 1 - less / left));
  for (float& seconds : own) seconds *= scale;
}

}  // namespace lockstep
