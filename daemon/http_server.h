// A small HTTP/1.1 server for a daemon's own pages: health, metrics, read-only queries.
//
// Only GET and HEAD; paths are matched exactly, but below routes such as "/NAME/"; a connection carries one request.
// No client, no page delays another:
//
// - One thread (http_event_loop.h, an epoll loop of GNU libmicrohttpd) accepts, reads and writes; it never blocks.
// - Each page has a thread of its own. Handlers of different pages run at the same time, so they must be thread-safe;
//   beyond HttpLimits::waiting_per_page a page answers 503.
// - Clients that dawdle are hung up on: when HttpLimits::connections are open a new one takes the place of the oldest
//   that waits for no page, and each has its deadlines, however busily it trickles.

#ifndef LOCKSTEP_DAEMON_HTTP_SERVER_H_
#define LOCKSTEP_DAEMON_HTTP_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "daemon/http_route.h"

namespace lockstep {

class HttpEventLoop;
class WebGuard;

struct HttpLimits {
  // Open at a time. More than all pages together can hold, or those that wait for pages could lock a probe out.
  size_t connections = 64;
  size_t head_bytes = 16 * 1024;  // of a request, with what the library keeps about it; beyond it answers 4xx
  size_t waiting_per_page = 8;
  int64_t request_ns = 5 * kNanosPerSecond;  // from being accepted to the end of the request
  int64_t answer_ns = 10 * kNanosPerSecond;  // from the page being ready to its last byte
};

// Listens from Start until destroyed; the destructor waits for running handlers alone. Thread-compatible.
class HttpServer {
 public:
  // `address` as of OpenListeningSocket, with its errors: "host:port" with a numeric host, or ":port" for all; port 0
  // picks a free one. Everybody is answered, in plain text.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(absl::string_view address, std::vector<HttpRoute> routes,
                                                           const HttpLimits& limits = {});
  // The same behind a guard (web_guard.h), which decides who is answered.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(absl::string_view address, std::vector<HttpRoute> routes,
                                                           const HttpLimits& limits, std::unique_ptr<WebGuard> guard);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Takes on changed keys and passwords of the guard. To be called about once per second, by one thread. Requests that
  // are being answered with keys from before are given up.
  void Refresh();

  // The text of the guard's file that is in force; "" = there is none.
  std::string guard_text() const;

  // The port that is listened on.
  int port() const { return port_; }

 private:
  HttpServer(int socket, int port, std::vector<HttpRoute> routes, const HttpLimits& limits,
             std::unique_ptr<WebGuard> guard);
  absl::Status Serve();

  const int socket_;  // listens
  const int port_;
  const std::unique_ptr<WebGuard> guard_;  // routes refer to it
  const std::vector<HttpRoute> routes_;
  const HttpLimits limits_;
  std::unique_ptr<HttpEventLoop> loop_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_HTTP_SERVER_H_
