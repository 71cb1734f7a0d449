#include "detector/network/path_suspects.h"

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep {
namespace {

// Budget: of an AllToAll whose host pairs, 120 at most, are looked at one by one.
constexpr size_t kMostExchangeHosts = 16;

void AddLink(int32_t from, int32_t to, bool both_ways, std::vector<Prediction>* predictions) {
  if (from == to) return;
  predictions->push_back({{SuspectKind::kLink, from, to, 0}, true});
  // Some channels of a group go round it the other way.
  if (both_ways) predictions->push_back({{SuspectKind::kLink, to, from, 0}, false});
  predictions->push_back({{SuspectKind::kPair, std::min(from, to), std::max(from, to), 0}, true});
}

}  // namespace

PathSuspects::PathSuspects(const std::vector<int32_t>& host_of) : host_of_(host_of), place_(host_of.size(), 0) {
  for (size_t rank = 0; rank < host_of.size(); ++rank) {
    const auto host = static_cast<size_t>(host_of[rank]);
    if (host >= of_host_.size()) of_host_.resize(host + 1);
    place_[rank] = static_cast<int32_t>(of_host_[host].size());
    of_host_[host].push_back(static_cast<int32_t>(rank));
  }
}

std::vector<int32_t> PathSuspects::RanksOf(const SuspectKey& adapter) const {
  const auto& [kind, host, width, number] = adapter;
  std::vector<int32_t> ranks;
  for (const int32_t rank : of_host_[static_cast<size_t>(host)]) {
    if (PlaceOf(rank) / width == number) ranks.push_back(rank);
  }
  return ranks;
}

// `ranks`: those of the path that are on one host.
void PathSuspects::AddAdapters(SuspectKind kind, const std::vector<int32_t>& ranks,
                               std::vector<Prediction>* predictions) const {
  const int32_t host = HostOf(ranks.front());
  const auto on_host = static_cast<int32_t>(of_host_[static_cast<size_t>(host)].size());
  for (int32_t width = 1;; width = std::min(2 * width, on_host)) {
    const int32_t first = PlaceOf(ranks.front()) / width;
    const bool behind_one =
        std::all_of(ranks.begin(), ranks.end(), [&](int32_t rank) { return PlaceOf(rank) / width == first; });
    for (const int32_t rank : ranks) predictions->push_back({{kind, host, width, PlaceOf(rank) / width}, behind_one});
    if (width >= on_host) return;
  }
}

void PathSuspects::AddLinks(const VotePath& path, std::vector<Prediction>* predictions) const {
  if (path.point_to_point) return AddLink(HostOf(path.ranks[0]), HostOf(path.ranks[1]), false, predictions);
  if (!path.exchange) {
    for (size_t i = 0; i < path.ranks.size(); ++i) {
      AddLink(HostOf(path.ranks[i]), HostOf(path.ranks[(i + 1) % path.ranks.size()]), true, predictions);
    }
    return;
  }
  std::vector<int32_t> hosts;
  for (const int32_t rank : path.ranks) hosts.push_back(HostOf(rank));
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  if (hosts.size() > kMostExchangeHosts) return;
  for (const int32_t a : hosts) {
    for (const int32_t b : hosts) AddLink(a, b, false, predictions);
  }
}

std::vector<Prediction> PathSuspects::Of(const VotePath& path) const {
  std::vector<Prediction> predictions;
  if (path.point_to_point) {
    AddAdapters(SuspectKind::kSend, {path.ranks[0]}, &predictions);
    AddAdapters(SuspectKind::kReceive, {path.ranks[1]}, &predictions);
    for (const int32_t rank : path.ranks) AddAdapters(SuspectKind::kBoth, {rank}, &predictions);
  } else {
    std::map<int32_t, std::vector<int32_t>> of_host;
    for (const int32_t rank : path.ranks) of_host[HostOf(rank)].push_back(rank);
    for (const auto& [host, ranks] : of_host) {
      for (const SuspectKind kind : {SuspectKind::kSend, SuspectKind::kReceive, SuspectKind::kBoth}) {
        AddAdapters(kind, ranks, &predictions);
      }
    }
  }
  AddLinks(path, &predictions);
  const int32_t place = PlaceOf(path.ranks[0]);
  if (std::all_of(path.ranks.begin(), path.ranks.end(), [&](int32_t rank) { return PlaceOf(rank) == place; })) {
    predictions.push_back({{SuspectKind::kRail, place, 0, 0}, true});
  }
  std::sort(predictions.begin(), predictions.end(), [](const Prediction& a, const Prediction& b) {
    return std::pair(a.suspect, !a.certain) < std::pair(b.suspect, !b.certain);
  });
  const auto same = [](const Prediction& a, const Prediction& b) { return a.suspect == b.suspect; };
  predictions.erase(std::unique(predictions.begin(), predictions.end(), same), predictions.end());
  return predictions;
}

}  // namespace lockstep
