// What functions are called in the wild, and what they are.

#include "detector/patterns/function_group.h"

#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(FunctionGroupTest, NamesOfTheWild) {
  const struct {
    FunctionKind kind;
    const char* name;
    FunctionGroup group;
  } cases[] = {
      {FunctionKind::kGpuCompute,
       "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_cublas",
       FunctionGroup::kMatrixProduct},
      {FunctionKind::kGpuCompute, "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4>",
       FunctionGroup::kMatrixProduct},
      {FunctionKind::kGpuCompute, "void cudnn::cnn::reduce_wgrad_nchw_helper<float, float>",
       FunctionGroup::kConvolution},
      {FunctionKind::kGpuCompute, "void cudnn::ops::nchwToNhwcKernel<float, float, float>",
       FunctionGroup::kElementwise},
      {FunctionKind::kGpuCompute, "void flash_fwd_kernel<Flash_fwd_kernel_traits<128>>", FunctionGroup::kAttention},
      {FunctionKind::kGpuCompute, "void cudnn::bn_bw_1C11_kernel_new<float>", FunctionGroup::kNormalisation},
      {FunctionKind::kGpuCompute, "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<Adam>",
       FunctionGroup::kOptimizerKernel},
      {FunctionKind::kGpuCompute, "mystery", FunctionGroup::kOtherKernel},
      {FunctionKind::kGpuCopy, "Memcpy HtoD (Pageable -> Device)", FunctionGroup::kCopyOverBus},
      {FunctionKind::kGpuCopy, "Memcpy DtoH (Device -> Pinned)", FunctionGroup::kCopyOverBus},
      {FunctionKind::kGpuCopy, "Memcpy DtoD (Device -> Device)", FunctionGroup::kCopyOnDevice},
      {FunctionKind::kGpuCopy, "Memcpy HtoD (Unified Memory)", FunctionGroup::kAllocation},
      {FunctionKind::kGpuCopy, "Memset (Device)", FunctionGroup::kCopyOnDevice},
      {FunctionKind::kCollective, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", FunctionGroup::kCollective},
      {FunctionKind::kRuntime, "cudaLaunchKernelExC", FunctionGroup::kLaunch},
      {FunctionKind::kRuntime, "cudaStreamSynchronize", FunctionGroup::kSynchronisation},
      {FunctionKind::kRuntime, "cudaMemcpyAsync", FunctionGroup::kSynchronisation},
      {FunctionKind::kRuntime, "cudaMalloc", FunctionGroup::kAllocation},
      {FunctionKind::kRuntime, "cuModuleLoadDataEx", FunctionGroup::kCompilation},
      {FunctionKind::kRuntime, "cudaStreamGetPriority", FunctionGroup::kOtherHost},
      {FunctionKind::kAnnotation, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
       FunctionGroup::kDataLoading},
      {FunctionKind::kPython, "torch/utils/data/_utils/fetch.py(42): fetch", FunctionGroup::kDataLoading},
      {FunctionKind::kPython, "<built-in method collect of module object at 0x7f>", FunctionGroup::kGarbageCollection},
      {FunctionKind::kPython, "<built-in function collect>", FunctionGroup::kGarbageCollection},
      {FunctionKind::kPython, "torch/_dynamo/convert_frame.py(380): _convert_frame_assert",
       FunctionGroup::kCompilation},
      {FunctionKind::kOperator, "aten::_local_scalar_dense", FunctionGroup::kSynchronisation},
      {FunctionKind::kOperator, "aten::addmm", FunctionGroup::kOtherHost},
      {FunctionKind::kAnnotation, "nccl:all_reduce", FunctionGroup::kCollective},
      {FunctionKind::kOperator, "gloo:barrier", FunctionGroup::kBarrier},
      {FunctionKind::kOperator, "c10d::barrier", FunctionGroup::kBarrier},
      {FunctionKind::kPython, "torch/distributed/distributed_c10d.py(3145): barrier", FunctionGroup::kBarrier},
      {FunctionKind::kPython, "torch/distributed/distributed_c10d.py(1498): all_reduce", FunctionGroup::kCollective},
      {FunctionKind::kPython, "megatron/training/checkpointing.py(312): save_checkpoint", FunctionGroup::kCheckpoint},
  };
  for (const auto& expected : cases) {
    EXPECT_STREQ(TraitsOf(GroupOf(expected.kind, expected.name)).name, TraitsOf(expected.group).name) << expected.name;
  }
}

TEST(FunctionGroupTest, CollectivesOfAllLibraries) {
  EXPECT_TRUE(IsCollectiveKernel("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"));
  EXPECT_TRUE(IsCollectiveKernel("void ncclDevKernel_Generic"));
  EXPECT_FALSE(IsCollectiveKernel("void at::native::nccl_like"));
}

}  // namespace
}  // namespace lockstep
