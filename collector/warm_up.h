// Gives an engine that begins anew what the log of its job holds, so that it goes on where the one before it was.
//
// Inputs and watermarks are given as they were logged; the same for the live collector and for a replay of its log. A
// reset that was itself followed by a warm-up is no break; any other one begins anew here too. Pure; entries are
// untrusted input. Not thread-safe.

#ifndef LOCKSTEP_COLLECTOR_WARM_UP_H_
#define LOCKSTEP_COLLECTOR_WARM_UP_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "collector/convert/convert_losses.h"
#include "collector/job_pipeline.h"
#include "collector/seen_span.h"
#include "detector/engine/job_engine.h"
#include "proto/capture.pb.h"

namespace lockstep {

class WarmUp {
 public:
  // Borrows `pipeline`, which must be new and judge by `options`, those in force now.
  WarmUp(const JobEngineOptions& options, JobPipeline* pipeline) : options_(options), pipeline_(*pipeline) {}

  // Takes the next entry. INVALID_ARGUMENT for one that does not convert.
  absl::Status Feed(const wire::CaptureEntry& entry);

  uint64_t inputs() const { return inputs_; }
  int64_t from_wall_ns() const { return from_wall_ns_; }                   // of the first entry that counts; 0 = none
  const std::map<std::string, SeenSpan>& hosts() const { return hosts_; }  // when each was heard

 private:
  absl::Status FeedInput(const wire::CaptureInput& input);
  void FeedReset(const wire::CaptureReset& reset);

  const JobEngineOptions options_;
  JobPipeline& pipeline_;
  ConvertLosses losses_;
  uint64_t inputs_ = 0;
  int64_t from_wall_ns_ = 0;
  std::map<std::string, SeenSpan> hosts_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_WARM_UP_H_
