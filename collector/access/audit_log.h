// Who asked for what: one line and one record of history for every change that somebody has asked for or made, whether
// or not it came about, and for calls that were refused (a few per second).
//
//   level=info at=... msg="audit" action=forget_host of=node-17 by="certificate alice" from=ipv4:10.0.0.9:40312
//   outcome=ok
//
// Lines go into the collector's log, whatever its level, and are appended to a file if one is named. The file is opened
// anew for each line, so that it may be rotated; it is never shortened or rewritten. One that has its bytes is renamed
// to the same name with ".1", in whose place it comes, and a new one is begun. History keeps the newest records
// within the limits of collector/store/audit_records.h. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_ACCESS_AUDIT_LOG_H_
#define LOCKSTEP_COLLECTOR_ACCESS_AUDIT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "collector/access/caller.h"
#include "collector/metrics.h"
#include "collector/store/history_store.h"
#include "proto/admin.pb.h"

namespace lockstep {

class AuditLog {
 public:
  // Longer texts are cut.
  static constexpr size_t kMaxFieldBytes = 1'024;

  // `file` "" = the log and history alone. `max_file_bytes` 0 = it is never renamed. References are borrowed.
  AuditLog(std::string file, const Clock& clock, HistoryStore& history, CollectorMetrics& metrics,
           int64_t max_file_bytes);

  // INVALID_ARGUMENT if the file cannot be appended to.
  absl::Status CheckFile() const;

  // `action` in the words of the code, `of` what, `peer` as the transport says it. Waits for the disk. A file or a
  // history that refuses is logged, and counted as dropped: what was asked for has happened already.
  void Note(const Caller& by, absl::string_view peer, absl::string_view action, absl::string_view of,
            const absl::Status& outcome);

  // The same of what nobody has asked for by a call: `by` as far as it is known, `from` where it was seen. The error of
  // a history that has not kept it, for who must not act without.
  absl::Status Note(absl::string_view by, absl::string_view from, absl::string_view action, absl::string_view of,
                    const absl::Status& outcome);

  // A call of `method` that was not let in: likewise.
  void NoteRefusal(absl::string_view peer, absl::string_view method, const absl::Status& why);

 private:
  absl::Status Keep(AuditKind kind, const wire::AuditRecord& record);
  absl::Status Append(const std::string& line) const;
  // Makes room where the file would have too many bytes with `more`.
  absl::Status Rotate(size_t more) const;

  const std::string file_;
  const Clock& clock_;
  HistoryStore& history_;
  CollectorMetrics& metrics_;
  const int64_t max_file_bytes_;
  Mutex mutex_;  // a line at a time
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ACCESS_AUDIT_LOG_H_
