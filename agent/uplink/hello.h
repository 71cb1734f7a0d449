// How an agent introduces itself on every stream.

#ifndef LOCKSTEP_AGENT_UPLINK_HELLO_H_
#define LOCKSTEP_AGENT_UPLINK_HELLO_H_

#include <string>

#include "base/random.h"
#include "daemon/version.h"
#include "proto/ingest.pb.h"

namespace lockstep {

inline constexpr uint32_t kIngestProtocolVersion = 1;

// A new incarnation, which must be made once per start of the agent. Pure but for the `random` that it draws from.
inline wire::AgentHello MakeHello(const std::string& host, Random& random) {
  wire::AgentHello hello;
  hello.set_host(host);
  hello.set_incarnation(random.Next() | 1);  // never 0
  hello.set_version(kVersion);
  hello.set_protocol_version(kIngestProtocolVersion);
  return hello;
}

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_UPLINK_HELLO_H_
