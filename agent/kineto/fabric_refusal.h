// Why the endpoint of Kineto's fabric does not do what a datagram asks for: a fixed table, for counters.

#ifndef LOCKSTEP_AGENT_KINETO_FABRIC_REFUSAL_H_
#define LOCKSTEP_AGENT_KINETO_FABRIC_REFUSAL_H_

#include <cstddef>
#include <cstdint>

namespace lockstep {

enum class FabricRefusal : uint8_t {
  kNone,  // it is not refused
  kTooShort,
  kTooLong,
  kWrongSize,    // the size that it states is not its own
  kUnknownType,  // neither a registration nor a poll: of a newer client, perhaps
  kBadContents,
  kDescriptors,    // it carries descriptors of files
  kNoAddress,      // its sender has no name to answer to
  kPathAddress,    // the name is a path, which may lead elsewhere here than where its sender lives
  kUnknownSender,  // the kernel does not say who sent it, or that process is gone
  kForeignPid,     // it names another process than its sender
  kTooManyOfUser,
  kTooMany,
  kFlood,
};

// By FabricRefusal: label values of metrics. Immutable.
inline constexpr const char* kFabricRefusalNames[] = {
    "none",       "too_short",    "too_long",       "wrong_size",  "unknown_type",     "bad_contents", "descriptors",
    "no_address", "path_address", "unknown_sender", "foreign_pid", "too_many_of_user", "too_many",     "flood",
};
inline constexpr size_t kFabricRefusals = sizeof(kFabricRefusalNames) / sizeof(kFabricRefusalNames[0]);
static_assert(kFabricRefusals == static_cast<size_t>(FabricRefusal::kFlood) + 1);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_KINETO_FABRIC_REFUSAL_H_
