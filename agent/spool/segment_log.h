// Reports in segment files: appended to the newest one, removed by whole files, thinned out by rewriting them.
//
// A new agent begins a segment of its own and never touches the end of an old one. The newest segment stays even when
// all in it is acknowledged: the resume point of its last report is where the next agent goes on (proto/resume.proto).
// What is acknowledged is noted in the newest segment as well, so that a start knows it without asking anybody.
//
// Segments of another host's agent, or of a newer version, are told of once and left alone; they do not count. Nor does
// one that the disk does not give when the log is opened, and goes on not giving for kReadPatienceNanos: the next agent
// tries it again. What is in one that cannot be read later is counted as lost, and the others are read.

#ifndef LOCKSTEP_AGENT_SPOOL_SEGMENT_LOG_H_
#define LOCKSTEP_AGENT_SPOOL_SEGMENT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "agent/spool/report_log.h"
#include "agent/spool/segment_format.h"
#include "agent/spool/shedding.h"
#include "agent/spool/spool_directory.h"
#include "agent/unique_fd.h"
#include "base/boot_clock.h"
#include "base/clock.h"

namespace lockstep {

struct SegmentLogOptions {
  std::string directory;
  std::string host;
  std::string boot_id;           // "" = not known: ages go by the wall clock
  uint64_t incarnation = 0;      // of this agent
  size_t max_bytes = 256 << 20;  // of all segments that count
  int64_t max_age_ns = int64_t{24} * 3600 * kNanosPerSecond;
  size_t segment_bytes = 4 << 20;  // at which a segment is full
};

// How long ago a report was made: by the boot clock within one boot, else by the wall clock; never negative. Pure.
int64_t AgeNanos(const SpooledReport& report, bool is_same_boot, int64_t wall_ns, int64_t boot_ns);

// Not thread-safe, but for what BeginSync returns. Memory: some 100 bytes per segment, and one segment at a time.
class SegmentLog final : public ReportLog {
 public:
  // A disk that gives nothing for a while is waited for; a bad place on it does not keep back the rest.
  static constexpr int64_t kReadPatienceNanos = 5 * kNanosPerSecond;

  // Borrows the clocks.
  SegmentLog(SegmentLogOptions options, const Clock& clock, const BootClock& boot_clock)
      : options_(std::move(options)), clock_(clock), boot_clock_(boot_clock) {}

  absl::Status Open() override;
  std::vector<FormerAgent> formers() const override { return formers_; }
  std::string resume() const override { return resume_; }
  absl::Status Append(const SpooledReport& report) override;
  absl::Status Acknowledge(uint64_t incarnation, uint64_t sequence) override;
  absl::StatusOr<std::vector<AgedReport>> Read(uint64_t incarnation, uint64_t sequence, size_t max_bytes) override;
  absl::Status KeepLimits() override;
  std::function<absl::Status()> BeginSync() override;
  ReportLogState state() const override;
  std::map<std::string, uint64_t> TakeLosses() override { return std::exchange(untold_, {}); }

 private:
  struct Segment {
    uint64_t number = 0;
    SegmentHeader header;
    uint64_t last_sequence = 0;  // 0 = it holds no report
    uint64_t reports = 0;
    size_t bytes = 0;
    SpooledReport oldest;  // without its texts; for ages
    SpooledReport newest;
    bool is_unreadable = false;  // and what is in it is counted as lost
  };

  // What the disk does not give.
  struct Unreadable {
    uint64_t number = 0;
    int64_t since_ns = 0;
  };

  absl::Status Load(uint64_t number);
  void ListFormers();
  absl::Status LoadAll();
  absl::Status Heal(uint64_t number);
  // The bytes of a segment. Nothing = it was waited for long enough; the error, until then.
  absl::StatusOr<absl::optional<std::string>> ReadPatiently(uint64_t number);
  // Counts what is not acknowledged in a segment that cannot be read, once, and removes it if it may go.
  absl::Status LoseUnreadable(size_t index);
  absl::StatusOr<size_t> TakeReports(const Segment& segment, absl::string_view data, uint64_t sequence,
                                     size_t max_bytes, std::vector<AgedReport>& reports);
  absl::Status BeginSegment(uint64_t first_sequence);
  static void Note(const SpooledReport& report, Segment& segment);
  uint64_t AcknowledgedOf(uint64_t incarnation) const;
  uint64_t ReportsLeft(const Segment& segment) const;
  // The segment without what is acknowledged, thinned out to `level`.
  absl::Status Rewrite(Segment& segment, uint32_t level);
  // Counts what is not acknowledged in it, and removes it.
  absl::Status GiveUp(size_t index, const char* reason);
  absl::Status Erase(size_t index);
  void CountLost(const SpooledReport& report, const char* reason);
  int64_t AgeOf(const SpooledReport& report, const Segment& segment) const;
  int64_t OldestAgeOf(const Segment& segment) const;
  // Whether the segment has to stay, whatever is acknowledged: it is the newest that holds a report, or comes later.
  bool HoldsResume(size_t index) const;
  size_t IndexOf(uint64_t number) const;

  const SegmentLogOptions options_;
  const Clock& clock_;
  const BootClock& boot_clock_;
  absl::optional<SpoolDirectory> directory_;
  std::vector<Segment> segments_;                // those that count, by rising number
  std::map<uint64_t, uint64_t> acknowledged_;    // by incarnation; of those in segments_
  std::map<uint64_t, uint64_t> unwritten_acks_;  // by incarnation; for the next segment
  std::shared_ptr<UniqueFd> active_;             // the last segment, while it is appended to; nullptr = none
  std::vector<std::shared_ptr<UniqueFd>> unsynced_;
  uint64_t next_number_ = 1;
  size_t bytes_ = 0;
  Shedding shedding_;
  std::vector<FormerAgent> formers_;
  std::string resume_;
  absl::optional<Unreadable> unreadable_;  // the first one that is waited for
  std::set<uint64_t> left_to_next_;        // that could not be read at the start, counted; at most as many as files
  uint64_t corrupt_places_ = 0;
  std::map<std::string, uint64_t> dropped_;
  std::map<std::string, uint64_t> untold_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SPOOL_SEGMENT_LOG_H_
