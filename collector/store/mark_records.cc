#include "collector/store/mark_records.h"

#include <algorithm>
#include <map>

#include "base/status_macros.h"
#include "collector/store/families.h"
#include "collector/store/keys.h"

namespace lockstep {

void AddMarks(RocksDatabase& database, const std::vector<ReportMark>& marks, int64_t now_wall_ns,
              rocksdb::WriteBatch& batch) {
  std::map<std::string, uint64_t> newest;
  for (const ReportMark& mark : marks) {
    uint64_t& sequence = newest[EncodeMarkKey(mark.host, mark.incarnation)];
    sequence = std::max(sequence, mark.sequence);
  }
  for (const auto& [key, sequence] : newest) {
    database.Put(batch, Family::kMarks, key, EncodeMark({sequence, now_wall_ns}));
  }
}

absl::StatusOr<std::optional<MarkValue>> ReadMark(RocksDatabase& database, const std::string& host,
                                                  uint64_t incarnation) {
  ASSIGN_OR_RETURN(const std::optional<std::string> bytes,
                   database.Get(Family::kMarks, EncodeMarkKey(host, incarnation)));
  if (!bytes.has_value()) return std::optional<MarkValue>();
  ASSIGN_OR_RETURN(const MarkValue mark, DecodeMark(*bytes));
  return std::optional(mark);
}

}  // namespace lockstep
