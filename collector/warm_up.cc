#include "collector/warm_up.h"

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "collector/convert/convert.h"
#include "collector/convert/fleet_sight.h"
#include "collector/convert/places.h"
#include "collector/store/log_chunk.h"
#include "detector/model/input.h"

namespace lockstep {

absl::Status WarmUp::Feed(const wire::CaptureEntry& entry) {
  if (from_wall_ns_ == 0) from_wall_ns_ = WallNanosOf(entry);
  switch (entry.entry_case()) {
    case wire::CaptureEntry::kInput:
      return FeedInput(entry.input());
    case wire::CaptureEntry::kWatermark:
      pipeline_.Evaluate(entry.watermark().wall_ns(), ToFleetSight(entry.watermark()));
      break;
    case wire::CaptureEntry::kReset:
      FeedReset(entry.reset());
      break;
    case wire::CaptureEntry::kConclusion:
      break;
    case wire::CaptureEntry::ENTRY_NOT_SET:
      return absl::InvalidArgumentError("log entry is empty or of a newer kind");
  }
  return absl::OkStatus();
}

absl::Status WarmUp::FeedInput(const wire::CaptureInput& input) {
  ASSIGN_OR_RETURN(const HostReport report, ToHostReport(input, losses_));
  pipeline_.ObservePlaces(report.host, ToPlaces(input.places(), losses_));
  pipeline_.Observe(report);
  const SeenSpan now{report.received_ns, report.received_ns};
  hosts_.try_emplace(report.host, now).first->second.Include(now);
  ++inputs_;
  return absl::OkStatus();
}

void WarmUp::FeedReset(const wire::CaptureReset& reset) {
  if (reset.warmed_from_wall_ns() != 0) return pipeline_.Resume(reset.wall_ns());
  pipeline_.Reset(options_);
  hosts_.clear();
  inputs_ = 0;
  from_wall_ns_ = reset.wall_ns();
}

}  // namespace lockstep
