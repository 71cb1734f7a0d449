// How an agent introduces itself on every stream.

#ifndef LOCKSTEP_AGENT_UPLINK_HELLO_H_
#define LOCKSTEP_AGENT_UPLINK_HELLO_H_

#include <string>
#include <vector>

#include "agent/host_places.h"
#include "base/random.h"
#include "daemon/version.h"
#include "proto/ingest.pb.h"
#include "proto/place.pb.h"

namespace lockstep {

inline constexpr uint32_t kIngestProtocolVersion = 1;

inline void AddPlace(wire::PlaceKind kind, const std::string& name, wire::AgentHello& hello) {
  if (name.empty()) return;
  wire::Place* const place = hello.add_places();
  place->set_kind(kind);
  place->set_name(name);
}

// A new incarnation, which must be made once per start of the agent. Pure but for the `random` that it draws from.
// `demands`: the kinds that it carries out.
inline wire::AgentHello MakeHello(const std::string& host, Random& random, const HostPlaces& places = {},
                                  const std::vector<std::string>& demands = {}) {
  wire::AgentHello hello;
  hello.set_host(host);
  hello.set_incarnation(random.Next() | 1);  // never 0
  hello.set_version(kVersion);
  hello.set_protocol_version(kIngestProtocolVersion);
  AddPlace(wire::PLACE_KIND_RACK, places.rack, hello);
  AddPlace(wire::PLACE_KIND_LEAF, places.leaf, hello);
  AddPlace(wire::PLACE_KIND_POWER, places.power, hello);
  AddPlace(wire::PLACE_KIND_IMAGE, places.image, hello);
  for (const std::string& kind : demands) hello.add_demands(kind);
  return hello;
}

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_UPLINK_HELLO_H_
