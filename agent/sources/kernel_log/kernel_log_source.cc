#include "agent/sources/kernel_log/kernel_log_source.h"

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

// An event of this tick that says the same, or nullptr.
wire::KernelEvent* FindSame(const wire::KernelEvent& event, wire::AgentReport& report) {
  for (wire::KernelEvent& other : *report.mutable_kernel_events()) {
    if (other.kind() == event.kind() && other.text() == event.text()) return &other;
  }
  return nullptr;
}

}  // namespace

absl::Status KernelLogSource::Collect(const Tick& tick, wire::AgentReport& report) {
  if (!open_) {
    if (const absl::Status status = device_->Open(); !status.ok()) return status;
    open_ = true;
  }
  Losses losses;
  std::string record;
  for (int i = 0; i < kMaxRecordsPerTick; ++i) {
    const KmsgRead result = device_->Read(record);
    if (result == KmsgRead::kNothingNew) break;
    if (result == KmsgRead::kRecord) TakeRecord(record, report, losses);
    if (result == KmsgRead::kOverwritten) overwritten_ = true;
    if (result == KmsgRead::kUnreadable) ++losses.unreadable;
  }
  AddDropped("kernel_log_overwritten", losses.overwritten, report);
  AddDropped("kernel_log_unreadable", losses.unreadable, report);
  AddDropped("kernel_events", losses.events, report);
  return absl::OkStatus();
}

void KernelLogSource::TakeRecord(absl::string_view text, wire::AgentReport& report, Losses& losses) {
  const absl::optional<KmsgRecord> record = ParseKmsgRecord(text);
  if (!record.has_value()) {
    ++losses.unreadable;
    return;
  }
  if (overwritten_) {
    // The gap in the numbers is what was lost; before the first record all that is known is that it was something.
    const uint64_t expected = next_sequence_.value_or(record->sequence);
    losses.overwritten += record->sequence > expected ? record->sequence - expected : 1;
    overwritten_ = false;
  }
  next_sequence_ = record->sequence + 1;

  absl::optional<wire::KernelEvent> event = ParseKernelLine(record->text);
  if (!event.has_value()) return;
  if (wire::KernelEvent* const same = FindSame(*event, report); same != nullptr) {
    same->set_repeated(same->repeated() + 1);
    return;
  }
  if (report.kernel_events_size() >= kMaxEventsPerTick) {
    ++losses.events;
    return;
  }
  event->set_monotonic_ns(static_cast<int64_t>(record->monotonic_us * kNanosPerMicrosecond));
  *report.add_kernel_events() = *std::move(event);
}

}  // namespace lockstep
