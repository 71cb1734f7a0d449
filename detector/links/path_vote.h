// What the slow paths share: one NIC, one direction of it, one host, one link, one side of the network, or a group
// whose members nobody can tell apart.
//
// Every suspect predicts which paths would be slow if it were: a NIC's sending side those that leave its GPU and the
// groups that it is in, a link those between its two hosts, and so on. The suspect is taken whose prediction covers
// most slow paths and holds (nearly all that it predicts are slow); what it explains is removed and the vote repeated,
// so that two causes are two results. Suspects with the same slow paths and equally good predictions cannot be told
// apart: then all are returned as one result; of links the hosts that they connect. Where slow paths divide the hosts
// into parts that are fine inside, the cause lies between the parts (a leaf switch). The rows, columns and points of
// C4's delay matrix are the special case of a job that sends from each to each.
//
// Pure. Cost O(rounds x total members of the paths); at most kMaxPathCauses rounds.

#ifndef LOCKSTEP_DETECTOR_LINKS_PATH_VOTE_H_
#define LOCKSTEP_DETECTOR_LINKS_PATH_VOTE_H_

#include <cstdint>
#include <vector>

namespace lockstep {

inline constexpr int kMaxPathCauses = 32;

enum class PathCauseKind : uint8_t {
  kSend,     // the sending side of the NIC of ranks[0]
  kReceive,  // its receiving side
  kNic,      // the NIC, the side unknown
  kHost,     // all paths of host hosts[0]
  kLink,     // between hosts[0] and hosts[1]
  kFabric,   // between hosts[...] and the others
  kGroup,    // somewhere between ranks[...]
  kHosts,    // somewhere between hosts[...]: each of them, and each link between them, would explain it
  kInside,   // between the GPUs of host hosts[0]
};

struct VotePath {
  std::vector<int32_t> ranks;  // by place in the ring; source and destination of Send/Recv
  bool point_to_point = false;
  bool exchange = false;
  bool slow = false;
};

struct PathCause {
  PathCauseKind kind = PathCauseKind::kGroup;
  std::vector<int32_t> ranks;  // rising
  std::vector<int32_t> hosts;  // rising, but for kLink: in the direction of the transfer
  std::vector<int32_t> paths;  // that it explains: indices into `paths`
  int32_t predicted = 0;       // paths that would be slow by it
};

// `host_of`: by rank.
std::vector<PathCause> VoteOnPaths(const std::vector<VotePath>& paths, const std::vector<int32_t>& host_of);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_LINKS_PATH_VOTE_H_
