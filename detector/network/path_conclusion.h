// From suspects that explain the same slow paths to the one cause that they have in common: an adapter or a side of it,
// a link, the hosts among which it lies, or the group itself.
//
// A link against one side of all adapters of one of its hosts is the latter where several GPUs send: each has a way of
// its own, and what they share is the host. Pure; thread-safe. Cost O(suspects + members of the explained paths).

#ifndef LOCKSTEP_DETECTOR_NETWORK_PATH_CONCLUSION_H_
#define LOCKSTEP_DETECTOR_NETWORK_PATH_CONCLUSION_H_

#include <cstdint>
#include <set>
#include <vector>

#include "detector/network/path_cause.h"
#include "detector/network/path_suspects.h"
#include "detector/network/vote_path.h"

namespace lockstep {

// What it returns has no paths: those are for who takes it. What it is given must outlive it.
class PathConclusion {
 public:
  // `host_of`: by rank.
  PathConclusion(const std::vector<VotePath>& paths, const std::vector<int32_t>& host_of, const PathSuspects& suspects)
      : paths_(paths), host_of_(host_of), suspects_(suspects) {}

  // Of suspects, at least one, that explain these paths, equally well.
  PathCause Of(const std::vector<SuspectKey>& equals, const std::vector<int32_t>& explained) const;

  // Where the evidence ends at one path: the link, or the group.
  PathCause OfPath(int32_t path) const;

  // All that take part in these paths.
  PathCause OfRail(const std::vector<int32_t>& explained) const;

 private:
  int32_t HostOf(int32_t rank) const { return host_of_[static_cast<size_t>(rank)]; }
  std::set<int32_t> SendersOf(const std::vector<int32_t>& explained) const;
  PathCause OfAdapters(const std::vector<SuspectKey>& adapters) const;
  PathCause OfLink(const std::set<int32_t>& ends, const std::vector<SuspectKey>& links,
                   const std::vector<int32_t>& explained) const;
  PathCause AmongHosts(const std::set<int32_t>& hosts, const std::vector<int32_t>& explained) const;

  const std::vector<VotePath>& paths_;
  const std::vector<int32_t>& host_of_;
  const PathSuspects& suspects_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_NETWORK_PATH_CONCLUSION_H_
