#include "agent/source_table.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/rooted_fs.h"
#include "agent/sources/dcgm/dcgm_source.h"
#include "agent/sources/host/host_source.h"
#include "agent/sources/infiniband/infiniband_source.h"
#include "agent/sources/kernel_log/kernel_log_source.h"
#include "agent/sources/kernel_log/log_position.h"
#include "agent/sources/net/net_source.h"
#include "agent/sources/nvml/nvml_source.h"
#include "agent/sources/ras/ras_conversation.h"
#include "agent/sources/ras/ras_source.h"
#include "base/random.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

// Stands in the table also where it is switched off, so that status tells.
class SwitchedOffSource final : public Source {
 public:
  SwitchedOffSource(absl::string_view name, absl::string_view why) : name_(name), why_(why) {}

  absl::string_view name() const override { return name_; }
  // Switched off after it worked, it has not failed.
  bool comes_and_goes() const override { return true; }
  absl::Status Collect(const Tick&, wire::AgentReport&) override {
    return NoData(absl::StrCat("switched off: ", why_));
  }

 private:
  // Literals.
  const absl::string_view name_;
  const absl::string_view why_;
};

absl::StatusOr<std::unique_ptr<Source>> MakeHost(const SourceOptions& options) {
  ASSIGN_OR_RETURN(RootedFs fs, RootedFs::Open(options.root));
  return std::make_unique<HostSource>(std::move(fs));
}

absl::StatusOr<std::unique_ptr<Source>> MakeKernelLog(const SourceOptions& options) {
  if (!options.kernel_log) return std::make_unique<SwitchedOffSource>("kernel_log", "kernel_log is false");
  ASSIGN_OR_RETURN(RootedFs fs, RootedFs::Open(options.root));
  std::string boot_id = ReadBootId(fs);
  return std::make_unique<KernelLogSource>(MakeKmsgDevice(std::move(fs)), std::move(boot_id), options.kernel_xids);
}

absl::StatusOr<std::unique_ptr<Source>> MakeNet(const SourceOptions& options) {
  ASSIGN_OR_RETURN(RootedFs fs, RootedFs::Open(options.root));
  return std::make_unique<NetSource>(std::move(fs), MakeEthtoolStatistics());
}

absl::StatusOr<std::unique_ptr<Source>> MakeInfiniband(const SourceOptions& options) {
  ASSIGN_OR_RETURN(RootedFs fs, RootedFs::Open(options.root));
  return std::make_unique<InfinibandSource>(std::move(fs));
}

absl::StatusOr<std::unique_ptr<Source>> MakeNvml(const SourceOptions& options) {
  return std::make_unique<NvmlSource>(options.nvml_library, options.gpu_names, options.kernel_xids);
}

absl::StatusOr<std::unique_ptr<Source>> MakeNcclRas(const SourceOptions& options) {
  if (options.nccl_ras_address.empty()) return std::make_unique<SwitchedOffSource>("nccl_ras", "no address");
  ASSIGN_OR_RETURN(RasAddress address, ParseRasAddress(options.nccl_ras_address));
  return std::make_unique<RasSource>(std::move(address), Random(SeedFromSystem()), InterfaceAddresses);
}

absl::StatusOr<std::unique_ptr<Source>> MakeDcgmExporter(const SourceOptions& options) {
  if (options.dcgm_exporter_url.empty()) return std::make_unique<SwitchedOffSource>("dcgm_exporter", "no address");
  return std::make_unique<DcgmSource>(options.dcgm_exporter_url, options.gpu_names);
}

constexpr SourceRow kRows[] = {
    {"kernel_log", /*may_hang=*/false, MakeKernelLog},
    {"host", /*may_hang=*/true, MakeHost},
    {"net", /*may_hang=*/true, MakeNet},
    {"infiniband", /*may_hang=*/true, MakeInfiniband},
    {"nccl_ras", /*may_hang=*/false, MakeNcclRas},
    {"nvml", /*may_hang=*/true, MakeNvml},
    {"dcgm_exporter", /*may_hang=*/true, MakeDcgmExporter},
};

}  // namespace

absl::Span<const SourceRow> SourceTable() { return kRows; }

}  // namespace lockstep
