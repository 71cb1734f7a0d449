#include "collector/alert/endpoint_for.h"

#include <utility>

#include "collector/alert/http_endpoint.h"
#include "collector/alert/nvsentinel_endpoint.h"

namespace lockstep {

std::unique_ptr<AlertEndpoint> EndpointFor(const ReceiverSpec& receiver, const std::string& url, int64_t timeout_ns,
                                           std::function<bool()> abort) {
  if (receiver.type == ReceiverType::kNvsentinel) {
    return std::make_unique<NvsentinelEndpoint>(receiver, url, timeout_ns, std::move(abort));
  }
  return std::make_unique<HttpEndpoint>(receiver, url, timeout_ns, std::move(abort));
}

}  // namespace lockstep
