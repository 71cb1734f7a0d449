// The patterns of one rank as they travel from its agent: proto/patterns.proto. Pure.

#ifndef LOCKSTEP_FORMATS_PATTERN_MESSAGE_H_
#define LOCKSTEP_FORMATS_PATTERN_MESSAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "detector/patterns/rank_patterns.h"
#include "proto/patterns.pb.h"

namespace lockstep {

// All of `patterns` but rank and host, which the collector knows better.
void FillProfile(const RankPatterns& patterns, wire::RankProfile& profile);

// INVALID_ARGUMENT for what no agent sends: shares that are none, numbers that are not finite, too many functions,
// names that are too long. Functions of a kind that is not known here, a newer agent's, are left out and counted.
absl::StatusOr<RankPatterns> ReadProfile(const wire::RankProfile& profile);

// The same of an agent's answer as it came, which `profile` holds afterwards.
absl::StatusOr<RankPatterns> ParseProfile(const std::string& answer, wire::RankProfile& profile);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_PATTERN_MESSAGE_H_
