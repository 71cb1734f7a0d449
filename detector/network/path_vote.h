// What the slow paths share: one adapter or one direction of it, one host, one link, one part of the network, or a
// group whose members nobody can tell apart.
//
// Every suspect (path_suspects.h) predicts which paths would be slow if it were. Groups and Send/Recv vote together.
// The suspect that explains most slow paths and holds (four fifths of its certain predictions are slow) is taken; who
// explains nine tenths of that with fewer failed predictions goes before it. What it explains is removed and the vote
// repeated, so that two causes are two results. Suspects with the same slow paths and equally good predictions cannot
// be told apart: then all are returned as one result (path_conclusion.h); of links the hosts that they connect. Where
// no fine path connects some hosts with most others, and no simpler cause explains as much, the cause is a part of the
// network (network_part.h). Where nearly everything that leaves a host is slow, and no host takes part in nearly all of
// that, it is the network as a whole, with all hosts. Three causes or more of one kind are one part, too, but for those
// that explain less than half as much as the main one: they are its echoes; of slow groups nobody knows which member it
// is. Three links or more are the side of which nothing else is quick, if each has one. The rows, columns and points of
// C4's delay matrix are the special case of a job that sends from each to each.
//
// What never leaves a host votes first (inside_vote.h), and what these explain is no evidence of a network.
//
// Pure. Cost O(rounds x suspects + total members of the paths); at most kMaxPathCauses rounds.

#ifndef LOCKSTEP_DETECTOR_NETWORK_PATH_VOTE_H_
#define LOCKSTEP_DETECTOR_NETWORK_PATH_VOTE_H_

#include <cstdint>
#include <vector>

#include "detector/network/path_cause.h"
#include "detector/network/vote_path.h"

namespace lockstep {

// Bound of the work.
inline constexpr int kMaxPathCauses = 32;

// `host_of`: by rank.
std::vector<PathCause> VoteOnPaths(const std::vector<VotePath>& paths, const std::vector<int32_t>& host_of);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_NETWORK_PATH_VOTE_H_
