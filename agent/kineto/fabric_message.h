// The messages of Kineto's IPC fabric, by which a PyTorch started with KINETO_USE_DAEMON=1 registers with a daemon on
// its machine and then asks every few seconds whether it is to take a profile.
//
// A datagram is a header of 40 bytes and a body, in the byte order of the machine, which is little-endian wherever a
// recorder of ours runs:
//
//   offset  bytes
//        0      8  size of the body
//        8     32  type: "ctxt" or "req", then zeros; an answer has the type of its question
//   body of "ctxt", a registration (answered by an int32: how many processes are registered for the job and device)
//       40      4  device, an index of a GPU
//       44      4  pid, as the process has it for itself
//       48      8  job: SLURM_JOB_ID, or 0
//   body of "req", a poll (answered by a text: what to do, empty = nothing)
//       40      4  what is asked for: 1 = events, 2 = activities
//       44      4  n, the number of pids
//       48      8  job
//       56     4n  pids: of the process, its parent and so on
//
// Pure.

#ifndef LOCKSTEP_AGENT_KINETO_FABRIC_MESSAGE_H_
#define LOCKSTEP_AGENT_KINETO_FABRIC_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "agent/kineto/fabric_refusal.h"

namespace lockstep {

inline constexpr size_t kFabricHeaderBytes = 40;
inline constexpr size_t kFabricTypeBytes = 32;
inline constexpr int32_t kMaxFabricPids = 64;  // clients name at most ten ancestors

// What a valid datagram has at most.
inline constexpr size_t kMaxFabricDatagramBytes = kFabricHeaderBytes + 16 + 4 * kMaxFabricPids;

// Plain value; thread-compatible.
struct FabricMessage {
  enum class Kind : uint8_t { kRegistration, kPoll };
  Kind kind = Kind::kPoll;
  int32_t device = -1;          // of a registration
  int32_t pid = 0;              // as the sender has it for itself
  int64_t job = 0;              // 0 = none
  bool wants_profiles = false;  // of a poll: it asks about activities
};

// Fills `message`, or says why it is not: kTooShort, kTooLong, kWrongSize, kUnknownType or kBadContents.
FabricRefusal ParseFabricMessage(absl::string_view datagram, FabricMessage& message);

// A whole answer to a message of this kind.
std::string FabricAnswer(FabricMessage::Kind kind, absl::string_view body);

// The body of the answer to a registration.
std::string FabricCount(int32_t count);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_KINETO_FABRIC_MESSAGE_H_
