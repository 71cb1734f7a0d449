// Understands what NCCL's RAS service answers to STATUS in its JSON format (NCCL 2.28.7 and newer).
//
// Releases 2.28.7 to 2.28.9 leave out a comma in the entry of a missing rank, so that their answer is no JSON exactly
// when it matters: missing commas are put where JSON can have nothing else. Fields that we do not know are skipped.
//
// The answer is read as a stream and never held as a tree: beside the text, memory grows by 16 bytes per member and
// kind of operation of one communicator. Pure.

#ifndef LOCKSTEP_AGENT_SOURCES_RAS_RAS_ANSWER_H_
#define LOCKSTEP_AGENT_SOURCES_RAS_RAS_ANSWER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// Of one report; what is beyond is counted in its left_out fields.
inline constexpr int kMaxRasFindings = 64;
inline constexpr int kMaxRasRanksNamed = 16;  // per communicator and kind of finding

// Plain value; thread-compatible.
struct RasAnswer {
  wire::NcclRasReport report;  // without asked_monotonic_ns
  uint64_t missing_ranks = 0;  // in all communicators, also those that are left out of the report
  uint64_t dead_ranks = 0;     // those of them that NCCL holds to be dead
  uint64_t unequal_communicators = 0;
  // Where rank 0 of the largest communicator runs: a place in the job that all who ask agree on. "" = not told.
  std::string leader_host;
};

// `text` with a comma put before each string, object or array that follows a value without one. Leaves JSON as it is.
std::string WithMissingCommas(absl::string_view text);

// INVALID_ARGUMENT for what is no answer, or nested deeper than any.
absl::StatusOr<RasAnswer> ParseRasAnswer(absl::string_view text);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RAS_RAS_ANSWER_H_
