#include "agent/sources/kernel_log/kernel_log_source.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "agent/sources/kernel_log/kernel_line.h"
#include "agent/sources/kernel_log/kmsg_record.h"

namespace lockstep {
namespace {

constexpr uint64_t kNanosPerMicrosecond = 1000;

void AddDropped(absl::string_view reason, uint64_t count, wire::AgentReport& report) {
  if (count == 0) return;
  wire::Dropped* const dropped = report.add_dropped();
  dropped->set_reason(reason.data(), reason.size());
  dropped->set_count(count);
}

// An event of this tick that says the same of about the same time, or nullptr.
wire::KernelEvent* FindSame(const wire::KernelEvent& event, wire::AgentReport& report) {
  for (wire::KernelEvent& other : *report.mutable_kernel_events()) {
    const bool together = event.monotonic_ns() - other.monotonic_ns() <= KernelLogSource::kFoldNanos;
    if (together && other.kind() == event.kind() && other.text() == event.text()) return &other;
  }
  return nullptr;
}

// Why the log is not read. That it is not shown here does not mean that the machine has none.
absl::Status WhyNot(const absl::Status& status) {
  if (!absl::IsNotFound(status)) return status;
  return absl::UnavailableError(absl::StrCat(status.message(), ": this machine does not show its kernel log, so that ",
                                             "nobody hears of it; kernel_log: false switches it off"));
}

}  // namespace

absl::Status KernelLogSource::Collect(const Tick& tick, wire::AgentReport& report) {
  if (!open_) {
    if (const absl::Status status = device_->Open(); !status.ok()) return WhyNot(status);
    open_ = true;
    Begin();
  }
  Losses losses;
  std::string record;
  absl::Status failure;
  for (int i = 0; i < kMaxRecordsPerTick; ++i) {
    // What waits in the kernel waits well while there is much of it; once it comes as it is written, it does not.
    if (catching_up_ && report.kernel_events_size() >= kMaxEventsPerTick) break;
    const absl::StatusOr<KmsgRead> read = device_->Read(record);
    if (!read.ok()) failure = read.status();
    // It is looked for again in the next tick, from what was read on.
    if (!read.ok()) break;
    const KmsgRead result = *read;
    if (result == KmsgRead::kNothingNew) catching_up_ = false;
    if (result == KmsgRead::kNothingNew) break;
    if (result == KmsgRead::kRecord) TakeRecord(record, tick, report, losses);
    if (result == KmsgRead::kOverwritten) overwritten_ = true;
    if (result == KmsgRead::kUnreadable) ++losses.unreadable;
  }
  last_tick_ns_ = tick.monotonic_ns;
  AddDropped("kernel_log_overwritten", losses.overwritten, report);
  AddDropped("kernel_log_unreadable", losses.unreadable, report);
  AddDropped("kernel_events", losses.events, report);
  AddDropped("kernel_events_too_old", losses.too_old, report);
  if (!failure.ok()) Lose();
  return failure;
}

std::string KernelLogSource::position() const {
  if (!next_sequence_.has_value() || boot_id_.empty()) return "";
  return FormatLogPosition({boot_id_, *next_sequence_});
}

void KernelLogSource::Begin() {
  resumes_ = resumed_.has_value() && !boot_id_.empty() && resumed_->boot_id == boot_id_;
  if (resumes_) next_sequence_ = resumed_->next_sequence;
  counts_old_ = resumes_ || after_boot_;
  look_back_ns_ = counts_old_ ? kMaxLookBackNanos : kFirstLookBackNanos;
  catching_up_ = true;
}

void KernelLogSource::Lose() {
  open_ = false;
  if (next_sequence_.has_value()) resumed_ = LogPosition{boot_id_, *next_sequence_};
}

int64_t KernelLogSource::LoggedNs(int64_t stamp_ns, const Tick& tick) const {
  const int64_t earliest_ns = catching_up_ ? 0 : last_tick_ns_;
  return std::clamp(stamp_ns, std::min(earliest_ns, tick.monotonic_ns), tick.monotonic_ns);
}

void KernelLogSource::TakeRecord(absl::string_view text, const Tick& tick, wire::AgentReport& report, Losses& losses) {
  const absl::optional<KmsgRecord> record = ParseKmsgRecord(text);
  if (!record.has_value()) {
    ++losses.unreadable;
    return;
  }
  // Taken by the agent before.
  if (catching_up_ && next_sequence_.has_value() && record->sequence < *next_sequence_) return;
  const bool gap = next_sequence_.has_value() && record->sequence > *next_sequence_;
  if (gap && (overwritten_ || resumes_)) {
    losses.overwritten += record->sequence - *next_sequence_;
  } else if (overwritten_) {
    ++losses.overwritten;  // before the first record all that is known is that it was something
  }
  overwritten_ = resumes_ = false;
  next_sequence_ = record->sequence + 1;

  absl::optional<wire::KernelEvent> event = ParseKernelLine(record->text);
  if (!event.has_value()) return;
  constexpr uint64_t kMaxMicroseconds = std::numeric_limits<int64_t>::max() / kNanosPerMicrosecond;
  const auto stamp_ns = static_cast<int64_t>(std::min(record->monotonic_us, kMaxMicroseconds) * kNanosPerMicrosecond);
  event->set_monotonic_ns(LoggedNs(stamp_ns, tick));
  if (event->kind() == wire::KernelEvent::KIND_XID) xids_->Note(event->device(), event->code(), event->monotonic_ns());
  if (catching_up_ && event->monotonic_ns() < tick.monotonic_ns - look_back_ns_) {
    losses.too_old += counts_old_ ? 1 : 0;
    return;
  }
  if (wire::KernelEvent* const same = FindSame(*event, report); same != nullptr) {
    same->set_repeated(same->repeated() + 1);
    return;
  }
  if (report.kernel_events_size() >= kMaxEventsPerTick) {
    ++losses.events;
    return;
  }
  *report.add_kernel_events() = *std::move(event);
}

}  // namespace lockstep
