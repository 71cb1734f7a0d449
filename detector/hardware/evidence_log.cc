#include "detector/hardware/evidence_log.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/clock.h"

namespace lockstep {
namespace {

// As EventJudge::kStickyNs.
constexpr int64_t kKeepNs = 600 * kNanosPerSecond;
// Of what people read.
constexpr size_t kMaxQuoted = 3;
constexpr size_t kMaxText = 160;

// Xids that mean a broken GPU or link; the others mostly report what a program did.
struct XidMeaning {
  int64_t code;
  const char* meaning;
};
constexpr XidMeaning kHardXids[] = {
    {48, "double-bit ECC error"},
    {62, "internal micro-controller halt"},
    {63, "row remapping recorded"},
    {64, "row remapping failed"},
    {74, "NVLink error"},
    {79, "GPU has fallen off the bus"},
    {94, "contained ECC error"},
    {95, "uncontained ECC error"},
    {119, "GPU system processor timeout"},
    {120, "GPU system processor error"},
    {140, "unrecovered ECC error"},
};

const char* MeaningOfXid(int64_t code) {
  const auto* const it = std::find_if(std::begin(kHardXids), std::end(kHardXids),
                                      [code](const XidMeaning& xid) { return xid.code == code; });
  return it == std::end(kHardXids) ? nullptr : it->meaning;
}

}  // namespace

bool MeansBrokenGpu(const KernelEvent& event) {
  if (event.kind == KernelEventKind::kNvml) return event.code == kNvmlGpuIsLost;
  return event.kind == KernelEventKind::kXid && MeaningOfXid(event.code) != nullptr;
}

KernelLine LineOf(const std::string& host, const KernelEvent& event) {
  const char* const meaning = event.kind == KernelEventKind::kXid ? MeaningOfXid(event.code) : nullptr;
  if (event.kind == KernelEventKind::kNvml && event.code == kNvmlGpuIsLost) {
    return {.host = host, .event = event.kind, .code = event.code, .device = event.device, .meaning = "is lost"};
  }
  return {.host = host,
          .event = event.kind,
          .code = event.code,
          .device = event.device,
          .meaning = meaning == nullptr ? "" : meaning};
}

void EvidenceLog::Add(const std::string& host, const KernelEvent& event, int64_t happened_ns, int64_t heard_ns) {
  ++added_;
  Keep({host, event, happened_ns, heard_ns}, event.kind == KernelEventKind::kCrash ? crashes_ : events_);
}

void EvidenceLog::Keep(Entry entry, std::deque<Entry>& events) {
  if (events.size() >= kMaxEvents) {
    events.pop_front();
    ++dropped_;
  }
  if (entry.event.text.size() > kMaxText) entry.event.text.resize(kMaxText);
  events.push_back(std::move(entry));
}

std::vector<Evidence> EvidenceLog::About(const std::string& host, int64_t watermark_ns) const {
  std::vector<Evidence> evidence;
  for (auto it = events_.rbegin(); it != events_.rend() && evidence.size() < kMaxQuoted; ++it) {
    if (it->host != host || watermark_ns - it->heard_ns > kKeepNs) continue;
    if (it->event.kind == KernelEventKind::kUnknown) continue;
    KernelLine line = LineOf(host, it->event);
    line.age_seconds = static_cast<double>(watermark_ns - it->happened_ns) / kNanosPerSecond;
    line.text = it->event.text;
    evidence.push_back({EvidenceKind::kLog, std::move(line)});
  }
  std::reverse(evidence.begin(), evidence.end());
  return evidence;
}

void EvidenceLog::CountMemoryKills(const std::string& host, double killed, int64_t host_ns) {
  const auto found = counts_.find(host);
  if (found == counts_.end()) {
    if (counts_.size() < kMaxCounted) {
      counts_.emplace(host, Count{killed, host_ns});
    } else {
      ++dropped_;
    }
    return;
  }
  Count& count = found->second;
  if (host_ns <= count.host_ns) return;
  if (killed > count.killed) {
    ++added_;
    if (rises_.size() >= kMaxEvents) {
      rises_.pop_front();
      ++dropped_;
    }
    rises_.push_back({host, count.host_ns, host_ns});
  }
  count = {killed, host_ns};
}

bool EvidenceLog::CountedMemoryKills(const std::string& host, int64_t from_host_ns, int64_t to_host_ns) const {
  return std::any_of(rises_.begin(), rises_.end(), [&](const Rise& rise) {
    return rise.host == host && rise.from_host_ns <= to_host_ns && rise.to_host_ns >= from_host_ns;
  });
}

bool EvidenceLog::SaysKilledForMemory(const std::string& host, int32_t pid) const {
  return pid > 0 && std::any_of(events_.begin(), events_.end(), [&](const Entry& entry) {
           return entry.event.kind == KernelEventKind::kOutOfMemory && entry.event.pid == pid && entry.host == host;
         });
}

const KernelEvent* EvidenceLog::CrashOf(const std::string& host, int32_t pid) const {
  const auto found = std::find_if(crashes_.rbegin(), crashes_.rend(), [&](const Entry& entry) {
    return pid > 0 && entry.event.pid == pid && entry.host == host;
  });
  return found == crashes_.rend() ? nullptr : &found->event;
}

}  // namespace lockstep
