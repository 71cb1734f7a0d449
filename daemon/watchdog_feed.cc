#include "daemon/watchdog_feed.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace lockstep {

void WatchdogFeed::Feed(const absl::Status& moving) {
  const bool was_stuck = std::exchange(stuck_, !moving.ok());
  if (moving.ok()) {
    notifier_.Watchdog();
    if (was_stuck) {
      notifier_.Status("");
      Log(LogLevel::kInfo, "everything moves again, the watchdog is fed");
    }
    return;
  }
  notifier_.Status(absl::StrCat("stuck: ", moving.message()));
  if (was_stuck) return;
  Log(LogLevel::kError, "the watchdog is fed no more", {{"stuck", std::string(moving.message())}});
}

}  // namespace lockstep
