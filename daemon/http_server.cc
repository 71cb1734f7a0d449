#include "daemon/http_server.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "daemon/http_event_loop.h"
#include "daemon/listening_socket.h"
#include "daemon/web/web_guard.h"

namespace lockstep {
namespace {

// Connections that the kernel completes while the loop is away for a moment.
constexpr int kBacklog = 128;

std::vector<HttpRoute> Guarded(std::vector<HttpRoute> routes, WebGuard* guard) {
  if (guard == nullptr) return routes;
  for (HttpRoute& route : routes) {
    const HttpRoute asked = route;
    route.handler = [guard, asked](const HttpRequest& request) {
      std::optional<HttpResponse> refusal = asked.is_open ? std::nullopt : guard->Refusal(request, asked.is_private);
      HttpResponse response = refusal.has_value() ? *std::move(refusal) : asked.handler(request);
      for (auto& header : guard->headers()) response.headers.push_back(std::move(header));
      return response;
    };
  }
  return routes;
}

}  // namespace

HttpServer::HttpServer(int socket, int port, std::vector<HttpRoute> routes, const HttpLimits& limits,
                       std::unique_ptr<WebGuard> guard)
    : socket_(socket),
      port_(port),
      guard_(std::move(guard)),
      routes_(Guarded(std::move(routes), guard_.get())),
      limits_(limits) {}

HttpServer::~HttpServer() {
  loop_.reset();
  close(socket_);
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(absl::string_view address, std::vector<HttpRoute> routes,
                                                              const HttpLimits& limits) {
  return Start(address, std::move(routes), limits, nullptr);
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(absl::string_view address, std::vector<HttpRoute> routes,
                                                              const HttpLimits& limits,
                                                              std::unique_ptr<WebGuard> guard) {
  ASSIGN_OR_RETURN(const ListeningSocket socket, OpenListeningSocket(address, kBacklog));
  std::unique_ptr<HttpServer> server(
      new HttpServer(socket.descriptor, socket.port, std::move(routes), limits, std::move(guard)));
  RETURN_IF_ERROR(server->Serve());
  return server;
}

absl::Status HttpServer::Serve() {
  const int socket = fcntl(socket_, F_DUPFD_CLOEXEC, 0);
  std::unique_ptr<HttpEventLoop> loop =
      socket < 0 ? nullptr
                 : HttpEventLoop::Start(socket, routes_, limits_, guard_ == nullptr ? nullptr : guard_->tls());
  if (loop == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot serve port ", port_, ": no descriptors, or unusable keys"));
  }
  loop_ = std::move(loop);  // the one before ends
  return absl::OkStatus();
}

std::string HttpServer::guard_text() const { return guard_ == nullptr ? "" : guard_->text(); }

void HttpServer::Refresh() {
  if (guard_ == nullptr || !guard_->Refresh()) return;
  const absl::Status served = Serve();
  if (!served.ok()) Log(LogLevel::kError, "pages are served with keys from before", {{"error", served.ToString()}});
}

}  // namespace lockstep
