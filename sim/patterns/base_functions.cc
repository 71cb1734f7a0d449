#include "sim/patterns/base_functions.h"

namespace lockstep {
namespace {

constexpr FunctionKind kGpu = FunctionKind::kGpuCompute;
constexpr FunctionKind kCopy = FunctionKind::kGpuCopy;
constexpr FunctionKind kComm = FunctionKind::kCollective;
constexpr FunctionKind kCall = FunctionKind::kRuntime;
constexpr FunctionKind kOperator = FunctionKind::kOperator;
constexpr FunctionKind kPython = FunctionKind::kPython;
constexpr FunctionKind kRange = FunctionKind::kAnnotation;
constexpr Utilisation kNone = Utilisation::kNone;
constexpr Utilisation kOccupied = Utilisation::kOccupancy;
constexpr Utilisation kCopied = Utilisation::kCopyBandwidth;
constexpr Utilisation kSent = Utilisation::kMessageBandwidth;
constexpr OnStages kEvery = OnStages::kAll;

constexpr BaseFunction kFunctions[] = {
    {kGpu, "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas", kLanguage | kRecommender, kEvery, 0.1,
     0.3, 40, 400, 0.3, kOccupied, 0.2},
    {kGpu, "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize128x128x64_cublas", kLanguage, kEvery, 0.08, 0.2, 40, 400,
     0.3, kOccupied, 0.2},
    {kGpu, "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8>",
     kAllFrameworks, kEvery, 0.02, 0.1, 20, 200, 0.4, kOccupied, 0.3},
    {kGpu, "void cudnn::cnn::conv2d_grouped_direct_kernel<false, true, false, false, 0, 0, int>", kConvolutions, kEvery,
     0.1, 0.3, 40, 200, 0.5, kOccupied, 0.4},
    {kGpu, "cudnn_infer_ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", kConvolutions, kEvery, 0.1, 0.25,
     20, 200, 0.5, kOccupied, 0.4},
    {kGpu, "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false>>", kLanguage, kEvery, 0.04,
     0.12, 10, 100, 0.05, kOccupied, 0.13},
    {kGpu, "void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128>>", kLanguage, kEvery, 0.05,
     0.15, 10, 100, 0.05, kOccupied, 0.13},
    {kGpu, "void (anonymous namespace)::cuApplyLayerNorm<float, c10::BFloat16>", kLanguage | kRecommender, kEvery,
     0.005, 0.03, 20, 200, 0.1, kOccupied, 0.7},
    {kGpu, "void transformer_engine::normalization::rmsnorm_bwd_tuned_kernel<bf16>", kLanguage, kEvery, 0.005, 0.03, 20,
     200, 0.1, kOccupied, 0.6},
    {kGpu, "void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>", kConvolutions, kEvery, 0.02, 0.08, 20,
     200, 0.6, kOccupied, 0.8},
    {kGpu, "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>", kAllFrameworks,
     kEvery, 0.02, 0.08, 100, 900, 1.2, kOccupied, 0.9},
    {kGpu, "void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda>", kAllFrameworks, kEvery,
     0.01, 0.05, 40, 400, 0.9, kOccupied, 0.9},
    {kGpu, "triton_poi_fused_silu_mul_0", kLanguage, kEvery, 0.005, 0.03, 10, 100, 0.05, kOccupied, 0.8},
    {kGpu, "void split_embedding_codegen_forward_unweighted_kernel<c10::Half, float>", kRecommender, kEvery, 0.03, 0.12,
     4, 40, 0.4, kOccupied, 0.75},
    {kGpu, "void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_cta_per_row_1<c10::Half>",
     kRecommender, kEvery, 0.05, 0.14, 4, 40, 0.4, kOccupied, 0.5},
    {kGpu, "void at::native::(anonymous namespace)::embedding_backward_feature_kernel<c10::BFloat16>", kLanguage,
     OnStages::kFirst, 0.01, 0.02, 1, 1, 0.02, kOccupied, 0.7},
    {kGpu, "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdam>", kAllFrameworks, kEvery, 0.01,
     0.06, 1, 40, 0.3, kOccupied, 0.9},
    {kGpu, "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16>", kAllFrameworks, kEvery, 0.005, 0.03, 10,
     100, 0.2, kOccupied, 0.8},
    {kGpu, "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", kAllFrameworks, kEvery, 0.005, 0.03,
     20, 200, 0.8, kOccupied, 0.6},
    {kGpu, "cross_entropy_fwd_kernel", kLanguage, OnStages::kLast, 0.02, 0.05, 8, 30, 0.1, kOccupied, 0.9},
    {kCopy, "Memcpy HtoD (Pinned -> Device)", kAllFrameworks, kEvery, 0.001, 0.01, 2, 20, 0.8, kCopied, 2.2e10},
    {kCopy, "Memcpy DtoH (Device -> Pageable)", kAllFrameworks, kEvery, 0.0005, 0.004, 1, 10, 1, kCopied, 2e9},
    {kCopy, "Memcpy DtoD (Device -> Device)", kAllFrameworks, kEvery, 0.001, 0.02, 20, 300, 1, kCopied, 9e11},
    {kCopy, "Memset (Device)", kAllFrameworks, kEvery, 0.0005, 0.003, 20, 100, 1, kCopied, 1e12},
    {kComm, "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", kLanguage, kEvery, 0.02, 0.06, 20, 200,
     0.6, kSent, 4e10},
    {kComm, "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", kLanguage, kEvery, 0.02,
     0.06, 20, 200, 0.6, kSent, 4e10},
    {kComm, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", kMegatron | kRecommender, kEvery, 0.01, 0.06, 8,
     100, 1, kSent, 1e10},
    {kCall, "cudaLaunchKernel", kAllFrameworks, kEvery, 0.003, 0.03, 500, 4000, 0.9, kNone, 0},
    {kCall, "cudaStreamSynchronize", kAllFrameworks, kEvery, 0.001, 0.01, 2, 40, 2, kNone, 0},
    {kCall, "cudaMalloc", kAllFrameworks, kEvery, 0.0001, 0.001, 1, 2, 1, kNone, 0},
    {kRange, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", kAllFrameworks, kEvery, 0.001, 0.008, 1,
     1, 0.4, kNone, 0},
    {kOperator, "aten::linear", kAllFrameworks, kEvery, 0.002, 0.02, 100, 400, 0.4, kNone, 0},
    {kOperator, "aten::copy_", kAllFrameworks, kEvery, 0.002, 0.02, 40, 400, 0.8, kNone, 0},
    {kOperator, "aten::empty", kAllFrameworks, kEvery, 0.001, 0.01, 100, 900, 0.7, kNone, 0},
    {kPython, "torch/nn/modules/module.py(1501): _call_impl", kAllFrameworks, kEvery, 0.003, 0.03, 100, 900, 1, kNone,
     0},
    {kPython, "megatron/core/pipeline_parallel/schedules.py(1102): forward_step", kMegatron, kEvery, 0.002, 0.02, 8, 64,
     0.3, kNone, 0},
    {kPython, "torch/optim/optimizer.py(265): wrapper", kAllFrameworks, kEvery, 0.001, 0.01, 1, 1, 0.2, kNone, 0},
};

}  // namespace

absl::Span<const BaseFunction> AllBaseFunctions() { return kFunctions; }

}  // namespace lockstep
