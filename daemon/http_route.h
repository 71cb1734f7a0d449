// What a page of an HTTP server is: its path, and the handler that makes its answers.

#ifndef LOCKSTEP_DAEMON_HTTP_ROUTE_H_
#define LOCKSTEP_DAEMON_HTTP_ROUTE_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

// What the client has shown of itself in the handshake of TLS.
enum class HttpClientCertificate { kNone, kNotVerified, kVerified };

// Values, not thread-safe.
struct HttpRequest {
  std::string path;           // "/metrics"
  std::string query;          // behind the '?', not decoded; empty = none
  std::string authorization;  // the header of that name; empty = none
  HttpClientCertificate client = HttpClientCertificate::kNone;
  std::vector<std::string> client_names;  // of a certificate that is verified (client_names.h)
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::string challenge;                                     // with status 401: WWW-Authenticate
  std::vector<std::pair<std::string, std::string>> headers;  // further ones: name and value
};

using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

struct HttpRoute {
  std::string path;  // "/NAME/" stands for all below it that have no route of their own
  HttpHandler handler;
  bool is_open = false;     // answers whoever asks, as probes do
  bool is_private = false;  // answers nobody where the guard asks nobody who they are
};

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_HTTP_ROUTE_H_
