// What the functions of ranks do differently, as profiles show it, and the sentences. Pure values.

#ifndef LOCKSTEP_DETECTOR_VERDICT_PATTERN_REASONS_H_
#define LOCKSTEP_DETECTOR_VERDICT_PATTERN_REASONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

// A kind of work takes more of the window than usual.
struct WorkTakesLonger {
  std::string work;            // "data loading", "a slow kernel"
  std::vector<int32_t> ranks;  // empty = all of those compared
  uint64_t compared = 0;       // ranks of equal duty
  double share = 0;            // of the window in which the ranks wait for it, median
  double usual_share = 0;      // of their peers; of all ranks: the most that is expected
  double distance = 0;         // from the peers, in units of their scatter; 0 for all ranks
  double threshold = 0;        // of the distance
  bool operator==(const WorkTakesLonger&) const = default;
};

// One function of that work. Peers: 0 = there are none, or none of them calls it.
struct FunctionTakesLonger {
  std::string function;
  std::string kind;  // "Python", "GPU kernel"
  double share = 0;
  double usual_share = 0;
  double mean_seconds = 0;  // of a call
  double usual_mean_seconds = 0;
  double calls_per_second = 0;
  double usual_calls_per_second = 0;
  bool has_peers = false;
  bool operator==(const FunctionTakesLonger&) const = default;
};

// Profiles were compared and nothing was found.
struct ProfilesAlike {
  uint64_t ranks = 0;
  uint64_t duties = 0;        // kinds of ranks, which are not compared with each other
  uint64_t largest_duty = 0;  // ranks
  double idle = 0;            // share of the window in which nothing ran, median
  bool operator==(const ProfilesAlike&) const = default;
};

// What the comparison of profiles could not take in.
struct ProfilesLeftOut {
  uint64_t rows = 0;       // functions of ranks for which there was no room
  uint64_t functions = 0;  // for which there is room in a job
  uint64_t repeated = 0;   // further profiles of a rank
  bool operator==(const ProfilesLeftOut&) const = default;
};

std::string Sentence(const WorkTakesLonger& reason);
std::string Sentence(const FunctionTakesLonger& reason);
std::string Sentence(const ProfilesAlike& reason);
std::string Sentence(const ProfilesLeftOut& reason);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_PATTERN_REASONS_H_
