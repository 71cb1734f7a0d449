#include "agent/uplink/outbox.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace lockstep {
namespace {

constexpr char kFull[] = "reports_outbox_full";
constexpr char kExpired[] = "reports_expired";
constexpr char kTooLarge[] = "reports_too_large";
constexpr char kRejected[] = "reports_rejected";
constexpr char kUnreadable[] = "reports_spool_unreadable";

// The first of `entries` behind `sequence`.
template <typename Entries>
auto Behind(Entries& entries, uint64_t sequence) {
  return std::upper_bound(entries.begin(), entries.end(), sequence,
                          [](uint64_t value, const Outbox::Entry& entry) { return value < entry.sequence; });
}

// The entry of that number, or the end.
template <typename Entries>
auto Find(Entries& entries, uint64_t sequence) {
  const auto found = sequence == 0 ? entries.end() : Behind(entries, sequence - 1);
  return found != entries.end() && found->sequence == sequence ? found : entries.end();
}

}  // namespace

void Outbox::Add(wire::AgentReport report, int64_t now_ns) {
  // Old losses travel with this report; should it be lost as well, they are counted again with it.
  for (const auto& [reason, count] : std::exchange(untold_, {})) {
    wire::Dropped* dropped = report.add_dropped();
    dropped->set_reason(reason);
    dropped->set_count(count);
  }
  report.set_sequence(newest_sequence_ + 1);
  Entry entry{report.sequence(), now_ns, report.SerializeAsString()};
  if (entry.bytes.size() > limits_.max_report_bytes) {
    CountDropped(report, kTooLarge);
    return;
  }
  newest_sequence_ = entry.sequence;
  bytes_ += entry.bytes.size();
  entries_.push_back(std::move(entry));
  KeepLimits(now_ns);
}

void Outbox::KeepLimits(int64_t now_ns) {
  while (bytes_ > limits_.max_bytes && entries_.size() > 1) {
    if (entries_.front().on_disk) {
      SpillOldest();
      continue;
    }
    // The newest says most about the present: it stays whole.
    const Shedding::Step step = shedding_.Next(entries_.front().sequence, entries_[entries_.size() - 2].sequence);
    if (step.action == Shedding::Action::kThin) {
      ThinOut(step.place, step.level);
    } else {
      Drop(entries_.begin(), kFull);
    }
  }
  if (bytes_ <= limits_.max_bytes / 2) shedding_.Calm();
  while (now_ns - entries_.front().added_ns > limits_.max_age_ns) {
    entries_.front().on_disk ? SpillOldest() : Drop(entries_.begin(), kExpired);
  }
}

void Outbox::SpillOldest() {
  spilled_until_ = entries_.front().sequence;
  bytes_ -= entries_.front().bytes.size();
  entries_.pop_front();
}

void Outbox::ThinOut(uint64_t sequence, uint32_t level) {
  const auto entry = Find(entries_, sequence);
  wire::AgentReport report;
  if (entry == entries_.end() || Shedding::KeepsCounters(sequence, level)) return;
  CHECK(report.ParseFromString(entry->bytes));
  if (!Shedding::ThinOut(level, report)) return;
  bytes_ -= entry->bytes.size();
  entry->bytes = report.SerializeAsString();
  bytes_ += entry->bytes.size();
}

const Outbox::Entry* Outbox::After(uint64_t sequence) const {
  const std::deque<Entry>& where = sequence < spilled_until_ ? loaded_ : entries_;
  const auto found = Behind(where, sequence);
  return found == where.end() ? nullptr : &*found;
}

size_t Outbox::InMemoryOnly() const {
  return static_cast<size_t>(
      std::count_if(entries_.begin(), entries_.end(), [](const Entry& entry) { return !entry.on_disk; }));
}

void Outbox::MarkOnDisk(uint64_t sequence) {
  const auto entry = Find(entries_, sequence);
  if (entry != entries_.end()) entry->on_disk = true;
}

absl::optional<uint64_t> Outbox::ToLoad(uint64_t sequence) const {
  if (sequence >= spilled_until_ || After(sequence) != nullptr || loaded_bytes_ >= kMaxLoadedBytes)
    return absl::nullopt;
  return std::max({sequence, acknowledged_, loaded_until_});
}

void Outbox::TakeLoaded(uint64_t from, std::vector<Entry> loaded) {
  bool any = false;
  for (Entry& entry : loaded) {
    if (entry.sequence > spilled_until_ || entry.sequence <= std::max(from, acknowledged_)) continue;
    loaded_bytes_ += entry.bytes.size();
    loaded_until_ = entry.sequence;
    loaded_.push_back(std::move(entry));
    any = true;
  }
  if (!any) spilled_until_ = std::min(spilled_until_, from);
}

void Outbox::DropUnreadable(uint64_t from) {
  if (from >= spilled_until_) return;
  const uint64_t lost = spilled_until_ - from;
  untold_[kUnreadable] += lost;
  dropped_[kUnreadable] += lost;
  spilled_until_ = from;
}

void Outbox::TellLosses(const std::map<std::string, uint64_t>& losses) {
  for (const auto& [reason, count] : losses) untold_[reason] += count;
}

size_t Outbox::Acknowledge(uint64_t sequence) {
  if (sequence > newest_sequence_ || sequence <= acknowledged_) return 0;
  size_t acknowledged = OnlyOnDisk(std::min(sequence, spilled_until_));
  acknowledged_ = sequence;
  for (; !loaded_.empty() && loaded_.front().sequence <= sequence; ++acknowledged) {
    loaded_bytes_ -= loaded_.front().bytes.size();
    loaded_.pop_front();
  }
  for (; !entries_.empty() && entries_.front().sequence <= sequence; ++acknowledged) {
    bytes_ -= entries_.front().bytes.size();
    entries_.pop_front();
  }
  return acknowledged;
}

void Outbox::DropRejected(uint64_t sequence) {
  if (const auto loaded = Find(loaded_, sequence); loaded != loaded_.end()) {
    wire::AgentReport report;
    if (report.ParseFromString(loaded->bytes)) CountDropped(report, kRejected);
    loaded_bytes_ -= loaded->bytes.size();
    loaded_.erase(loaded);
    return;
  }
  const auto found = Find(entries_, sequence);
  if (found != entries_.end()) Drop(found, kRejected);
}

void Outbox::Drop(std::deque<Entry>::iterator entry, const char* reason) {
  wire::AgentReport report;
  CHECK(report.ParseFromString(entry->bytes));
  CountDropped(report, reason);
  bytes_ -= entry->bytes.size();
  entries_.erase(entry);
}

void Outbox::CountDropped(const wire::AgentReport& report, const char* reason) {
  for (const wire::Dropped& dropped : report.dropped()) untold_[dropped.reason()] += dropped.count();
  ++untold_[reason];
  ++dropped_[reason];
}

}  // namespace lockstep
