// The thread that has history go before its time where it has to, and says so: in the log, in metrics and on /readyz.
//
// A full disk is a warning, once at its begin and then every ten minutes; what goes by the limit of its kind is told as
// often, as a matter of course. A disk that hangs holds up this thread alone. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_HISTORY_KEEPER_H_
#define LOCKSTEP_COLLECTOR_HISTORY_KEEPER_H_

#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "base/stop_signal.h"
#include "collector/metrics.h"
#include "collector/store/rocks_store.h"

namespace lockstep {

struct HistoryKeeperOptions {
  int64_t interval_ns = 1'000'000'000;
  int64_t tell_every_ns = 600'000'000'000;    // of one kind and cause
  int64_t short_for_ns = 5'000'000'000;       // a disk counts as short for so long after it was
  int64_t first_pass_after_ns = 100'000'000;  // a disk that is full at the start need not wait
};

class HistoryKeeper {
 public:
  // Starts the thread. Borrows `store`.
  HistoryKeeper(const HistoryKeeperOptions& options, RocksStore& store);
  // Waits for the pass that is under way.
  ~HistoryKeeper();
  HistoryKeeper(const HistoryKeeper&) = delete;
  HistoryKeeper& operator=(const HistoryKeeper&) = delete;

  // OK, or that the disk is so full that history goes.
  absl::Status Health() const;

  // Shows what history holds, what of it has gone and why, and what it could not keep or decode.
  void ExportTo(CollectorMetrics& metrics) const;

 private:
  struct Told {
    uint64_t records = 0;
    uint64_t bytes = 0;
    int64_t at_ns = 0;  // monotonic
  };

  void Run();
  void Pass();
  void TellOfRemoved(const RocksStoreStats& stats);

  const HistoryKeeperOptions options_;
  RocksStore& store_;
  std::map<std::pair<std::string, std::string>, Told> told_;  // by kind and cause; of the thread alone

  StopSignal stop_;
  mutable Mutex mutex_;
  RoomReport newest_ ABSL_GUARDED_BY(mutex_);
  int64_t short_until_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // monotonic
  std::thread thread_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_HISTORY_KEEPER_H_
