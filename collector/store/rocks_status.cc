#include "collector/store/rocks_status.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

struct Row {
  rocksdb::Status::Code from;
  absl::StatusCode to;
};

constexpr Row kCodes[] = {
    {rocksdb::Status::kNotFound, absl::StatusCode::kNotFound},
    {rocksdb::Status::kCorruption, absl::StatusCode::kDataLoss},
    {rocksdb::Status::kIOError, absl::StatusCode::kUnavailable},
    {rocksdb::Status::kBusy, absl::StatusCode::kUnavailable},
    {rocksdb::Status::kTimedOut, absl::StatusCode::kUnavailable},
    {rocksdb::Status::kTryAgain, absl::StatusCode::kUnavailable},
    {rocksdb::Status::kAborted, absl::StatusCode::kUnavailable},
    {rocksdb::Status::kIncomplete, absl::StatusCode::kUnavailable},
    {rocksdb::Status::kShutdownInProgress, absl::StatusCode::kUnavailable},
};

absl::StatusCode CodeOf(const rocksdb::Status& status) {
  // Of writes that wait for memory RocksDB says that they are incomplete, and why only in words.
  const bool no_space = status.IsNoSpace() || absl::StrContains(status.ToString(), kNoSpaceText);
  if (no_space || status.IsMemoryLimit()) return absl::StatusCode::kResourceExhausted;
  for (const Row& row : kCodes) {
    if (row.from == status.code()) return row.to;
  }
  return absl::StatusCode::kInternal;
}

}  // namespace

absl::Status ToStatus(const rocksdb::Status& status, absl::string_view what) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(CodeOf(status), absl::StrCat(what, ": ", status.ToString()));
}

}  // namespace lockstep
