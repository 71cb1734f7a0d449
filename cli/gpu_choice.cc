#include "cli/gpu_choice.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/pci_address.h"
#include "base/status_macros.h"
#include "cli/left_out_note.h"
#include "detector/model/gpu_device.h"

namespace lockstep {
namespace {

GpuSpan SpanOf(const wire::Gpu& gpu) {
  GpuSpan span = {gpu.host(), gpu.index(), gpu.from_wall_ns()};
  if (gpu.to_wall_ns() != 0) span.to_wall_ns = gpu.to_wall_ns();
  return span;
}

bool Meet(const GpuSpan& a, const GpuSpan& b) {
  return (a.host.empty() || b.host.empty() || a.host == b.host) && a.index == b.index &&
         a.from_wall_ns < b.to_wall_ns && b.from_wall_ns < a.to_wall_ns;
}

// "gpu3" or "3"; nullopt = another kind of name.
std::optional<int32_t> IndexIn(absl::string_view gpu) {
  int32_t index = -1;
  absl::ConsumePrefix(&gpu, "gpu");
  if (!absl::SimpleAtoi(gpu, &index) || index < 0) return std::nullopt;
  return index;
}

// As the collector writes it: nvidia-smi shows PCI addresses with eight digits in front, in capitals.
std::string WireName(const std::string& gpu) {
  std::string address = NormalizePciAddress(gpu);
  return address.empty() ? gpu : address;
}

absl::StatusOr<std::vector<wire::Gpu>> ListGpus(const std::set<std::string>& hosts, const std::string& gpu,
                                                CommandContext& context) {
  wire::ListGpusRequest request;
  for (const std::string& host : hosts) request.add_hosts(host);
  request.set_gpu(gpu);
  ASSIGN_OR_RETURN(wire::ListGpusResponse response, context.collector.ListGpus(request));
  PrintLeftOutNote(response.left_out(), "GPUs", context.err);
  return std::vector<wire::Gpu>(std::make_move_iterator(response.mutable_gpus()->begin()),
                                std::make_move_iterator(response.mutable_gpus()->end()));
}

absl::StatusOr<std::vector<GpuSpan>> FindGpu(const SeriesQuery& query, CommandContext& context) {
  if (const std::optional<int32_t> index = IndexIn(*query.gpu)) {
    return std::vector<GpuSpan>{{query.ExactValue("host").value_or(""), *index}};
  }
  std::set<std::string> hosts;
  if (const std::optional<std::string> host = query.ExactValue("host")) hosts.insert(*host);
  ASSIGN_OR_RETURN(const std::vector<wire::Gpu> gpus, ListGpus(hosts, WireName(*query.gpu), context));
  if (gpus.empty()) return absl::NotFoundError(absl::StrCat("the collector knows no GPU \"", *query.gpu, "\""));
  std::vector<GpuSpan> spans;
  for (const wire::Gpu& gpu : gpus) spans.push_back(SpanOf(gpu));
  return spans;
}

// A rank's GPU is that of its UUID, also while this had another index. Of an instance, and of a GPU without a UUID, it
// is what has the index.
absl::StatusOr<std::vector<GpuSpan>> FindGpusOfRanks(const SeriesQuery& query, CommandContext& context) {
  wire::ListRanksRequest request;
  request.set_job(*query.job);
  ASSIGN_OR_RETURN(const wire::ListRanksResponse ranks, context.collector.ListRanks(request));
  PrintLeftOutNote(ranks.left_out(), "ranks", context.err);
  std::vector<wire::Rank> wanted;
  std::set<std::string> hosts;
  for (const wire::Rank& rank : ranks.ranks()) {
    if (rank.gpu() < 0 || (query.rank.has_value() && rank.rank() != *query.rank)) continue;
    wanted.push_back(rank);
    hosts.insert(rank.host());
  }
  if (wanted.empty()) {
    return absl::NotFoundError(
        query.rank.has_value()
            ? absl::StrCat("the collector knows no GPU of rank ", *query.rank, " of job \"", *query.job, "\"")
            : absl::StrCat("the collector knows no GPU of job \"", *query.job, "\""));
  }
  ASSIGN_OR_RETURN(const std::vector<wire::Gpu> gpus, ListGpus(hosts, "", context));
  std::vector<GpuSpan> spans;
  for (const wire::Rank& rank : wanted) {
    const size_t before = spans.size();
    for (const wire::Gpu& gpu : gpus) {
      const bool is_it = gpu.host() == rank.host() && !gpu.uuid().empty() && gpu.uuid() == rank.gpu_uuid();
      if (is_it) spans.push_back(SpanOf(gpu));
    }
    if (spans.size() == before) spans.push_back({rank.host(), rank.gpu()});
  }
  return spans;
}

}  // namespace

int32_t GpuIndexOf(absl::string_view device) { return GpuOfDevice(device.substr(0, device.find('/'))); }

absl::StatusOr<std::vector<GpuSpan>> ChooseGpus(const SeriesQuery& query, CommandContext& context) {
  if (query.gpu.has_value()) return FindGpu(query, context);
  if (query.job.has_value()) return FindGpusOfRanks(query, context);
  return std::vector<GpuSpan>();
}

void KeepChosen(const std::vector<GpuSpan>& spans, wire::Series& series) {
  const int32_t index = GpuIndexOf(series.device());
  wire::Series kept;
  for (int i = 0; i < series.values_size(); ++i) {
    const GpuSpan point = {series.host(), index, series.wall_ns(i), series.wall_ns(i) + 1};
    if (std::none_of(spans.begin(), spans.end(), [&](const GpuSpan& span) { return Meet(span, point); })) continue;
    kept.add_wall_ns(series.wall_ns(i));
    kept.add_values(series.values(i));
  }
  series.mutable_wall_ns()->Swap(kept.mutable_wall_ns());
  series.mutable_values()->Swap(kept.mutable_values());
}

absl::StatusOr<std::vector<wire::Gpu>> NamesOfGpus(const std::vector<wire::Series>& series,
                                                   const std::vector<GpuSpan>& spans, int64_t from_wall_ns,
                                                   int64_t to_wall_ns, CommandContext& context) {
  std::set<std::string> hosts;
  std::set<std::pair<std::string, int32_t>> indices;
  for (const wire::Series& one : series) {
    const int32_t index = GpuIndexOf(one.device());
    if (index < 0) continue;
    hosts.insert(one.host());
    indices.emplace(one.host(), index);
  }
  if (hosts.empty()) return std::vector<wire::Gpu>();
  ASSIGN_OR_RETURN(std::vector<wire::Gpu> gpus, ListGpus(hosts, "", context));
  gpus.erase(std::remove_if(gpus.begin(), gpus.end(),
                            [&](const wire::Gpu& gpu) {
                              const GpuSpan had = SpanOf(gpu);
                              const GpuSpan asked = {gpu.host(), gpu.index(), from_wall_ns, to_wall_ns};
                              const bool is_chosen =
                                  spans.empty() || std::any_of(spans.begin(), spans.end(),
                                                               [&](const GpuSpan& span) { return Meet(span, had); });
                              return !is_chosen || !Meet(had, asked) || !indices.contains({gpu.host(), gpu.index()});
                            }),
             gpus.end());
  return gpus;
}

}  // namespace lockstep
