#include "daemon/http_server.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "daemon/http_event_loop.h"
#include "daemon/listening_socket.h"

namespace lockstep {
namespace {

// Connections that the kernel completes while the loop is away for a moment.
constexpr int kBacklog = 128;

}  // namespace

HttpServer::HttpServer(std::unique_ptr<HttpEventLoop> loop, int port) : loop_(std::move(loop)), port_(port) {}

HttpServer::~HttpServer() = default;

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(absl::string_view address, std::vector<HttpRoute> routes,
                                                              const HttpLimits& limits) {
  ASSIGN_OR_RETURN(const ListeningSocket socket, OpenListeningSocket(address, kBacklog));
  std::unique_ptr<HttpEventLoop> loop = HttpEventLoop::Start(socket.descriptor, std::move(routes), limits);
  if (loop == nullptr) return absl::ResourceExhaustedError(absl::StrCat("no descriptors left to serve ", address));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(loop), socket.port));
}

}  // namespace lockstep
