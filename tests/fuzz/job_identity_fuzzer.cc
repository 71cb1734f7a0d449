// The environment of a job, NAME=VALUE behind each other with a NUL between: whoever starts it chooses what is in
// there.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#include "agent/recorder/job_identity.h"
#include "base/check.h"

namespace lockstep::ring {
namespace {

using Environment = std::map<std::string, std::string>;

Environment& TheEnvironment() {
  static auto& environment = *new Environment;
  return environment;
}

const char* Get(const char* name) {
  const auto found = TheEnvironment().find(name);
  return found == TheEnvironment().end() ? nullptr : found->second.c_str();
}

// Of the machine and the namespace, which are as long as the caller has room for.
void Copy(const char* from, char* to, size_t size) {
  if (from == nullptr) from = "";
  const size_t kept = std::min(std::strlen(from), size - 1);
  std::memcpy(to, from, kept);
  to[kept] = '\0';
}

void HostName(char* name, size_t size) { Copy(Get("HOST"), name, size); }
void PodNamespace(char* name, size_t size) { Copy(Get("NAMESPACE"), name, size); }

Environment Parse(const std::string& bytes) {
  Environment environment;
  for (size_t at = 0; at < bytes.size();) {
    const std::string entry = bytes.substr(at, bytes.find('\0', at) - at);
    at += entry.size() + 1;
    const size_t equals = entry.find('=');
    if (equals != entry.npos) environment[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return environment;
}

}  // namespace
}  // namespace lockstep::ring

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep::ring;
  TheEnvironment() = Parse(std::string(reinterpret_cast<const char*>(data), size));
  const JobIdentity identity = ReadJobIdentity({Get, HostName, PodNamespace});
  CHECK(std::memchr(identity.job, '\0', sizeof(identity.job)) != nullptr);
  CHECK(identity.rank >= -1 && identity.world_size >= -1 && identity.local_rank >= -1);
  const JobIdentity again = ReadJobIdentity({Get, HostName, PodNamespace});
  CHECK(std::strcmp(identity.job, again.job) == 0 && identity.rank == again.rank);
  return 0;
}
