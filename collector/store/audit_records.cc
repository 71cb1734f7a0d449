#include "collector/store/audit_records.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "collector/store/families.h"
#include "collector/store/keys.h"
#include "collector/store/record_scan.h"
#include "collector/store/values.h"
#include "rocksdb/write_batch.h"

namespace lockstep {

absl::Status AuditRecords::Count() {
  if (counted_) return absl::OkStatus();
  std::array<Kept, kAuditKinds> kept;
  const auto take = [&](absl::string_view key, absl::string_view value) -> absl::Status {
    ASSIGN_OR_RETURN(const AuditKey decoded, DecodeAuditKey(key));
    Kept& of_kind = kept[static_cast<size_t>(decoded.kind)];
    of_kind.places.push_back({decoded.number, key.size() + value.size()});
    of_kind.bytes += of_kind.places.back().bytes;
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ScanRecords(database_, Family::kMeta, kAuditKeyPrefix, corrupt_, take));
  kept_ = std::move(kept);
  counted_ = true;
  return absl::OkStatus();
}

absl::StatusOr<size_t> AuditRecords::Put(AuditKind kind, const wire::AuditRecord& record) {
  const AuditLimits& limits = kAuditLimits[static_cast<size_t>(kind)];
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(Count());
  Kept& kept = kept_[static_cast<size_t>(kind)];
  const uint64_t number = database_.NextNumber();
  const std::string key = EncodeAuditKey({kind, number});
  const std::string value = EncodeAuditRecord(record);
  const size_t bytes = key.size() + value.size();
  rocksdb::WriteBatch batch;
  database_.Put(batch, Family::kMeta, key, value);
  size_t leave = 0;
  size_t left_bytes = kept.bytes;
  while (leave < kept.places.size() &&
         (kept.places.size() - leave >= limits.max_records || left_bytes + bytes > limits.max_bytes)) {
    database_.Delete(batch, Family::kMeta, EncodeAuditKey({kind, kept.places[leave].number}));
    left_bytes -= kept.places[leave].bytes;
    ++leave;
  }
  RETURN_IF_ERROR(database_.Write(batch, /*sync=*/kind == AuditKind::kChange));
  kept.places.erase(kept.places.begin(), kept.places.begin() + static_cast<std::ptrdiff_t>(leave));
  kept.places.push_back({number, bytes});
  kept.bytes = left_bytes + bytes;
  return leave;
}

absl::StatusOr<std::vector<wire::AuditRecord>> AuditRecords::Load() {
  std::vector<std::pair<uint64_t, wire::AuditRecord>> numbered;
  const auto take = [&](absl::string_view key, absl::string_view value) -> absl::Status {
    ASSIGN_OR_RETURN(const AuditKey decoded, DecodeAuditKey(key));
    ASSIGN_OR_RETURN(wire::AuditRecord record, DecodeAuditRecord(value));
    numbered.emplace_back(decoded.number, std::move(record));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ScanRecords(database_, Family::kMeta, kAuditKeyPrefix, corrupt_, take));
  std::sort(numbered.begin(), numbered.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<wire::AuditRecord> records;
  records.reserve(numbered.size());
  for (auto& [number, record] : numbered) records.push_back(std::move(record));
  return records;
}

}  // namespace lockstep
