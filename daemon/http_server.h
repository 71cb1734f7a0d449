// A small HTTP/1.1 server for a daemon's own pages: health, metrics, read-only queries. A thin wrapper of CivetWeb.
//
// Only GET and HEAD; paths are matched exactly. Handlers run on kHttpThreads threads of the server, so they must be
// thread-safe and quick. Limits: kHttpThreads requests at a time, kHttpQueuedConnections waiting connections, 10 s per
// request; beyond that the operating system refuses connections.

#ifndef LOCKSTEP_DAEMON_HTTP_SERVER_H_
#define LOCKSTEP_DAEMON_HTTP_SERVER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct mg_connection;
struct mg_context;

namespace lockstep {

inline constexpr int kHttpThreads = 2;
inline constexpr int kHttpQueuedConnections = 32;

struct HttpRequest {
  std::string path;   // "/metrics"
  std::string query;  // behind the '?', not decoded; empty = none
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

struct HttpRoute {
  std::string path;
  HttpHandler handler;
};

// Listens from Start until destroyed; the destructor waits for running handlers. Thread-compatible.
class HttpServer {
 public:
  // `address` is "host:port" with a numeric host, or ":port" for all; port 0 picks a free one. Errors: INVALID_ARGUMENT
  // for an address that cannot be read, ALREADY_EXISTS when it cannot be listened on (in use, or not an address of this
  // machine).
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(absl::string_view address, std::vector<HttpRoute> routes);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // The port that is listened on.
  int port() const { return port_; }

 private:
  explicit HttpServer(std::vector<HttpRoute> routes);
  static int HandleRequest(mg_connection* connection, void* self);
  HttpResponse Answer(mg_connection* connection) const;

  const std::map<std::string, HttpHandler> handlers_;
  mg_context* context_ = nullptr;
  std::string local_host_;  // where this machine reaches it
  int port_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_HTTP_SERVER_H_
