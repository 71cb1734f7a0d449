// Why the layout of the work, or the job as a whole, is held to be slow; and their sentences. Pure values.

#ifndef LOCKSTEP_DETECTOR_VERDICT_JOB_REASONS_H_
#define LOCKSTEP_DETECTOR_VERDICT_JOB_REASONS_H_

#include <cstdint>
#include <string>

#include "detector/model/operation_kind.h"
#include "detector/verdict/wording.h"

namespace lockstep {

// One stage works longer than the middle one, in all of its replicas.
struct LongStage {
  int32_t stage = 0;
  double times = 0;
  uint64_t replicas = 0;
  bool operator==(const LongStage&) const = default;
};

struct RotatingStalls {
  uint64_t steps = 0;
  double rotation = 0;  // entropy; 1 = each rank as often
  bool operator==(const RotatingStalls&) const = default;
};

struct VaryingBatches {
  uint64_t replicas = 0;
  double variation = 0;  // of own time, as a share of it
  double rotation = 0;
  bool fellows_agree = false;  // ranks that share the data vary alike
  bool operator==(const VaryingBatches&) const = default;
};

// All hosts of one data replica became slow at one step.
struct LongReplica {
  uint64_t hosts = 0;
  int64_t first_step = 0;
  bool operator==(const LongReplica&) const = default;
};

// Ranks work longer than their peers, and are given more to do.
struct GivenMore {
  RankName rank;            // the one with most
  uint64_t host_ranks = 0;  // of a host that is slow as a whole; 0 = the rank alone
  double times = 0;         // own work over that of the peers
  OperationKind kind = OperationKind::kUnknown;
  double bytes = 0;  // of a call of that kind
  double peer_bytes = 0;
  uint64_t peers = 0;
  bool operator==(const GivenMore&) const = default;
};

struct HotExpert {
  double excess = 0;     // of the busiest over the mean of its group, layer by layer
  double elsewhere = 0;  // the same of work that no routing decides
  uint64_t groups = 0;
  bool operator==(const HotExpert&) const = default;
};

struct LongerEverywhere {
  uint64_t first_step = 0;
  double growth = 0;  // as a share of own time before
  double rank_share = 0;
  bool operator==(const LongerEverywhere&) const = default;
};

struct SlowDrift {
  double range = 0;  // of own time, as a share of it
  bool operator==(const SlowDrift&) const = default;
};

struct CommonPause {
  double seconds = 0;
  uint64_t step = 0;  // that the first one precedes
  uint64_t more = 0;
  bool planned = false;  // they are alike or come back at equal intervals
  bool operator==(const CommonPause&) const = default;
};

std::string Sentence(const LongStage& reason);
std::string Sentence(const RotatingStalls& reason);
std::string Sentence(const VaryingBatches& reason);
std::string Sentence(const LongReplica& reason);
std::string Sentence(const GivenMore& reason);
std::string Sentence(const HotExpert& reason);
std::string Sentence(const LongerEverywhere& reason);
std::string Sentence(const SlowDrift& reason);
std::string Sentence(const CommonPause& reason);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_JOB_REASONS_H_
