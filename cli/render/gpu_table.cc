#include "cli/render/gpu_table.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/render/quantity_text.h"

namespace lockstep {
namespace {

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

std::string RanksText(const wire::Gpu& gpu) {
  return OrDash(absl::StrJoin(gpu.ranks(), ", ", [](std::string* text, const wire::GpuRank& rank) {
    absl::StrAppend(text, rank.rank(), " of ", rank.job());
  }));
}

std::string NameText(const wire::Gpu& gpu) {
  if (gpu.uuid().empty()) return gpu.pci_address().empty() ? "another" : gpu.pci_address();
  return gpu.pci_address().empty() ? gpu.uuid() : absl::StrCat(gpu.uuid(), " (", gpu.pci_address(), ")");
}

}  // namespace

TextTable GpuTable(const std::vector<wire::Gpu>& gpus) {
  const bool has_times = std::any_of(
      gpus.begin(), gpus.end(), [](const wire::Gpu& gpu) { return gpu.from_wall_ns() != 0 || gpu.to_wall_ns() != 0; });
  std::vector<TextTable::Column> columns = {{"HOST"}, {"GPU"}, {"UUID"}, {"PCI ADDRESS"}};
  if (has_times) columns.insert(columns.end(), {{"FROM"}, {"UNTIL"}});
  columns.push_back({"RANKS"});
  TextTable table(columns);
  for (const wire::Gpu& gpu : gpus) {
    std::vector<std::string> row = {gpu.host(), absl::StrCat("gpu", gpu.index()), OrDash(gpu.uuid()),
                                    OrDash(gpu.pci_address())};
    if (has_times) row.insert(row.end(), {WallText(gpu.from_wall_ns()), WallText(gpu.to_wall_ns())});
    row.push_back(RanksText(gpu));
    table.AddRow(row);
  }
  return table;
}

std::string GpuChangesText(const std::vector<wire::Gpu>& gpus) {
  std::string text;
  for (size_t i = 1; i < gpus.size(); ++i) {
    const wire::Gpu& before = gpus[i - 1];
    const wire::Gpu& gpu = gpus[i];
    if (before.host() != gpu.host() || before.index() != gpu.index()) continue;
    absl::StrAppend(&text, "gpu", gpu.index(), " of ", Printable(gpu.host()), " has been another GPU since ",
                    WallText(gpu.from_wall_ns()), ": what is older is of ", Printable(NameText(before)), "\n");
  }
  return text;
}

}  // namespace lockstep
