#include "daemon/http_server.h"

#include <civetweb.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/stop_signal.h"

namespace lockstep {
namespace {

constexpr int kMaxPort = 65535;
constexpr int64_t kKnockPeriodNanos = 5 * kNanosPerMilli;

std::map<std::string, HttpHandler> ByPath(std::vector<HttpRoute> routes) {
  std::map<std::string, HttpHandler> handlers;
  for (HttpRoute& route : routes) handlers.emplace(std::move(route.path), std::move(route.handler));
  return handlers;
}

// Keeps the first error of the library, which would otherwise go to a file.
int KeepMessage(const mg_connection* connection, const char* message) {
  auto* kept = static_cast<std::string*>(mg_get_user_data(mg_get_context(connection)));
  if (kept != nullptr && kept->empty()) *kept = message;
  return 1;
}

// CivetWeb writes "all addresses" as a bare port.
absl::StatusOr<std::string> ListeningPort(absl::string_view address) {
  const size_t colon = address.rfind(':');
  int port = -1;
  if (colon == absl::string_view::npos || !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 0 ||
      port > kMaxPort || absl::string_view(address).find(',') != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat("'", address, "' is no address such as 127.0.0.1:9464"));
  }
  return std::string(colon == 0 ? address.substr(1) : address);
}

// Where a client on this machine reaches a server that listens on the numeric `host`, which may be empty or in
// brackets.
std::string LocalHost(absl::string_view host) {
  host = absl::StripSuffix(absl::StripPrefix(host, "["), "]");
  if (host.empty() || host == "0.0.0.0") return "127.0.0.1";
  return host == "::" ? "::1" : std::string(host);
}

// Connects and hangs up. Failure is no matter.
void Knock(const std::string& host, int port) {
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* address = nullptr;
  if (getaddrinfo(host.c_str(), absl::StrCat(port).c_str(), &hints, &address) != 0) return;
  const int connection = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (connection >= 0) {
    connect(connection, address->ai_addr, address->ai_addrlen);
    close(connection);
  }
  freeaddrinfo(address);
}

}  // namespace

HttpServer::HttpServer(std::vector<HttpRoute> routes) : handlers_(ByPath(std::move(routes))) {}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(absl::string_view address,
                                                              std::vector<HttpRoute> routes) {
  const absl::StatusOr<std::string> listening = ListeningPort(address);
  if (!listening.ok()) return listening.status();
  const std::string threads = absl::StrCat(kHttpThreads);
  const std::string queued = absl::StrCat(kHttpQueuedConnections);
  const char* options[] = {"listening_ports",
                           listening->c_str(),
                           "num_threads",
                           threads.c_str(),
                           "listen_backlog",
                           queued.c_str(),
                           "enable_keep_alive",
                           "no",
                           "request_timeout_ms",
                           "10000",
                           nullptr};
  std::string message;
  mg_callbacks callbacks = {};
  callbacks.log_message = KeepMessage;
  mg_context* context = mg_start(&callbacks, &message, options);
  if (context == nullptr) {
    return absl::AlreadyExistsError(absl::StrCat("cannot listen on ", address, ": ", message));
  }
  mg_server_port ports[4] = {};
  const int count = mg_get_server_ports(context, std::size(ports), ports);
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(routes)));
  server->context_ = context;
  server->local_host_ = LocalHost(address.substr(0, address.rfind(':')));
  server->port_ = count > 0 ? ports[0].port : 0;
  mg_set_request_handler(context, "/", HandleRequest, server.get());
  return server;
}

HttpServer::~HttpServer() {
  // CivetWeb's listening thread looks whether to stop only between waits of 2 s. A connection ends such a wait.
  StopSignal stopped;
  std::thread knocker([this, &stopped] {
    do {
      Knock(local_host_, port_);
    } while (!stopped.WaitFor(kKnockPeriodNanos));
  });
  mg_stop(context_);
  stopped.Stop();
  knocker.join();
}

HttpResponse HttpServer::Answer(mg_connection* connection) const {
  const mg_request_info& info = *mg_get_request_info(connection);
  const absl::string_view method = info.request_method;
  if (method != "GET" && method != "HEAD") return {405, "text/plain; charset=utf-8", "only GET and HEAD\n"};
  const auto found = handlers_.find(info.local_uri != nullptr ? info.local_uri : "");
  if (found == handlers_.end()) return {404, "text/plain; charset=utf-8", "no such page\n"};
  return found->second({found->first, info.query_string != nullptr ? info.query_string : ""});
}

int HttpServer::HandleRequest(mg_connection* connection, void* self) {
  const HttpResponse response = static_cast<const HttpServer*>(self)->Answer(connection);
  const std::string head =
      absl::StrCat("HTTP/1.1 ", response.status, " ", mg_get_response_code_text(connection, response.status),
                   "\r\nContent-Type: ", response.content_type, "\r\nContent-Length: ", response.body.size(),
                   "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n");
  mg_write(connection, head.data(), head.size());
  if (absl::string_view(mg_get_request_info(connection)->request_method) != "HEAD") {
    mg_write(connection, response.body.data(), response.body.size());
  }
  return response.status;
}

}  // namespace lockstep
