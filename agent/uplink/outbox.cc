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
  while (bytes_ > limits_.max_bytes && entries_.size() > 1) Drop(entries_.begin(), kFull);
  while (now_ns - entries_.front().added_ns > limits_.max_age_ns) Drop(entries_.begin(), kExpired);
}

const Outbox::Entry* Outbox::After(uint64_t sequence) const {
  const auto found = std::upper_bound(entries_.begin(), entries_.end(), sequence,
                                      [](uint64_t value, const Entry& entry) { return value < entry.sequence; });
  return found == entries_.end() ? nullptr : &*found;
}

size_t Outbox::Acknowledge(uint64_t sequence) {
  if (sequence > newest_sequence_) return 0;
  size_t acknowledged = 0;
  for (; !entries_.empty() && entries_.front().sequence <= sequence; ++acknowledged) {
    bytes_ -= entries_.front().bytes.size();
    entries_.pop_front();
  }
  return acknowledged;
}

void Outbox::DropRejected(uint64_t sequence) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [sequence](const Entry& entry) { return entry.sequence == sequence; });
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
