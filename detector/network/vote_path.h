// A path of the network with its verdict: what path_vote.h and network_part.h judge by. Pure values.

#ifndef LOCKSTEP_DETECTOR_NETWORK_VOTE_PATH_H_
#define LOCKSTEP_DETECTOR_NETWORK_VOTE_PATH_H_

#include <cstdint>
#include <vector>

namespace lockstep {

struct VotePath {
  std::vector<int32_t> ranks;  // by place in the ring; source and destination of Send/Recv
  bool point_to_point = false;
  bool exchange = false;
  bool slow = false;
};

// `host_of`: by rank.
bool CrossesHosts(const VotePath& path, const std::vector<int32_t>& host_of);

// Rising.
std::vector<int32_t> HostsOf(const std::vector<int32_t>& ranks, const std::vector<int32_t>& host_of);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_NETWORK_VOTE_PATH_H_
