// Runs the detector over a capture again, and checks it against what the live collector concluded at the time.
//
// Entries are untrusted input: a capture file may come from anywhere. Deterministic: equal entries give equal lines.
// Not thread-safe.

#ifndef LOCKSTEP_COLLECTOR_REPLAY_REPLAY_H_
#define LOCKSTEP_COLLECTOR_REPLAY_REPLAY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "collector/convert/convert_losses.h"
#include "collector/job_pipeline.h"
#include "detector/engine/job_engine.h"
#include "proto/capture.pb.h"

namespace lockstep {

// What a replay has done so far. A capture that does not begin with a reset was cut: until its first reset the live
// engine knew more than the replay can, and nothing is compared. Likewise behind a reset of which the warm-up began
// before the capture.
struct ReplaySummary {
  uint64_t inputs = 0;
  uint64_t watermarks = 0;
  uint64_t resets = 0;
  uint64_t conclusions = 0;              // that the replay drew, counting only changes
  uint64_t conclusions_equal = 0;        // to those logged, byte for byte
  uint64_t conclusions_different = 0;    // or logged but not drawn, or drawn but not logged
  uint64_t conclusions_unanchored = 0;   // logged where the replay knows less: not compared
  int64_t first_difference_wall_ns = 0;  // 0 = none
  ConvertLosses losses;
};

class Replayer {
 public:
  // `options` count until a reset of the capture says which were in force. `emit` is called with "<wall_ns> <verdict
  // JSON>" for every verdict that holds whenever the conclusion changes, and with "<wall_ns>
  // {"verdicts":[],"can_conclude":...}" when none does.
  Replayer(const JobEngineOptions& options, std::function<void(absl::string_view)> emit);

  using Visit = std::function<absl::Status(const wire::CaptureEntry&)>;
  // Gives all entries of the capture again, from its first one on, until `visit` returns an error, and returns that.
  using Rewind = std::function<absl::Status(const Visit& visit)>;

  // Lets the replay go on behind a reset that was followed by a warm-up: what the new engine was given, it is given.
  // Without it nothing is compared there. Costs one more reading of the capture for each such reset.
  void SetRewind(Rewind rewind) { rewind_ = std::move(rewind); }

  // Takes the next entry. INVALID_ARGUMENT for one that does not convert, belongs to a second job, goes back in time
  // or names impossible options.
  absl::Status Feed(const wire::CaptureEntry& entry);

  // To be read after the last entry. A conclusion that would have been logged after the last entry (the collector was
  // killed between the two) counts as neither equal nor different.
  const ReplaySummary& summary() const { return summary_; }

 private:
  // A change of conclusion that the log must contain next.
  struct Drawn {
    int64_t wall_ns;
    bool can_conclude;
    std::vector<std::string> lines;
  };

  absl::Status CheckOrder(const std::string& job, int64_t wall_ns);
  absl::Status FeedInput(const wire::CaptureInput& input);
  absl::Status FeedWatermark(const wire::CaptureWatermark& watermark);
  absl::Status FeedReset(const wire::CaptureReset& reset);
  // False if the capture does not hold all that the engine was given.
  absl::StatusOr<bool> WarmAgain(const JobEngineOptions& options, const wire::CaptureReset& reset);
  absl::Status FeedConclusion(const wire::CaptureConclusion& logged);
  void CountDifference(int64_t wall_ns);
  void ExpectNothingPending();
  void Emit(const Drawn& drawn) const;

  const JobEngineOptions fallback_;
  JobPipeline pipeline_;
  const std::function<void(absl::string_view)> emit_;
  ReplaySummary summary_;
  Rewind rewind_;
  std::optional<std::string> job_;
  uint64_t entries_ = 0;       // given, the present one included
  int64_t first_wall_ns_ = 0;  // of the first entry
  bool anchored_ = false;      // the engine knows what the live one knew
  int64_t last_wall_ns_ = 0;
  std::optional<Drawn> drawn_;  // not yet found in the log
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_REPLAY_REPLAY_H_
