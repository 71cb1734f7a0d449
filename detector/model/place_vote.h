// Whether machines that deviate together share a place: then the place is at fault, and none of them.
//
// Of N machines that were compared K deviate. If chance had picked them, a place with n of the N would hold k of the K
// or more with the hypergeometric probability P(X >= k | N, n, K). A place explains the machines in it when that
// probability, times the number of places that were asked about (Bonferroni), is at most kMostChance, and when more
// than half of its machines deviate: a cause that spares most of a rack is not the rack. The least probable place is
// taken, its machines removed from N and K, and the vote repeated, so that two broken racks are two results. Places
// with the very same machines cannot be told apart and are one result.
//
// A place that holds all machines explains nothing (the probability is 1): what is common to all is another question.
//
// Pure. Cost O(rounds x machines x kinds), at most kMaxPlaceVotes rounds.

#ifndef LOCKSTEP_DETECTOR_MODEL_PLACE_VOTE_H_
#define LOCKSTEP_DETECTOR_MODEL_PLACE_VOTE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "detector/model/place_table.h"

namespace lockstep {

// One false place in a thousand diagnoses, all places counted.
inline constexpr double kMostChance = 1e-3;
// Bound of the work.
inline constexpr int kMaxPlaceVotes = 16;

// The place that explains some of the deviating machines.
struct PlaceVote {
  std::vector<std::pair<PlaceKind, std::string>> places;  // several = they hold the same machines
  std::vector<int32_t> deviating;                         // indices of machines in it, rising
  int32_t members = 0;                                    // machines in it that were compared
  int32_t deviating_elsewhere = 0;
  int32_t machines_elsewhere = 0;
  double chance = 1;  // that so many gather somewhere by chance, with all places asked about
};

// `hosts`: names of the machines that were compared. `deviating`: indices into it, rising, each once.
std::vector<PlaceVote> VoteOnPlaces(const PlaceTable& table, absl::Span<const std::string> hosts,
                                    absl::Span<const int32_t> deviating);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_PLACE_VOTE_H_
