#include "formats/kineto_call.h"

#include <simdjson.h>
#include <string.h>

#include <algorithm>
#include <string_view>

#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "detector/patterns/function_group.h"
#include "formats/kineto_value.h"
#include "formats/operation_names.h"

namespace lockstep {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

constexpr absl::string_view kStepPrefix = "ProfilerStep#";
constexpr double kSecondsPerNano = 1e-9;
constexpr double kBytesPerGigabyte = 1e9;
constexpr double kMostElements = 1e15;

struct Category {
  absl::string_view name;
  FunctionKind kind;
};

// What is not here (flows, ranges of the GPU, overhead of the profiler) says nothing that these do not say.
constexpr Category kCategories[] = {
    {"cpu_op", FunctionKind::kOperator},
    {"kernel", FunctionKind::kGpuCompute},
    {"cuda_runtime", FunctionKind::kRuntime},
    {"python_function", FunctionKind::kPython},
    {"gpu_memcpy", FunctionKind::kGpuCopy},
    {"gpu_memset", FunctionKind::kGpuCopy},
    {"user_annotation", FunctionKind::kAnnotation},
    {"cuda_driver", FunctionKind::kRuntime},
    {"hip_runtime", FunctionKind::kRuntime},
    {"privateuse1_runtime", FunctionKind::kRuntime},
    {"Operator", FunctionKind::kOperator},
    {"Kernel", FunctionKind::kGpuCompute},
    {"Runtime", FunctionKind::kRuntime},
    {"Memcpy", FunctionKind::kGpuCopy},
    {"Memset", FunctionKind::kGpuCopy},
};

const Category* FindCategory(absl::string_view name) {
  const auto* const found = std::find_if(std::begin(kCategories), std::end(kCategories),
                                         [&](const Category& category) { return category.name == name; });
  return found == std::end(kCategories) ? nullptr : found;
}

uint64_t NumberOf(const element& value) {
  int64_t integer = 0;
  if (value.get(integer) == simdjson::SUCCESS) return static_cast<uint64_t>(integer);
  return absl::HashOf(KinetoText(value));
}

// What the arguments of an event say about utilisation.
struct Counters {
  double occupancy = 0;  // percent
  double gigabytes_per_second = 0;
  double elements = 0;
  absl::string_view element_type;
};

struct Argument {
  absl::string_view key;
  void (*take)(const element& value, Counters& counters);
};

constexpr Argument kArguments[] = {
    {"est. achieved occupancy %",
     [](const element& value, Counters& counters) { counters.occupancy = KinetoReal(value); }},
    {"memory bandwidth (GB/s)",
     [](const element& value, Counters& counters) { counters.gigabytes_per_second = KinetoReal(value); }},
    {"In msg nelems", [](const element& value, Counters& counters) { counters.elements = KinetoReal(value); }},
    {"dtype", [](const element& value, Counters& counters) { counters.element_type = KinetoText(value); }},
};

bool IsOnGpu(FunctionKind kind) { return !IsOfHost(kind); }

void FillUtilisation(const object& arguments, KinetoCall& call) {
  Counters counters;
  for (const simdjson::dom::key_value_pair member : arguments) {
    for (const Argument& argument : kArguments) {
      if (member.key == std::string_view(argument.key.data(), argument.key.size()))
        argument.take(member.value, counters);
    }
  }
  switch (call.kind) {
    case FunctionKind::kGpuCompute:
      call.counts = Utilisation::kOccupancy;
      call.utilisation = std::clamp(counters.occupancy / 100, 0.0, 1.0);
      return;
    case FunctionKind::kGpuCopy:
      call.counts = Utilisation::kCopyBandwidth;
      call.utilisation = std::max(0.0, counters.gigabytes_per_second * kBytesPerGigabyte);
      return;
    case FunctionKind::kCollective:
      call.counts = Utilisation::kMessageBandwidth;
      if (call.duration_ns <= 0 || !(counters.elements > 0 && counters.elements < kMostElements)) return;
      call.utilisation = counters.elements * static_cast<double>(ElementBytesOf(counters.element_type)) /
                         (static_cast<double>(call.duration_ns) * kSecondsPerNano);
      return;
    default:
      return;
  }
}

// The profiler of PyTorch without Kineto has no categories, only these processes.
const Category* CategoryOfProcess(absl::string_view process) {
  static constexpr Category kHost{"", FunctionKind::kOperator};
  static constexpr Category kGpu{"", FunctionKind::kGpuCompute};
  if (process == "CPU functions") return &kHost;
  return process == "CUDA functions" ? &kGpu : nullptr;
}

}  // namespace

struct KinetoCallParser::Implementation {
  simdjson::dom::parser parser;
};

KinetoCallParser::KinetoCallParser() : implementation_(std::make_unique<Implementation>()) {}
KinetoCallParser::~KinetoCallParser() = default;

KinetoCall KinetoCallParser::Parse(absl::string_view text) {
  KinetoCall call;
  constexpr absl::string_view kDuration = "\"dur\"";
  if (text.size() > kMaxKinetoCallBytes) {
    call.type = KinetoCall::Type::kBroken;
    return call;
  }
  if (memmem(text.data(), text.size(), kDuration.data(), kDuration.size()) == nullptr) return call;
  call.type = KinetoCall::Type::kBroken;
  object members;
  if (implementation_->parser.parse(text.data(), text.size(), /*realloc_if_needed=*/false).get(members) !=
      simdjson::SUCCESS) {
    return call;
  }
  const Category* category = nullptr;
  bool has_category = false;
  bool has_begin = false;
  bool has_duration = false;
  uint64_t process = 0;
  uint64_t thread = 0;
  absl::string_view process_name;
  object arguments;
  bool has_arguments = false;
  for (const simdjson::dom::key_value_pair member : members) {
    if (member.key == "cat") {
      has_category = true;
      category = FindCategory(KinetoText(member.value));
      if (category == nullptr) {
        call.type = KinetoCall::Type::kOther;
        return call;
      }
    } else if (member.key == "name") {
      call.name = KinetoText(member.value);
    } else if (member.key == "ts") {
      has_begin = KinetoMicros(member.value, call.begin_ns);
    } else if (member.key == "dur") {
      has_duration = KinetoMicros(member.value, call.duration_ns) && call.duration_ns >= 0;
    } else if (member.key == "pid") {
      process = NumberOf(member.value);
      process_name = KinetoText(member.value);
    } else if (member.key == "tid") {
      thread = NumberOf(member.value);
    } else if (member.key == "args") {
      has_arguments = member.value.get(arguments) == simdjson::SUCCESS;
    }
  }
  if (!has_category) category = CategoryOfProcess(process_name);
  if (category == nullptr) call.type = KinetoCall::Type::kOther;
  if (category == nullptr || !has_begin || !has_duration) return call;
  call.kind = category->kind;
  call.lane = absl::HashOf(process, thread);
  if (call.kind == FunctionKind::kGpuCompute && IsCollectiveKernel(call.name)) call.kind = FunctionKind::kCollective;
  call.type = IsOfHost(call.kind) && absl::StartsWith(call.name, kStepPrefix) ? KinetoCall::Type::kStep
                                                                              : KinetoCall::Type::kCall;
  if (IsOnGpu(call.kind) && has_arguments) FillUtilisation(arguments, call);
  return call;
}

}  // namespace lockstep
