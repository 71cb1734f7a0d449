// Counts and logs records of history that do not decode: they are skipped, never guessed at. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_STORE_CORRUPT_RECORDS_H_
#define LOCKSTEP_COLLECTOR_STORE_CORRUPT_RECORDS_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "base/log.h"
#include "collector/store/families.h"

namespace lockstep {

class CorruptRecords {
 public:
  void Count(Family family, absl::string_view key, const absl::Status& why) {
    ++count_;
    Log(LogLevel::kError, "skipped a corrupt record of history",
        {{"family", FamilyName(family)}, {"key", absl::BytesToHexString(key)}, {"why", std::string(why.message())}});
  }
  // One that its reader is told of.
  void CountTold() { ++count_; }

  uint64_t count() const { return count_.load(); }

 private:
  std::atomic<uint64_t> count_{0};
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_CORRUPT_RECORDS_H_
