#include "detector/patterns/function_group.h"

#include <cstddef>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/types/span.h"

namespace lockstep {
namespace {

constexpr const char* kClassNames[] = {
    "data loading",    "garbage collection",      "kernel launch and synchronisation",
    "memory copies",   "a slow kernel",           "communication that is waited for",
    "recompilation",   "allocation and swapping", "contention on the host",
    "work on the host"};
static_assert(std::size(kClassNames) == static_cast<size_t>(PatternClass::kHostWork) + 1);

constexpr GroupTraits kTraits[] = {
    {"matrix products", PatternClass::kSlowKernel, false, false},
    {"convolutions", PatternClass::kSlowKernel, false, false},
    {"attention", PatternClass::kSlowKernel, false, false},
    {"normalisation", PatternClass::kSlowKernel, false, false},
    {"elementwise kernels", PatternClass::kSlowKernel, false, false},
    {"embedding", PatternClass::kSlowKernel, false, false},
    {"optimizer kernels", PatternClass::kSlowKernel, false, false},
    {"other kernels", PatternClass::kSlowKernel, false, false},
    {"copies between host and GPU", PatternClass::kMemoryCopies, true, false},
    {"copies on the GPU", PatternClass::kMemoryCopies, true, false},
    {"collectives", PatternClass::kCommunicationWait, false, false},
    {"barriers", PatternClass::kKernelLaunch, false, false},
    {"launches", PatternClass::kKernelLaunch, true, false},
    {"synchronisation", PatternClass::kKernelLaunch, true, false},
    {"allocation", PatternClass::kSwapping, true, false},
    {"data loading", PatternClass::kDataLoading, true, true},
    {"garbage collection", PatternClass::kGarbageCollection, true, true},
    {"compilation", PatternClass::kRecompilation, true, true},
    {"checkpointing", PatternClass::kHostWork, true, true},
    {"other work of the host", PatternClass::kHostWork, true, false},
};
static_assert(std::size(kTraits) == kFunctionGroups);

struct Word {
  absl::string_view word;  // in lower case, anywhere in the name
  FunctionGroup group;
};

// The first row that fits decides.
constexpr Word kKernelWords[] = {
    {"multi_tensor", FunctionGroup::kOptimizerKernel},
    {"adam", FunctionGroup::kOptimizerKernel},
    {"sgd", FunctionGroup::kOptimizerKernel},
    {"lamb_", FunctionGroup::kOptimizerKernel},
    {"flash", FunctionGroup::kAttention},
    {"fmha", FunctionGroup::kAttention},
    {"attention", FunctionGroup::kAttention},
    {"attn", FunctionGroup::kAttention},
    {"gemm", FunctionGroup::kMatrixProduct},
    {"gemv", FunctionGroup::kMatrixProduct},
    {"cutlass", FunctionGroup::kMatrixProduct},
    {"cublas", FunctionGroup::kMatrixProduct},
    {"matmul", FunctionGroup::kMatrixProduct},
    {"nvjet", FunctionGroup::kMatrixProduct},
    {"wgrad", FunctionGroup::kConvolution},
    {"dgrad", FunctionGroup::kConvolution},
    {"conv", FunctionGroup::kConvolution},
    {"winograd", FunctionGroup::kConvolution},
    {"norm", FunctionGroup::kNormalisation},
    {"bn_fw", FunctionGroup::kNormalisation},
    {"bn_bw", FunctionGroup::kNormalisation},
    {"embedding", FunctionGroup::kEmbedding},
    {"fbgemm", FunctionGroup::kEmbedding},
    {"elementwise", FunctionGroup::kElementwise},
    {"pointwise", FunctionGroup::kElementwise},
    {"triton_poi", FunctionGroup::kElementwise},
    {"nchwtonhwc", FunctionGroup::kElementwise},
    {"nhwctonchw", FunctionGroup::kElementwise},
};

constexpr Word kCopyWords[] = {
    {"unified", FunctionGroup::kAllocation},
    {"page", FunctionGroup::kCopyOverBus},  // "Memcpy HtoD (Pageable -> Device)", "Pinned" below
    {"htod", FunctionGroup::kCopyOverBus},
    {"dtoh", FunctionGroup::kCopyOverBus},
    {"pinned", FunctionGroup::kCopyOverBus},
};

constexpr Word kRuntimeWords[] = {
    {"launch", FunctionGroup::kLaunch},
    {"moduleload", FunctionGroup::kCompilation},
    {"nvrtc", FunctionGroup::kCompilation},
    {"linkadddata", FunctionGroup::kCompilation},
    {"synchronize", FunctionGroup::kSynchronisation},
    {"streamwait", FunctionGroup::kLaunch},
    {"malloc", FunctionGroup::kAllocation},
    {"free", FunctionGroup::kAllocation},
    {"hostalloc", FunctionGroup::kAllocation},
    {"hostregister", FunctionGroup::kAllocation},
    {"memcpy", FunctionGroup::kSynchronisation},  // copies from pageable memory, which the host waits for
};

constexpr Word kHostWords[] = {
    {"gc.collect", FunctionGroup::kGarbageCollection},
    {"gc_collect", FunctionGroup::kGarbageCollection},
    {"method collect of", FunctionGroup::kGarbageCollection},
    {"function collect>", FunctionGroup::kGarbageCollection},
    {"built-in function collect", FunctionGroup::kGarbageCollection},
    {"garbage", FunctionGroup::kGarbageCollection},
    {"_dynamo/", FunctionGroup::kCompilation},
    {"torchdynamo", FunctionGroup::kCompilation},
    {"_inductor/", FunctionGroup::kCompilation},
    {"triton/compiler", FunctionGroup::kCompilation},
    {"triton/runtime/jit", FunctionGroup::kCompilation},
    {"xla_compile", FunctionGroup::kCompilation},
    {"cpp_extension", FunctionGroup::kCompilation},
    {"recompile", FunctionGroup::kCompilation},
    {"compile_fx", FunctionGroup::kCompilation},
    {"dataloader", FunctionGroup::kDataLoading},
    {"data_loader", FunctionGroup::kDataLoading},
    {"data/_utils", FunctionGroup::kDataLoading},
    {"dataset", FunctionGroup::kDataLoading},
    {"datapipe", FunctionGroup::kDataLoading},
    {"datapipes", FunctionGroup::kDataLoading},
    {"get_batch", FunctionGroup::kDataLoading},
    {"next_batch", FunctionGroup::kDataLoading},
    {"tokeniz", FunctionGroup::kDataLoading},
    {"pin_memory", FunctionGroup::kDataLoading},
    {"save_checkpoint", FunctionGroup::kCheckpoint},
    {"torch/serialization", FunctionGroup::kCheckpoint},
    {"checkpointing.py", FunctionGroup::kCheckpoint},
    {"empty_cache", FunctionGroup::kAllocation},
    {"swap_", FunctionGroup::kAllocation},
    {"offload", FunctionGroup::kAllocation},
    {"synchronize", FunctionGroup::kSynchronisation},
    {"_local_scalar_dense", FunctionGroup::kSynchronisation},
    {"aten::item", FunctionGroup::kSynchronisation},
    {"aten::is_nonzero", FunctionGroup::kSynchronisation},
    {"method item of", FunctionGroup::kSynchronisation},
    {"barrier", FunctionGroup::kBarrier},  // of whatever library: it moves nothing
    {"nccl:", FunctionGroup::kCollective},
    {"gloo:", FunctionGroup::kCollective},
    {"mpi:", FunctionGroup::kCollective},
    {"c10d::", FunctionGroup::kCollective},
    {"distributed_c10d", FunctionGroup::kCollective},
};

struct WordsOfKind {
  absl::Span<const Word> words;
  FunctionGroup otherwise;
};

const WordsOfKind kWords[] = {
    {kKernelWords, FunctionGroup::kOtherKernel},
    {kCopyWords, FunctionGroup::kCopyOnDevice},
    {{}, FunctionGroup::kCollective},
    {kRuntimeWords, FunctionGroup::kOtherHost},
    {kHostWords, FunctionGroup::kOtherHost},
    {kHostWords, FunctionGroup::kOtherHost},
    {kHostWords, FunctionGroup::kOtherHost},
};
static_assert(std::size(kWords) == kFunctionKinds);

}  // namespace

const char* Name(PatternClass pattern_class) { return kClassNames[static_cast<size_t>(pattern_class)]; }

const GroupTraits& TraitsOf(FunctionGroup group) { return kTraits[static_cast<size_t>(group)]; }

FunctionGroup GroupOf(FunctionKind kind, absl::string_view name) {
  const WordsOfKind& known = kWords[static_cast<size_t>(kind)];
  const std::string lower = absl::AsciiStrToLower(name);
  for (const Word& word : known.words) {
    if (absl::StrContains(lower, word.word)) return word.group;
  }
  return known.otherwise;
}

bool IsCollectiveKernel(absl::string_view name) {
  return absl::StartsWith(name, "nccl") || absl::StartsWith(name, "rccl") || absl::StartsWith(name, "oneccl") ||
         absl::StrContains(name, "ncclDevKernel") || absl::StrContains(name, "ncclKernel");
}

}  // namespace lockstep
