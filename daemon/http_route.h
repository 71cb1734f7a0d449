// What a page of an HTTP server is: its path, and the handler that makes its answers.

#ifndef LOCKSTEP_DAEMON_HTTP_ROUTE_H_
#define LOCKSTEP_DAEMON_HTTP_ROUTE_H_

#include <functional>
#include <string>

namespace lockstep {

// Values, not thread-safe.
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

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_HTTP_ROUTE_H_
