// Windows of maintenance: times in which nobody is called about some hosts and jobs, because they are worked on.
//
// Incidents are recorded as ever. A window is of use from its begin to its end, by the time that it is asked with (the
// collector's time line). Windows are on disk before they count, so that they survive restarts; those that are over are
// kept for a while, for who asks what there was. Add and End wait for the disk; the others do not. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_MAINTENANCE_BOOK_H_
#define LOCKSTEP_COLLECTOR_MAINTENANCE_BOOK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "collector/store/history_store.h"
#include "proto/incident.pb.h"

namespace lockstep {

class MaintenanceBook {
 public:
  // Beyond these, past windows leave first.
  static constexpr size_t kMaxWindows = 1'000;
  static constexpr size_t kMaxBytes = 8 << 20;  // of all windows; the longest one has 0.3 MB
  static constexpr int kMaxNames = 1'000;       // hosts and jobs of one window together
  static constexpr size_t kMaxNameBytes = 256;
  static constexpr int64_t kLongestNanos = 90LL * 24 * 3'600 * 1'000'000'000;   // of one window
  static constexpr int64_t kKeepPastNanos = 30LL * 24 * 3'600 * 1'000'000'000;  // then the next Add removes it

  // Borrows `history`. `on_removed` hears how many past windows had to make room for a new one.
  using OnRemoved = std::function<void(uint64_t windows)>;
  explicit MaintenanceBook(HistoryStore& history, OnRemoved on_removed = nullptr)
      : history_(history), on_removed_(std::move(on_removed)) {}

  // What an earlier life has kept. Before anything else is called.
  absl::Status Restore();

  // Adds what is wanted, of which id and time of creation are filled in; a begin of 0 is now. The same again, of the
  // same `by`, is the one that there is. INVALID_ARGUMENT, RESOURCE_EXHAUSTED when too many, or too long ones, are not
  // over, else the error of the disk: then there is no such window.
  absl::StatusOr<wire::MaintenanceWindow> Add(wire::MaintenanceWindow wanted, int64_t now_wall_ns);

  // Ends a window now; one that is over stays as it is. NOT_FOUND, else the error of the disk.
  absl::StatusOr<wire::MaintenanceWindow> End(uint64_t id, const std::string& by, int64_t now_wall_ns);

  // The window in which the job of `incident` is, or all hosts that it accuses, at least as one end of a link. 0 =
  // none.
  uint64_t WindowOf(const wire::Incident& incident, int64_t now_wall_ns) const;

  // By begin. `with_past`: also those that are over.
  std::vector<wire::MaintenanceWindow> List(bool with_past, int64_t now_wall_ns) const;

 private:
  struct Window {
    wire::MaintenanceWindow message;
    std::set<std::string> hosts;
    std::set<std::string> jobs;
  };

  static bool Covers(const Window& window, const wire::Incident& incident);
  static Window ToWindow(const wire::MaintenanceWindow& message);
  // Those of past windows that leave when one of `bytes` is added, and whether it fits then.
  struct Room {
    std::vector<uint64_t> leaving;  // ids
    uint64_t for_room = 0;          // of these; the others are too old
    bool fits = false;
  };
  Room MakeRoom(size_t bytes, int64_t now_wall_ns) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  HistoryStore& history_;
  const OnRemoved on_removed_;
  Mutex writing_;  // held while the disk is waited for; taken before mutex_
  mutable Mutex mutex_;
  std::map<uint64_t, Window> windows_ ABSL_GUARDED_BY(mutex_);  // at most kMaxWindows; the newest id never leaves
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_MAINTENANCE_BOOK_H_
