// NCCL's callbacks for one version of its profiler interface, of the recorder alone (Callbacks) and of the recorder
// with a second plugin (ChainedCallbacks, nccl_chain.h). Both are tables for nccl_profiler.cc to export.
//
// Thread-safe as NCCL calls them. Never block, allocate or throw; init and finalize may.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_CALLBACKS_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_CALLBACKS_H_

#include "agent/recorder/nccl_abi.h"
#include "agent/recorder/nccl_abi_descriptors.h"

namespace lockstep::ring {

// The types of one version.
template <int kAbi>
struct AbiOf;
template <>
struct AbiOf<1> {
  using Descriptor = nccl_abi::DescriptorV1;
  using StateArguments = nccl_abi::StateArgumentsV1;
  using Init = nccl_abi::InitV1;
};
template <>
struct AbiOf<2> : AbiOf<1> {
  using Descriptor = nccl_abi::DescriptorV2;
};
template <>
struct AbiOf<3> : AbiOf<1> {
  using Descriptor = nccl_abi::DescriptorV3;
};
template <>
struct AbiOf<4> {
  using Descriptor = nccl_abi::DescriptorV4;
  using StateArguments = nccl_abi::StateArgumentsV4;
  using Init = nccl_abi::InitV4;
};
template <>
struct AbiOf<5> {
  using Descriptor = nccl_abi::DescriptorV5;
  using StateArguments = nccl_abi::StateArgumentsV4;
  using Init = nccl_abi::InitV5;
};
template <>
struct AbiOf<6> : AbiOf<5> {
  using Descriptor = nccl_abi::DescriptorV6;
};
template <>
struct AbiOf<7> : AbiOf<5> {
  using Descriptor = nccl_abi::DescriptorV7;
};

template <int kAbi>
using TableOf = nccl_abi::ProfilerTable<typename AbiOf<kAbi>::Init, typename AbiOf<kAbi>::Descriptor,
                                        typename AbiOf<kAbi>::StateArguments>;

// Of the recorder alone. Instantiated for all versions.
template <int kAbi>
TableOf<kAbi> Callbacks();

// Of the recorder and the plugin of LOCKSTEP_CHAIN_PROFILER. Instantiated for all versions.
template <int kAbi>
TableOf<kAbi> ChainedCallbacks();

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_CALLBACKS_H_
