#include "detector/hardware/evidence_log.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"

namespace lockstep {
namespace {

constexpr int64_t kKeepNs = 600 * kNanosPerSecond;
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
  return event.kind == KernelEventKind::kXid && MeaningOfXid(event.code) != nullptr;
}

std::string Describe(const KernelEvent& event) {
  const char* const meaning = event.kind == KernelEventKind::kXid ? MeaningOfXid(event.code) : nullptr;
  const std::string where = event.device.empty() ? "" : absl::StrCat(" on ", event.device);
  switch (event.kind) {
    case KernelEventKind::kXid:
      return absl::StrCat("Xid ", event.code, where, meaning == nullptr ? "" : absl::StrCat(" (", meaning, ")"));
    case KernelEventKind::kSxid:
      return absl::StrCat("NVSwitch SXid ", event.code, where);
    case KernelEventKind::kPcieAer:
      return absl::StrCat("PCIe error", where);
    case KernelEventKind::kMlx5:
      return absl::StrCat("network adapter event", where);
    case KernelEventKind::kOutOfMemory:
      return absl::StrCat("out-of-memory kill of pid ", event.code);
    case KernelEventKind::kEdac:
      return absl::StrCat("memory error", where);
    case KernelEventKind::kUnknown:
      break;
  }
  return "event";
}

void EvidenceLog::Add(const std::string& host, const KernelEvent& event, int64_t received_ns) {
  if (events_.size() >= kMaxEvents) {
    events_.pop_front();
    ++dropped_;
  }
  events_.push_back({host, event, received_ns});
  std::string& text = events_.back().event.text;
  if (text.size() > kMaxText) text.resize(kMaxText);
}

std::vector<Evidence> EvidenceLog::About(const std::string& host, int64_t watermark_ns) const {
  std::vector<Evidence> evidence;
  for (auto it = events_.rbegin(); it != events_.rend() && evidence.size() < kMaxQuoted; ++it) {
    if (it->host != host || watermark_ns - it->received_ns > kKeepNs) continue;
    if (it->event.kind == KernelEventKind::kUnknown) continue;
    evidence.push_back(
        {EvidenceKind::kLog,
         absl::StrFormat("The kernel of host %s reported %s %.0f s ago: %s", host, Describe(it->event),
                         static_cast<double>(watermark_ns - it->received_ns) / kNanosPerSecond, it->event.text)});
  }
  std::reverse(evidence.begin(), evidence.end());
  return evidence;
}

}  // namespace lockstep
