#include "formats/kineto_event.h"

#include <simdjson.h>
#include <string.h>

#include <algorithm>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "formats/kineto_value.h"
#include "formats/operation_names.h"
#include "formats/process_group.h"

namespace lockstep {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

bool Contains(absl::string_view text, absl::string_view word) {
  return memmem(text.data(), text.size(), word.data(), word.size()) != nullptr;
}

std::string_view Text(const object& from, std::string_view key) {
  std::string_view text;
  return from[key].get(text) == simdjson::SUCCESS ? text : std::string_view();
}

int64_t Integer(const object& from, std::string_view key, int64_t otherwise) {
  element value;
  return from[key].get(value) == simdjson::SUCCESS ? KinetoInteger(value, otherwise) : otherwise;
}

bool Micros(const object& from, std::string_view key, int64_t& nanos) {
  element value;
  return from[key].get(value) == simdjson::SUCCESS && KinetoMicros(value, nanos);
}

struct KernelWord {
  absl::string_view word;
  OperationKind kind;
};

// In the names of NCCL's kernels; what comes first wins. SendRecv may be anything that is made of it.
constexpr KernelWord kKernelWords[] = {
    {"AllReduce", OperationKind::kAllReduce},
    {"AllGather", OperationKind::kAllGather},
    {"ReduceScatter", OperationKind::kReduceScatter},
    {"Broadcast", OperationKind::kBroadcast},
    {"Reduce", OperationKind::kReduce},
};

OperationKind KindOfKernel(absl::string_view name) {
  for (const KernelWord& known : kKernelWords) {
    if (absl::StrContains(name, known.word)) return known.kind;
  }
  return OperationKind::kUnknown;
}

void FillRanks(const object& arguments, KinetoEvent& event) {
  element ranks;
  if (arguments["Process Group Ranks"].get(ranks) != simdjson::SUCCESS) return;
  std::string_view text;
  simdjson::dom::array list;
  if (ranks.get(text) == simdjson::SUCCESS) {
    event.rank_list = std::string(text);
    event.ranks = ParseRankList(event.rank_list);
  } else if (ranks.get(list) == simdjson::SUCCESS) {
    for (const element item : list) {
      int64_t rank = -1;
      if (item.get(rank) != simdjson::SUCCESS || rank < 0 || event.ranks.size() == kMaxGroupRanks ||
          rank >= static_cast<int64_t>(kMaxGroupRanks)) {
        event.ranks.clear();
        break;
      }
      event.ranks.push_back(static_cast<int32_t>(rank));
    }
    event.rank_list = absl::StrJoin(event.ranks, ",");
  }
}

void FillKernel(std::string_view name, const object& arguments, KinetoEvent& event) {
  const std::string_view collective = Text(arguments, "Collective name");
  event.kind = OperationKindOf({collective.data(), collective.size()});
  if (event.kind == OperationKind::kUnknown) event.kind = KindOfKernel({name.data(), name.size()});
  event.device = static_cast<int32_t>(std::clamp<int64_t>(Integer(arguments, "device", -1), -1, 1 << 16));
  event.stream = Integer(arguments, "stream", -1);
  event.sequence = Integer(arguments, "Seq", -1);
  event.group_size = Integer(arguments, "Group size", -1);
  event.group = std::string(Text(arguments, "Process Group Name"));
  event.description = std::string(Text(arguments, "Process Group Description"));
  FillRanks(arguments, event);
  if (event.ranks.empty()) {
    event.ranks = StridedRanks(Integer(arguments, "Global rank start", -1),
                               Integer(arguments, "Global rank stride", -1), event.group_size);
  }
  if (event.kind == OperationKind::kSend) event.other_side = Integer(arguments, "Dst Rank", -1);
  if (event.kind == OperationKind::kRecv) event.other_side = Integer(arguments, "Src Rank", -1);
  const std::string_view type = Text(arguments, "dtype");
  const int64_t elements = Integer(arguments, "In msg nelems", 0);
  constexpr int64_t kMostElements = int64_t{1} << 50;
  if (elements > 0 && elements < kMostElements) {
    event.bytes = static_cast<uint64_t>(elements) * ElementBytesOf({type.data(), type.size()});
  }
}

}  // namespace

struct KinetoEventParser::Implementation {
  simdjson::dom::parser parser;
};

KinetoEventParser::KinetoEventParser() : implementation_(std::make_unique<Implementation>()) {}
KinetoEventParser::~KinetoEventParser() = default;

KinetoEvent KinetoEventParser::Parse(absl::string_view text) {
  KinetoEvent event;
  const bool maybe_kernel = Contains(text, "nccl");
  if (!maybe_kernel && !Contains(text, "aunchKernel") && !Contains(text, "GraphLaunch")) return event;
  object members;
  const simdjson::error_code parsed =
      implementation_->parser.parse(text.data(), text.size(), /*realloc_if_needed=*/false).get(members);
  if (parsed != simdjson::SUCCESS) {
    event.type = KinetoEvent::Type::kBroken;
    return event;
  }
  const std::string_view category = Text(members, "cat");
  const std::string_view name = Text(members, "name");
  const bool kernel =
      (category == "kernel" || category == "Kernel") && absl::StartsWith({name.data(), name.size()}, "nccl");
  const bool launch = category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime";
  if (!kernel && !launch) return event;
  object arguments;
  int64_t duration_ns = 0;
  if (!Micros(members, "ts", event.start_ns) || !Micros(members, "dur", duration_ns) || duration_ns < 0 ||
      members["args"].get(arguments) != simdjson::SUCCESS) {
    event.type = KinetoEvent::Type::kBroken;
    return event;
  }
  event.type = kernel ? KinetoEvent::Type::kNcclKernel : KinetoEvent::Type::kLaunch;
  event.end_ns = event.start_ns + duration_ns;
  event.correlation = Integer(arguments, "correlation", -1);
  if (kernel) FillKernel(name, arguments, event);
  return event;
}

}  // namespace lockstep
