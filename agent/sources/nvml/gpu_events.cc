#include "agent/sources/nvml/gpu_events.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

// What the driver logs for a double-bit ECC error.
constexpr int64_t kXidDoubleBitEcc = 48;

constexpr unsigned long long kWanted = kNvmlEventXid | kNvmlEventDoubleBitEcc;

bool HasEvents(const NvmlApi& api) {
  return api.event_set_create != nullptr && api.event_set_free != nullptr && api.event_set_wait != nullptr &&
         api.register_events != nullptr;
}

// All that the library can tell of us of this GPU. One without the function is taken to know Xids.
unsigned long long TypesOf(const NvmlApi& api, NvmlDevice device) {
  unsigned long long types = 0;
  if (api.supported_events == nullptr) return kNvmlEventXid;
  return api.supported_events(device, &types) == kNvmlSuccess ? types & kWanted : 0;
}

}  // namespace

GpuEvents::~GpuEvents() { Close(); }

void GpuEvents::Close() {
  if (set_ != nullptr) api_.event_set_free(set_);
  set_ = nullptr;
}

void GpuEvents::Listen(const NvmlApi& api, absl::Span<const GpuInfo> gpus) {
  Close();
  api_ = api;
  if (!HasEvents(api_)) return;
  if (api_.event_set_create(&set_) != kNvmlSuccess) {
    set_ = nullptr;
    return;
  }
  bool any = false;
  for (const GpuInfo& gpu : gpus) {
    if (gpu.handle == nullptr) continue;
    const unsigned long long types = TypesOf(api_, gpu.handle);
    if (types == 0) continue;
    any = api_.register_events(gpu.handle, types, set_) == kNvmlSuccess || any;
  }
  if (!any) Close();
}

void GpuEvents::Take(const NvmlEventData& data, const Tick& tick, absl::Span<const GpuInfo> gpus) {
  if ((data.type & kWanted) == 0) return;
  const bool is_xid = (data.type & kNvmlEventXid) != 0;
  const auto gpu =
      std::find_if(gpus.begin(), gpus.end(), [&data](const GpuInfo& known) { return known.handle == data.device; });
  if (gpu == gpus.end()) return;
  wire::KernelEvent event;
  event.set_kind(wire::KernelEvent::KIND_XID);
  event.set_code(is_xid ? static_cast<int64_t>(data.data) : kXidDoubleBitEcc);
  event.set_device(gpu->pci_address.empty() ? gpu->device : gpu->pci_address);
  const auto same = std::find_if(waiting_.begin(), waiting_.end(), [&event](const wire::KernelEvent& other) {
    return other.code() == event.code() && other.device() == event.device();
  });
  if (same != waiting_.end()) {
    // The error and its Xid are one thing.
    if (is_xid && event.code() != kXidDoubleBitEcc) same->set_repeated(same->repeated() + 1);
    return;
  }
  event.set_text(absl::StrCat("NVML: ", gpu->device, " (", gpu->pci_address, ") Xid ", event.code(),
                              is_xid ? "" : ", a double-bit ECC error"));
  event.set_monotonic_ns(tick.monotonic_ns);
  waiting_.push_back(std::move(event));
}

void GpuEvents::Collect(const Tick& tick, absl::Span<const GpuInfo> gpus, wire::AgentReport& report) {
  for (wire::KernelEvent& event : waiting_) {
    if (kernel_xids_->HasTold(event.device(), event.code(), heard_from_ns_, heard_until_ns_)) continue;
    *report.add_kernel_events() = std::move(event);
  }
  waiting_.clear();
  heard_from_ns_ = heard_until_ns_ < 0 ? tick.monotonic_ns : heard_until_ns_;
  heard_until_ns_ = tick.monotonic_ns;
  if (set_ == nullptr) return;
  for (size_t i = 0; i < kMaxEventsPerTick; ++i) {
    NvmlEventData data = {};
    // Neither a time-out nor a GPU that is lost leaves anything to be taken; that it is lost is told by what is read.
    if (api_.event_set_wait(set_, &data, /*timeout_ms=*/0) != kNvmlSuccess) return;
    Take(data, tick, gpus);
  }
}

}  // namespace lockstep
