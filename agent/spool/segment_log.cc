#include "agent/spool/segment_log.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "agent/resume_point.h"
#include "agent/spool/segment_reader.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

constexpr char kFull[] = "reports_spool_full";
constexpr char kExpired[] = "reports_expired";
constexpr char kCorrupt[] = "reports_spool_corrupt";
constexpr char kUnreadable[] = "reports_spool_unreadable";

void TellOf(const std::string& path, const char* what, const std::string& why) {
  Log(LogLevel::kError, what, {{"file", path}, {"why", why}});
}

}  // namespace

int64_t AgeNanos(const SpooledReport& report, bool is_same_boot, int64_t wall_ns, int64_t boot_ns) {
  return std::max<int64_t>(is_same_boot ? boot_ns - report.boot_ns : wall_ns - report.wall_ns, 0);
}

absl::Status SegmentLog::Open() {
  if (!directory_.has_value()) {
    ASSIGN_OR_RETURN(SpoolDirectory directory, SpoolDirectory::Open(options_.directory));
    directory_ = std::move(directory);
  }
  const absl::Status loaded = LoadAll();
  if (!loaded.ok()) return loaded;
  RETURN_IF_ERROR(KeepLimits());
  ListFormers();
  return absl::OkStatus();
}

absl::Status SegmentLog::LoadAll() {
  segments_.clear();
  acknowledged_.clear();
  resume_.clear();
  bytes_ = 0;
  const uint64_t corrupt_before = corrupt_places_;
  ASSIGN_OR_RETURN(const std::vector<uint64_t> numbers, directory_->List());
  std::vector<uint64_t> corrupt;
  absl::Status loaded;
  for (const uint64_t number : numbers) {
    const uint64_t places = corrupt_places_;
    loaded.Update(Load(number));
    if (corrupt_places_ != places) corrupt.push_back(number);
    next_number_ = std::max(next_number_, number + 1);
  }
  RETURN_IF_ERROR(loaded);
  unreadable_.reset();
  // Only now it is known what is acknowledged and was no loss.
  if (corrupt_places_ != corrupt_before) {
    for (const uint64_t number : corrupt) RETURN_IF_ERROR(Heal(number));
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::optional<std::string>> SegmentLog::ReadPatiently(uint64_t number) {
  absl::StatusOr<std::string> bytes = directory_->Read(number);
  if (bytes.ok() && unreadable_.has_value() && unreadable_->number == number) unreadable_.reset();
  if (bytes.ok()) return absl::optional<std::string>(*std::move(bytes));
  const int64_t now_ns = clock_.MonotonicNanos();
  if (!unreadable_.has_value()) unreadable_ = Unreadable{number, now_ns};
  if (now_ns - unreadable_->since_ns < kReadPatienceNanos) return bytes.status();
  TellOf(directory_->PathOf(number), "a spool segment cannot be read", bytes.status().ToString());
  return absl::optional<std::string>();
}

absl::Status SegmentLog::Load(uint64_t number) {
  if (left_to_next_.contains(number)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const absl::optional<std::string> read, ReadPatiently(number));
  if (!read.has_value()) {
    // How many were in it is not known.
    left_to_next_.insert(number);
    ++dropped_[kUnreadable];
    ++untold_[kUnreadable];
    return absl::OkStatus();
  }
  const std::string& bytes = *read;
  absl::StatusOr<SegmentReader> reader = SegmentReader::Open(bytes);
  if (absl::IsFailedPrecondition(reader.status())) {
    TellOf(directory_->PathOf(number), "a spool segment is of a newer version", std::string(reader.status().message()));
    return absl::OkStatus();
  }
  if (!reader.ok()) {
    TellOf(directory_->PathOf(number), "a spool segment is removed", std::string(reader.status().message()));
    ++corrupt_places_;
    return directory_->Remove(number);
  }
  if (reader->header().host != options_.host) {
    TellOf(directory_->PathOf(number), "a spool segment is of another host and left alone",
           absl::StrCat("host ", reader->header().host, ", expected ", options_.host));
    return absl::OkStatus();
  }
  Segment segment{.number = number, .header = reader->header(), .bytes = bytes.size()};
  const bool are_boots_known = !options_.boot_id.empty() && !segment.header.boot_id.empty();
  const bool is_same_boot = are_boots_known && segment.header.boot_id == options_.boot_id;
  SegmentRecord record;
  while (reader->Next(record)) {
    if (record.report.has_value()) {
      Note(*record.report, segment);
      resume_ = are_boots_known ? std::move(record.report->resume) : "";
      if (!is_same_boot) resume_ = ResumePointOfAnotherBoot(resume_);
    }
    if (record.ack.has_value()) {
      uint64_t& known = acknowledged_[record.ack->incarnation];
      known = std::max(known, record.ack->sequence);
    }
  }
  corrupt_places_ += reader->corrupt_places();
  bytes_ += segment.bytes;
  segments_.push_back(std::move(segment));
  if (reader->corrupt_places() == 0) return absl::OkStatus();
  TellOf(directory_->PathOf(number), "a spool segment is damaged; what can be read of it is kept",
         absl::StrCat(reader->corrupt_places(), " places, ", reader->corrupt_bytes(), " bytes"));
  return absl::OkStatus();
}

// Counts what is missing in a damaged segment, once, and leaves it without damage.
absl::Status SegmentLog::Heal(uint64_t number) {
  const size_t index = IndexOf(number);
  if (index == segments_.size() || segments_[index].number != number) return absl::OkStatus();
  Segment& segment = segments_[index];
  ASSIGN_OR_RETURN(const std::string bytes, directory_->Read(number));
  ASSIGN_OR_RETURN(SegmentReader reader, SegmentReader::Open(bytes));
  const uint64_t acknowledged = AcknowledgedOf(segment.header.incarnation);
  uint64_t expected = std::max(segment.header.first_sequence, acknowledged + 1);
  uint64_t lost = 0;
  SegmentRecord record;
  while (reader.Next(record)) {
    if (!record.report.has_value() || record.report->sequence < expected) continue;
    lost += record.report->sequence - expected;
    expected = record.report->sequence + 1;
  }
  // How many were at its end is not known: at least one.
  if (lost == 0 && segment.last_sequence > acknowledged) lost = 1;
  if (lost > 0) dropped_[kCorrupt] += lost;
  if (lost > 0) untold_[kCorrupt] += lost;
  return Rewrite(segment, segment.header.thinning);
}

void SegmentLog::ListFormers() {
  formers_.clear();
  for (const Segment& segment : segments_) {
    if (segment.header.incarnation == options_.incarnation || ReportsLeft(segment) == 0) continue;
    if (formers_.empty() || formers_.back().incarnation != segment.header.incarnation) {
      const uint64_t first = std::max(segment.oldest.sequence, AcknowledgedOf(segment.header.incarnation) + 1);
      formers_.push_back({segment.header.incarnation, first, 0});
    }
    formers_.back().last_sequence = segment.last_sequence;
  }
}

void SegmentLog::Note(const SpooledReport& report, Segment& segment) {
  const SpooledReport moment{report.sequence, report.wall_ns, report.boot_ns, "", ""};
  if (segment.reports == 0) segment.oldest = moment;
  segment.newest = moment;
  segment.last_sequence = std::max(segment.last_sequence, report.sequence);
  ++segment.reports;
}

uint64_t SegmentLog::AcknowledgedOf(uint64_t incarnation) const {
  const auto found = acknowledged_.find(incarnation);
  return found == acknowledged_.end() ? 0 : found->second;
}

uint64_t SegmentLog::ReportsLeft(const Segment& segment) const {
  const uint64_t acknowledged = AcknowledgedOf(segment.header.incarnation);
  if (segment.last_sequence <= acknowledged) return 0;
  return std::min(segment.reports, segment.last_sequence - acknowledged);
}

bool SegmentLog::HoldsResume(size_t index) const {
  return std::none_of(segments_.begin() + static_cast<ptrdiff_t>(index) + 1, segments_.end(),
                      [](const Segment& later) { return later.reports > 0; });
}

size_t SegmentLog::IndexOf(uint64_t number) const {
  const auto found = std::lower_bound(segments_.begin(), segments_.end(), number,
                                      [](const Segment& segment, uint64_t value) { return segment.number < value; });
  return static_cast<size_t>(found - segments_.begin());
}

absl::Status SegmentLog::BeginSegment(uint64_t first_sequence) {
  ASSIGN_OR_RETURN(UniqueFd file, directory_->Create(next_number_));
  active_ = std::make_shared<UniqueFd>(std::move(file));
  unsynced_.push_back(active_);
  Segment segment;
  segment.number = next_number_++;
  segment.header = {options_.host, options_.boot_id, options_.incarnation, first_sequence, 0};
  segments_.push_back(std::move(segment));
  return absl::OkStatus();
}

absl::Status SegmentLog::Append(const SpooledReport& report) {
  if (active_ != nullptr && segments_.back().bytes >= options_.segment_bytes) active_ = nullptr;
  std::string bytes;
  if (active_ == nullptr) {
    RETURN_IF_ERROR(BeginSegment(report.sequence));
    bytes = EncodeSegmentHeader(segments_.back().header);
    for (const auto& [incarnation, sequence] : unwritten_acks_) {
      absl::StrAppend(&bytes, EncodeAck({incarnation, sequence}));
    }
  }
  absl::StrAppend(&bytes, EncodeReport(report));
  Segment& segment = segments_.back();
  const absl::Status written = WriteAll(*active_, bytes, directory_->PathOf(segment.number));
  if (!written.ok()) {
    // Half of a record must not stand in the middle; where it cannot be cut off, a reader finds the next one.
    if (segment.bytes > 0 && ftruncate(active_->get(), static_cast<off_t>(segment.bytes)) != 0) ++corrupt_places_;
    active_ = nullptr;
    if (segment.bytes == 0) RETURN_IF_ERROR(Erase(segments_.size() - 1));
    return written;
  }
  unwritten_acks_.clear();
  if (unsynced_.empty() || unsynced_.back() != active_) unsynced_.push_back(active_);
  segment.bytes += bytes.size();
  bytes_ += bytes.size();
  Note(report, segment);
  return absl::OkStatus();
}

absl::Status SegmentLog::Acknowledge(uint64_t incarnation, uint64_t sequence) {
  uint64_t& known = acknowledged_[incarnation];
  if (sequence <= known) return absl::OkStatus();
  known = sequence;
  if (active_ == nullptr) {
    unwritten_acks_[incarnation] = sequence;
    return absl::OkStatus();
  }
  // Not worth a sync: who does not find it asks the collector.
  const std::string bytes = EncodeAck({incarnation, sequence});
  Segment& segment = segments_.back();
  const absl::Status written = WriteAll(*active_, bytes, directory_->PathOf(segment.number));
  if (!written.ok()) {
    if (ftruncate(active_->get(), static_cast<off_t>(segment.bytes)) != 0) ++corrupt_places_;
    active_ = nullptr;
    return written;
  }
  segment.bytes += bytes.size();
  bytes_ += bytes.size();
  return absl::OkStatus();
}

int64_t SegmentLog::AgeOf(const SpooledReport& report, const Segment& segment) const {
  const bool are_boots_known = !options_.boot_id.empty() && !segment.header.boot_id.empty();
  const bool is_same_boot = are_boots_known && segment.header.boot_id == options_.boot_id;
  return AgeNanos(report, is_same_boot, clock_.WallNanos(), boot_clock_.BootNanos());
}

absl::StatusOr<std::vector<AgedReport>> SegmentLog::Read(uint64_t incarnation, uint64_t sequence, size_t max_bytes) {
  std::vector<AgedReport> reports;
  size_t bytes = 0;
  bool has_lost = false;  // and what comes right behind is not waited for as long once more
  for (size_t i = 0; i < segments_.size() && bytes < max_bytes;) {
    const Segment& segment = segments_[i];
    if (segment.header.incarnation != incarnation || segment.last_sequence <= sequence || segment.is_unreadable) {
      ++i;
      continue;
    }
    const absl::StatusOr<absl::optional<std::string>> data = ReadPatiently(segment.number);
    // What stands before it goes on its way meanwhile.
    if (!data.ok() && !reports.empty()) break;
    if (!data.ok()) return data.status();
    if (!data->has_value()) {
      RETURN_IF_ERROR(LoseUnreadable(i));
      has_lost = true;
      continue;
    }
    ASSIGN_OR_RETURN(const size_t taken, TakeReports(segment, **data, sequence, max_bytes - bytes, reports));
    bytes += taken;
    ++i;
  }
  if (has_lost) unreadable_.reset();
  return reports;
}

// The bytes of the reports that it takes.
absl::StatusOr<size_t> SegmentLog::TakeReports(const Segment& segment, absl::string_view data, uint64_t sequence,
                                               size_t max_bytes, std::vector<AgedReport>& reports) {
  ASSIGN_OR_RETURN(SegmentReader reader, SegmentReader::Open(data));
  size_t bytes = 0;
  SegmentRecord record;
  while (bytes < max_bytes && reader.Next(record)) {
    if (!record.report.has_value()) continue;
    SpooledReport& report = *record.report;
    uint64_t& acknowledged = acknowledged_[segment.header.incarnation];
    if (report.sequence <= std::max(sequence, acknowledged)) continue;
    const int64_t age_ns = AgeOf(report, segment);
    if (age_ns > options_.max_age_ns) {
      CountLost(report, kExpired);
      acknowledged = report.sequence;
      continue;
    }
    bytes += report.bytes.size();
    reports.push_back({report.sequence, age_ns, std::move(report.bytes)});
  }
  return bytes;
}

absl::Status SegmentLog::LoseUnreadable(size_t index) {
  Segment& segment = segments_[index];
  const uint64_t lost = ReportsLeft(segment);
  dropped_[kUnreadable] += lost;
  untold_[kUnreadable] += lost;
  segment.is_unreadable = true;
  return HoldsResume(index) ? absl::OkStatus() : Erase(index);
}

absl::Status SegmentLog::KeepLimits() {
  for (size_t i = 0; i < segments_.size() && !HoldsResume(i);) {
    if (ReportsLeft(segments_[i]) == 0) {
      RETURN_IF_ERROR(Erase(i));
    } else if (AgeOf(segments_[i].newest, segments_[i]) > options_.max_age_ns) {
      RETURN_IF_ERROR(GiveUp(i, kExpired));
    } else {
      ++i;
    }
  }
  if (bytes_ <= options_.max_bytes / 2) shedding_.Calm();
  while (bytes_ > options_.max_bytes && segments_.size() > 1) {
    const Shedding::Step step = shedding_.Next(segments_.front().number, segments_[segments_.size() - 2].number);
    const size_t index = IndexOf(step.place);
    if (step.action == Shedding::Action::kDrop) {
      RETURN_IF_ERROR(GiveUp(index, kFull));
    } else if (segments_[index].number == step.place && segments_[index].header.thinning < step.level) {
      RETURN_IF_ERROR(Rewrite(segments_[index], step.level));
    }
  }
  return absl::OkStatus();
}

absl::Status SegmentLog::Rewrite(Segment& segment, uint32_t level) {
  ASSIGN_OR_RETURN(const std::string data, directory_->Read(segment.number));
  ASSIGN_OR_RETURN(SegmentReader reader, SegmentReader::Open(data));
  const uint64_t incarnation = segment.header.incarnation;
  const uint64_t acknowledged = AcknowledgedOf(incarnation);
  Segment fresh{.number = segment.number, .header = segment.header};
  fresh.header.thinning = level;
  std::string records = acknowledged == 0 ? "" : EncodeAck({incarnation, acknowledged});
  SegmentRecord record;
  while (reader.Next(record)) {
    // Of other agents' reports.
    if (record.ack.has_value() && record.ack->incarnation != incarnation)
      absl::StrAppend(&records, EncodeAck(*record.ack));
    if (!record.report.has_value()) continue;
    // The newest one of all is kept for its resume point.
    const bool is_last = record.report->sequence == segment.last_sequence;
    if (record.report->sequence <= acknowledged && !is_last) continue;
    wire::AgentReport report;
    if (report.ParseFromString(record.report->bytes) && Shedding::ThinOut(level, report)) {
      record.report->bytes = report.SerializeAsString();
    }
    if (fresh.reports == 0) fresh.header.first_sequence = record.report->sequence;
    Note(*record.report, fresh);
    absl::StrAppend(&records, EncodeReport(*record.report));
  }
  const std::string bytes = EncodeSegmentHeader(fresh.header) + records;
  RETURN_IF_ERROR(directory_->Replace(segment.number, bytes));
  bytes_ = bytes_ - segment.bytes + bytes.size();
  fresh.bytes = bytes.size();
  segment = std::move(fresh);
  return absl::OkStatus();
}

absl::Status SegmentLog::GiveUp(size_t index, const char* reason) {
  const Segment& segment = segments_[index];
  const uint64_t acknowledged = AcknowledgedOf(segment.header.incarnation);
  const absl::StatusOr<std::string> data = directory_->Read(segment.number);
  absl::StatusOr<SegmentReader> reader = data.ok() ? SegmentReader::Open(*data) : data.status();
  SegmentRecord record;
  while (reader.ok() && reader->Next(record)) {
    if (record.report.has_value() && record.report->sequence > acknowledged) CountLost(*record.report, reason);
  }
  return Erase(index);
}

absl::Status SegmentLog::Erase(size_t index) {
  const Segment& segment = segments_[index];
  RETURN_IF_ERROR(directory_->Remove(segment.number));
  bytes_ -= segment.bytes;
  const uint64_t incarnation = segment.header.incarnation;
  segments_.erase(segments_.begin() + static_cast<ptrdiff_t>(index));
  const bool is_known = std::any_of(segments_.begin(), segments_.end(), [incarnation](const Segment& other) {
    return other.header.incarnation == incarnation;
  });
  if (!is_known && incarnation != options_.incarnation) acknowledged_.erase(incarnation);
  return absl::OkStatus();
}

void SegmentLog::CountLost(const SpooledReport& report, const char* reason) {
  wire::AgentReport parsed;
  if (parsed.ParseFromString(report.bytes)) {
    for (const wire::Dropped& dropped : parsed.dropped()) untold_[dropped.reason()] += dropped.count();
  }
  ++untold_[reason];
  ++dropped_[reason];
}

std::function<absl::Status()> SegmentLog::BeginSync() {
  if (unsynced_.empty()) return nullptr;
  auto files = std::exchange(unsynced_, {});
  auto folder = std::make_shared<UniqueFd>(directory_->Duplicate());
  return [files = std::move(files), folder, path = directory_->path()] {
    for (const std::shared_ptr<UniqueFd>& file : files) {
      if (fdatasync(file->get()) != 0) return absl::ErrnoToStatus(errno, path);
    }
    return fsync(folder->get()) == 0 ? absl::OkStatus() : absl::ErrnoToStatus(errno, path);
  };
}

// Reports are made at a steady pace: those that are acknowledged take their share of the time.
int64_t SegmentLog::OldestAgeOf(const Segment& segment) const {
  const int64_t oldest_ns = AgeOf(segment.oldest, segment);
  const uint64_t acknowledged = AcknowledgedOf(segment.header.incarnation);
  if (acknowledged < segment.oldest.sequence) return oldest_ns;
  const auto share = static_cast<double>(acknowledged + 1 - segment.oldest.sequence) /
                     static_cast<double>(std::max<uint64_t>(segment.last_sequence - segment.oldest.sequence, 1));
  const auto span_ns = static_cast<double>(oldest_ns - AgeOf(segment.newest, segment));
  return oldest_ns - static_cast<int64_t>(span_ns * std::min(share, 1.0));
}

ReportLogState SegmentLog::state() const {
  ReportLogState state;
  state.segments = segments_.size();
  state.bytes = bytes_;
  for (const Segment& segment : segments_) {
    const uint64_t left = ReportsLeft(segment);
    if (left > 0 && state.reports == 0) state.oldest_age_ns = OldestAgeOf(segment);
    state.reports += left;
  }
  state.corrupt_places = corrupt_places_;
  state.dropped = dropped_;
  return state;
}

}  // namespace lockstep
