// What could make a path slow: adapters in either direction, links, rails; and which paths each of them must slow down.
//
// An adapter serves one GPU of a host, two, four, ... or all of them, in the order of their ranks. Its sending side
// slows down the Send/Recv that leave its GPUs; so does its receiving side with those that enter; and either slows down
// every group with an edge there, for a ring, a tree or an exchange is as quick as its slowest edge. A group with other
// members on the same host, behind other adapters, may be slow by it, or go round it: it counts for the suspect when it
// is slow, and never against it. A link joins two hosts that are neighbours in a ring, or exchange; its direction
// counts where it is known. A rail is all adapters in one place of their hosts. Pure; immutable once built.

#ifndef LOCKSTEP_DETECTOR_NETWORK_PATH_SUSPECTS_H_
#define LOCKSTEP_DETECTOR_NETWORK_PATH_SUSPECTS_H_

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "detector/network/vote_path.h"

namespace lockstep {

// kSend, kReceive, kBoth: host, GPUs per adapter, number of the adapter. kLink: from host, to host. kPair: lower host,
// higher host. kRail: place of the GPU on its host. kPart: none.
enum class SuspectKind : uint8_t { kSend, kReceive, kBoth, kLink, kPair, kRail, kPart };
using SuspectKey = std::tuple<SuspectKind, int32_t, int32_t, int32_t>;

inline SuspectKind KindOf(const SuspectKey& key) { return std::get<0>(key); }
inline bool IsAdapter(SuspectKind kind) { return kind <= SuspectKind::kBoth; }

struct Prediction {
  SuspectKey suspect;
  bool certain = false;  // the path is slow if the suspect is; else it may be
};

class PathSuspects {
 public:
  // `host_of`: by rank. It must outlive this.
  explicit PathSuspects(const std::vector<int32_t>& host_of);

  // Of a path that crosses hosts, rising, each suspect once.
  std::vector<Prediction> Of(const VotePath& path) const;

  // Of an adapter, rising.
  std::vector<int32_t> RanksOf(const SuspectKey& adapter) const;

 private:
  int32_t HostOf(int32_t rank) const { return host_of_[static_cast<size_t>(rank)]; }
  int32_t PlaceOf(int32_t rank) const { return place_[static_cast<size_t>(rank)]; }
  void AddAdapters(SuspectKind kind, const std::vector<int32_t>& ranks, std::vector<Prediction>* predictions) const;
  void AddLinks(const VotePath& path, std::vector<Prediction>* predictions) const;

  const std::vector<int32_t>& host_of_;
  std::vector<int32_t> place_;                 // by rank: its place among the ranks of its host
  std::vector<std::vector<int32_t>> of_host_;  // ranks
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_NETWORK_PATH_SUSPECTS_H_
