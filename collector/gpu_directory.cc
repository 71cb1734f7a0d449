#include "collector/gpu_directory.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace lockstep {
namespace {

bool IsOdd(const std::string& name) { return name.size() > GpuDirectory::kMaxNameBytes; }

template <typename Names>
void Fill(int32_t gpu, const Names& names, wire::Culprit& culprit) {
  if (gpu >= 0) culprit.set_gpu(gpu);
  culprit.set_gpu_uuid(names.uuid);
  culprit.set_gpu_pci_address(names.pci_address);
}

template <typename Tenure>
wire::Gpu ToWire(int32_t index, const Tenure& tenure) {
  wire::Gpu gpu;
  gpu.set_index(index);
  gpu.set_uuid(tenure.names.uuid);
  gpu.set_pci_address(tenure.names.pci_address);
  gpu.set_from_wall_ns(tenure.from_wall_ns);
  gpu.set_to_wall_ns(tenure.to_wall_ns);
  return gpu;
}

template <typename Tenure>
size_t BytesOf(int32_t index, const Tenure& tenure) {
  return ToWire(index, tenure).ByteSizeLong();
}

}  // namespace

void GpuDirectory::Observe(const std::string& host, const wire::AgentReport& report, int64_t now_ns,
                           int64_t made_wall_ns) {
  if (report.gpus().empty() && report.processes().empty()) return;
  MutexLock lock(mutex_);
  if (hosts_.size() >= kMaxHosts && hosts_.count(host) == 0) {
    ++refused_;
    return;
  }
  Host& known = hosts_[host];
  ListGpus(report, made_wall_ns, known);
  TakeSeats(report, now_ns, known);
  Sweep(now_ns, known);
}

void GpuDirectory::ListGpus(const wire::AgentReport& report, int64_t made_wall_ns, Host& host) {
  if (report.gpus().empty()) return;
  std::map<int32_t, Tenure> listed;
  for (const wire::GpuIdentity& gpu : report.gpus()) {
    if (listed.size() == kMaxGpusPerHost || gpu.index() < 0 || IsOdd(gpu.uuid()) || IsOdd(gpu.pci_address())) {
      ++refused_;
      continue;
    }
    listed[gpu.index()] = Begin(gpu.index(), {gpu.uuid(), gpu.pci_address()}, made_wall_ns, host);
  }
  for (const auto& [index, before] : host.gpus) {
    const auto now = listed.find(index);
    if (now == listed.end() || !IsSame(now->second.names, before.names)) Retire(index, before, made_wall_ns, host);
  }
  if (host.gpus == listed) return;
  const std::map<int32_t, Tenure> before = std::exchange(host.gpus, std::move(listed));
  MakeFit(host);
  // The same list comes with every report: what does not fit is no change each time.
  host.is_changed = host.is_changed || host.gpus != before;
}

void GpuDirectory::MakeFit(Host& host) {
  bytes_ -= std::exchange(host.bytes, 0);
  for (const auto& [index, tenure] : Tenures(host)) host.bytes += BytesOf(index, tenure);
  for (; bytes_ + host.bytes > max_bytes_ && !host.former.empty(); ++refused_) {
    host.bytes -= BytesOf(host.former.front().first, host.former.front().second);
    host.former.erase(host.former.begin());
  }
  for (; bytes_ + host.bytes > max_bytes_ && !host.gpus.empty(); ++refused_) {
    const auto last = std::prev(host.gpus.end());
    host.bytes -= BytesOf(last->first, last->second);
    host.gpus.erase(last);
  }
  bytes_ += host.bytes;
}

// A GPU that does not tell its UUID, such as one that is lost, is the one in its slot.
bool GpuDirectory::IsSame(const Names& a, const Names& b) {
  if (!a.uuid.empty() && !b.uuid.empty()) return a.uuid == b.uuid;
  return a.pci_address.empty() || b.pci_address.empty() || a.pci_address == b.pci_address;
}

// A GPU that is back after nothing had its index had it all the time.
GpuDirectory::Tenure GpuDirectory::Begin(int32_t index, const Names& names, int64_t made_wall_ns, Host& host) {
  const auto before = host.gpus.find(index);
  const auto last = std::find_if(host.former.rbegin(), host.former.rend(),
                                 [index](const auto& former) { return former.first == index; });
  Tenure tenure = {names, host.gpus.empty() && host.former.empty() ? 0 : made_wall_ns};
  if (before != host.gpus.end()) {
    if (!IsSame(before->second.names, names)) return tenure;
    tenure = before->second;
  } else if (last != host.former.rend() && IsSame(last->second.names, names)) {
    tenure = {last->second.names, last->second.from_wall_ns};
    host.former.erase(std::next(last).base());
  }
  if (!names.uuid.empty()) tenure.names.uuid = names.uuid;
  if (!names.pci_address.empty()) tenure.names.pci_address = names.pci_address;
  return tenure;
}

void GpuDirectory::Retire(int32_t index, const Tenure& tenure, int64_t to_wall_ns, Host& host) {
  if (host.former.size() == kMaxFormerPerHost) {
    host.former.erase(host.former.begin());
    ++refused_;
  }
  host.former.emplace_back(index, tenure).second.to_wall_ns = to_wall_ns;
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
    const bool is_device = !culprit.device().empty() && culprit.device() == known.second.names.pci_address;
    return is_device || known.first == culprit.gpu();
  });
  if (gpu != host.gpus.end()) Fill(gpu->first, gpu->second.names, culprit);
  const auto is_on_it = [&](const auto& seat) { return seat.first.first == job && seat.second.gpu == culprit.gpu(); };
  if (culprit.gpu() < 0 || std::count_if(host.seats.begin(), host.seats.end(), is_on_it) != 1) return;
  const auto seat = std::find_if(host.seats.begin(), host.seats.end(), is_on_it);
  culprit.set_rank(seat->first.second);
  if (gpu == host.gpus.end()) Fill(seat->second.gpu, seat->second.names, culprit);
}

void GpuDirectory::ForEach(const wire::ListGpusRequest& request,
                           const std::function<void(const wire::Gpu&)>& visit) const {
  std::set<std::string> names(request.hosts().begin(), request.hosts().end());
  if (names.empty()) {
    MutexLock lock(mutex_);
    for (const auto& [name, host] : hosts_) names.insert(names.end(), name);
  }
  for (const std::string& name : names) {
    Host host;
    {
      MutexLock lock(mutex_);
      const auto known = hosts_.find(name);
      if (known == hosts_.end()) continue;
      host = known->second;
    }
    Visit(name, host, request.gpu(), visit);
  }
}

std::vector<std::pair<int32_t, GpuDirectory::Tenure>> GpuDirectory::Tenures(const Host& host) {
  std::vector<std::pair<int32_t, Tenure>> tenures = host.former;
  tenures.insert(tenures.end(), host.gpus.begin(), host.gpus.end());
  std::stable_sort(tenures.begin(), tenures.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return tenures;
}

void GpuDirectory::Visit(const std::string& name, const Host& host, const std::string& gpu,
                         const std::function<void(const wire::Gpu&)>& visit) {
  for (const auto& [index, tenure] : Tenures(host)) {
    bool is_wanted = gpu.empty() || gpu == tenure.names.uuid || gpu == tenure.names.pci_address;
    wire::Gpu answer = ToWire(index, tenure);
    answer.set_host(name);
    for (const auto& [who, seat] : host.seats) {
      if (tenure.to_wall_ns != 0 || seat.gpu != index) continue;
      wire::GpuRank& rank = *answer.add_ranks();
      rank.set_job(who.first);
      rank.set_rank(who.second);
      is_wanted |= gpu == seat.names.uuid;  // of an instance
    }
    if (is_wanted) visit(answer);
  }
}

void GpuDirectory::Restore(const std::vector<wire::HostGpus>& hosts) {
  MutexLock lock(mutex_);
  for (const wire::HostGpus& stored : hosts) {
    if (hosts_.size() >= kMaxHosts) {
      ++refused_;
      continue;
    }
    Host& host = hosts_[stored.host()];
    for (const wire::Gpu& gpu : stored.gpus()) {
      const Tenure tenure = {{gpu.uuid(), gpu.pci_address()}, gpu.from_wall_ns(), gpu.to_wall_ns()};
      if (gpu.to_wall_ns() == 0) {
        host.gpus[gpu.index()] = tenure;
      } else {
        host.former.emplace_back(gpu.index(), tenure);
      }
    }
    std::stable_sort(host.former.begin(), host.former.end(),
                     [](const auto& a, const auto& b) { return a.second.to_wall_ns < b.second.to_wall_ns; });
    MakeFit(host);
  }
}

std::vector<wire::HostGpus> GpuDirectory::TakeChanged() {
  std::vector<wire::HostGpus> changed;
  MutexLock lock(mutex_);
  for (auto& [name, host] : hosts_) {
    if (!std::exchange(host.is_changed, false)) continue;
    wire::HostGpus& stored = changed.emplace_back();
    stored.set_host(name);
    for (const auto& [index, tenure] : Tenures(host)) *stored.add_gpus() = ToWire(index, tenure);
  }
  return changed;
}

void GpuDirectory::NotStored(const std::vector<wire::HostGpus>& hosts) {
  MutexLock lock(mutex_);
  for (const wire::HostGpus& stored : hosts) {
    const auto host = hosts_.find(stored.host());
    if (host != hosts_.end()) host->second.is_changed = true;
  }
}

void GpuDirectory::Forget(const std::string& host) {
  MutexLock lock(mutex_);
  const auto known = hosts_.find(host);
  if (known == hosts_.end()) return;
  bytes_ -= known->second.bytes;
  hosts_.erase(known);
}

uint64_t GpuDirectory::TakeRefused() {
  MutexLock lock(mutex_);
  return std::exchange(refused_, 0);
}

}  // namespace lockstep
