// What counters compared with those of peers show, and the sentences. Pure values.

#ifndef LOCKSTEP_DETECTOR_VERDICT_COUNTER_REASONS_H_
#define LOCKSTEP_DETECTOR_VERDICT_COUNTER_REASONS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "detector/model/place_table.h"
#include "detector/model/sample_losses.h"

namespace lockstep {

struct NoCounters {
  std::string host;
  double seconds = 0;  // at least
  bool operator==(const NoCounters&) const = default;
};

struct CounterExcursion {
  std::string metric;
  std::string device;  // empty = the host
  std::string host;
  double level = 0;
  bool is_rate = false;  // per second
  int32_t peers = 0;
  double median = 0;  // of the peers
  bool up = false;
  double sigmas = 0;
  double onset_seconds = 0;
  bool operator==(const CounterExcursion&) const = default;
};

struct NotLookedAt {
  std::vector<std::string> what;
  bool operator==(const NotLookedAt&) const = default;
};

struct SamplesLeftOut {
  SampleLosses losses;
  std::string misclocked_host;  // the first of them
  bool operator==(const SamplesLeftOut&) const = default;
};

struct JobDidLess {
  double loss = 0;  // as a share of its usual work
  bool operator==(const JobDidLess&) const = default;
};

// Why nobody is accused.
struct NoDegradationSeen {
  bool activity_known = false;
  bool operator==(const NoDegradationSeen&) const = default;
};

struct PlaceStandsOut {
  std::vector<std::pair<PlaceKind, std::string>> places;  // several = they hold the same machines
  uint64_t deviating = 0;
  int32_t machines = 0;
  int32_t deviating_elsewhere = 0;
  int32_t machines_elsewhere = 0;
  double chance = 0;
  bool operator==(const PlaceStandsOut&) const = default;
};

struct OnlyMemberStandsOut {
  uint64_t hosts = 0;  // of the group; 0 = it is the job
  std::string host;
  bool operator==(const OnlyMemberStandsOut&) const = default;
};

// `hosts`: names by index.
SamplesLeftOut LeftOut(const SampleLosses& losses, absl::Span<const std::string> hosts);

std::string Sentence(const NoCounters& reason);
std::string Sentence(const CounterExcursion& reason);
std::string Sentence(const NotLookedAt& reason);
std::string Sentence(const SamplesLeftOut& reason);
std::string Sentence(const JobDidLess& reason);
std::string Sentence(const NoDegradationSeen& reason);
std::string Sentence(const PlaceStandsOut& reason);
std::string Sentence(const OnlyMemberStandsOut& reason);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_COUNTER_REASONS_H_
