// What is said of a history of which RocksDB reads something else than it wrote. Pure; thread-safe.

#ifndef LOCKSTEP_COLLECTOR_HISTORY_DAMAGE_H_
#define LOCKSTEP_COLLECTOR_HISTORY_DAMAGE_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace lockstep {

// DATA_LOSS: neither time nor room mends that.
inline absl::Status DamagedHistory(absl::string_view why) {
  return absl::DataLossError(
      absl::StrCat("it is damaged: ", why, "; end the collector, then restore a backup or salvage with --repair"));
}

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_HISTORY_DAMAGE_H_
