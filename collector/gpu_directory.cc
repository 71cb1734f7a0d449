#include "collector/gpu_directory.h"

#include <algorithm>
#include <iterator>
namespace lockstep {
namespace {

bool IsOdd(const std::string& name) { return name.size() > GpuDirectory::kMaxNameBytes; }

template <typename Names>
void Fill(int32_t gpu, const Names& names, wire::Culprit& culprit) {
  if (gpu >= 0) culprit.set_gpu(gpu);
  culprit.set_gpu_uuid(names.uuid);
  culprit.set_gpu_pci_address(names.pci_address);
}

}  // namespace

void GpuDirectory::Observe(const std::string& host, const wire::AgentReport& report, int64_t now_ns) {
  if (report.gpus().empty() && report.processes().empty()) return;
  MutexLock lock(mutex_);
  if (hosts_.size() >= kMaxHosts && hosts_.count(host) == 0) {
    ++refused_;
    return;
  }
  Host& known = hosts_[host];
  ListGpus(report, known);
  TakeSeats(report, now_ns, known);
  Sweep(now_ns, known);
}

void GpuDirectory::ListGpus(const wire::AgentReport& report, Host& host) {
  if (report.gpus().empty()) return;
  host.gpus.clear();
  for (const wire::GpuIdentity& gpu : report.gpus()) {
    if (host.gpus.size() == kMaxGpusPerHost || gpu.index() < 0 || IsOdd(gpu.uuid()) || IsOdd(gpu.pci_address())) {
      ++refused_;
      continue;
    }
    host.gpus[gpu.index()] = {gpu.uuid(), gpu.pci_address()};
  }
}

void GpuDirectory::TakeSeats(const wire::AgentReport& report, int64_t now_ns, Host& host) {
  for (const wire::ProcessReport& process : report.processes()) {
    if (process.rank() < 0 || (process.gpu_index() < 0 && process.gpu_uuid().empty())) continue;
    const std::pair<std::string, int32_t> key = {process.job(), process.rank()};
    const bool fits = host.seats.size() < kMaxRanksPerHost || host.seats.count(key) > 0;
    if (!fits || IsOdd(process.gpu_uuid()) || IsOdd(process.gpu_pci_address())) {
      ++refused_;
      continue;
    }
    host.seats[key] = {process.gpu_index(), {process.gpu_uuid(), process.gpu_pci_address()}, now_ns};
  }
}

void GpuDirectory::Sweep(int64_t now_ns, Host& host) {
  if (now_ns - host.swept_ns < kKeepNanos / 10) return;
  host.swept_ns = now_ns;
  for (auto seat = host.seats.begin(); seat != host.seats.end();) {
    seat = now_ns - seat->second.told_ns > kKeepNanos ? host.seats.erase(seat) : std::next(seat);
  }
}

void GpuDirectory::Name(const std::string& job, wire::Verdict& verdict) const {
  MutexLock lock(mutex_);
  for (wire::Culprit& culprit : *verdict.mutable_culprits()) {
    const auto host = hosts_.find(culprit.host());
    if (host != hosts_.end()) Name(host->second, job, culprit);
  }
}

void GpuDirectory::Name(const Host& host, const std::string& job, wire::Culprit& culprit) {
  if (culprit.rank() >= 0) {
    const auto seat = host.seats.find({job, culprit.rank()});
    if (seat != host.seats.end()) Fill(seat->second.gpu, seat->second.names, culprit);
    return;
  }
  const auto gpu = std::find_if(host.gpus.begin(), host.gpus.end(), [&culprit](const auto& known) {
    const bool is_device = !culprit.device().empty() && culprit.device() == known.second.pci_address;
    return is_device || known.first == culprit.gpu();
  });
  if (gpu != host.gpus.end()) Fill(gpu->first, gpu->second, culprit);
  const auto is_on_it = [&](const auto& seat) { return seat.first.first == job && seat.second.gpu == culprit.gpu(); };
  if (culprit.gpu() < 0 || std::count_if(host.seats.begin(), host.seats.end(), is_on_it) != 1) return;
  const auto seat = std::find_if(host.seats.begin(), host.seats.end(), is_on_it);
  culprit.set_rank(seat->first.second);
  if (gpu == host.gpus.end()) Fill(seat->second.gpu, seat->second.names, culprit);
}

uint64_t GpuDirectory::TakeRefused() {
  MutexLock lock(mutex_);
  return std::exchange(refused_, 0);
}

}  // namespace lockstep
