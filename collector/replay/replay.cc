#include "collector/replay/replay.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "collector/convert/convert.h"
#include "collector/convert/detector_options.h"
#include "collector/convert/fleet_sight.h"
#include "collector/convert/places.h"
#include "collector/store/log_chunk.h"
#include "collector/warm_up.h"
#include "detector/model/input.h"

namespace lockstep {

Replayer::Replayer(const JobEngineOptions& options, std::function<void(absl::string_view)> emit)
    : fallback_(options), pipeline_(options), emit_(std::move(emit)) {}

absl::Status Replayer::Feed(const wire::CaptureEntry& entry) {
  if (++entries_ == 1) first_wall_ns_ = WallNanosOf(entry);
  switch (entry.entry_case()) {
    case wire::CaptureEntry::kInput:
      return FeedInput(entry.input());
    case wire::CaptureEntry::kWatermark:
      return FeedWatermark(entry.watermark());
    case wire::CaptureEntry::kReset:
      return FeedReset(entry.reset());
    case wire::CaptureEntry::kConclusion:
      return FeedConclusion(entry.conclusion());
    case wire::CaptureEntry::ENTRY_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("capture entry is empty or of a newer kind");
}

absl::Status Replayer::CheckOrder(const std::string& job, int64_t wall_ns) {
  if (!job_.has_value()) job_ = job;
  if (job != *job_) {
    return absl::InvalidArgumentError(absl::StrCat("capture mixes the jobs \"", *job_, "\" and \"", job, "\""));
  }
  if (wall_ns < last_wall_ns_) {
    return absl::InvalidArgumentError(absl::StrCat("capture goes back in time, from ", last_wall_ns_, " to ", wall_ns));
  }
  last_wall_ns_ = wall_ns;
  return absl::OkStatus();
}

absl::Status Replayer::FeedInput(const wire::CaptureInput& input) {
  RETURN_IF_ERROR(CheckOrder(input.job(), input.received_wall_ns()));
  ExpectNothingPending();
  ASSIGN_OR_RETURN(const HostReport report, ToHostReport(input, summary_.losses));
  pipeline_.ObservePlaces(report.host, ToPlaces(input.places(), summary_.losses));
  pipeline_.Observe(report);
  ++summary_.inputs;
  return absl::OkStatus();
}

absl::Status Replayer::FeedWatermark(const wire::CaptureWatermark& watermark) {
  RETURN_IF_ERROR(CheckOrder(watermark.job(), watermark.wall_ns()));
  ExpectNothingPending();
  ++summary_.watermarks;
  JobPipeline::Outcome outcome = pipeline_.Evaluate(watermark.wall_ns(), ToFleetSight(watermark));
  if (!outcome.changed) return absl::OkStatus();
  ++summary_.conclusions;
  drawn_ = Drawn{watermark.wall_ns(), outcome.conclusion.can_conclude, std::move(outcome.lines)};
  Emit(*drawn_);
  return absl::OkStatus();
}

absl::Status Replayer::FeedReset(const wire::CaptureReset& reset) {
  // A new life of the collector may begin with a wall clock that was set back.
  last_wall_ns_ = std::min(last_wall_ns_, reset.wall_ns());
  RETURN_IF_ERROR(CheckOrder(reset.job(), reset.wall_ns()));
  ASSIGN_OR_RETURN(const JobEngineOptions options,
                   reset.has_options() ? FromWire(reset.options()) : absl::StatusOr<JobEngineOptions>(fallback_));
  drawn_.reset();
  pipeline_.Reset(options);
  ++summary_.resets;
  anchored_ = true;
  if (reset.warmed_from_wall_ns() == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(anchored_, WarmAgain(options, reset));
  return absl::OkStatus();
}

absl::StatusOr<bool> Replayer::WarmAgain(const JobEngineOptions& options, const wire::CaptureReset& reset) {
  WarmUp warm_up(options, &pipeline_);
  if (rewind_ != nullptr) {
    const uint64_t before = entries_ - 1;
    uint64_t given = 0;
    const absl::Status rewound = rewind_([&](const wire::CaptureEntry& entry) {
      if (given++ == before) return absl::CancelledError("the reset itself");
      return WallNanosOf(entry) < reset.warmed_from_wall_ns() ? absl::OkStatus() : warm_up.Feed(entry);
    });
    if (!rewound.ok() && !absl::IsCancelled(rewound)) return rewound;
  }
  pipeline_.Resume(reset.wall_ns());
  return rewind_ != nullptr && first_wall_ns_ <= reset.warmed_from_wall_ns();
}

absl::Status Replayer::FeedConclusion(const wire::CaptureConclusion& logged) {
  RETURN_IF_ERROR(CheckOrder(logged.job(), logged.wall_ns()));
  const std::optional<Drawn> drawn = std::exchange(drawn_, std::nullopt);
  if (!anchored_) {
    ++summary_.conclusions_unanchored;
    return absl::OkStatus();
  }
  const bool equal =
      drawn.has_value() && drawn->wall_ns == logged.wall_ns() && drawn->can_conclude == logged.can_conclude() &&
      std::equal(drawn->lines.begin(), drawn->lines.end(), logged.verdicts().begin(), logged.verdicts().end());
  if (equal) {
    ++summary_.conclusions_equal;
  } else {
    CountDifference(logged.wall_ns());
  }
  return absl::OkStatus();
}

void Replayer::ExpectNothingPending() {
  if (drawn_.has_value() && anchored_) CountDifference(drawn_->wall_ns);
  drawn_.reset();
}

void Replayer::CountDifference(int64_t wall_ns) {
  ++summary_.conclusions_different;
  if (summary_.first_difference_wall_ns == 0) summary_.first_difference_wall_ns = wall_ns;
}

void Replayer::Emit(const Drawn& drawn) const {
  for (const std::string& line : drawn.lines) emit_(absl::StrCat(drawn.wall_ns, " ", line));
  if (drawn.lines.empty()) {
    emit_(
        absl::StrCat(drawn.wall_ns, " {\"verdicts\":[],\"can_conclude\":", drawn.can_conclude ? "true" : "false", "}"));
  }
}

}  // namespace lockstep
