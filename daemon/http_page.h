// One page of the HTTP server with a thread of its own, so that a slow page delays nobody but those who ask for it.

#ifndef LOCKSTEP_DAEMON_HTTP_PAGE_H_
#define LOCKSTEP_DAEMON_HTTP_PAGE_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>

#include "base/mutex.h"
#include "daemon/http_route.h"

namespace lockstep {

// Answers one request after the other. Thread-safe.
class HttpPage {
 public:
  // Gets the answer to one request, on the page's thread. Must be quick.
  using Deliver = std::function<void(HttpResponse)>;

  // At most `max_waiting` requests wait for the one that is being answered. Starts its thread.
  HttpPage(HttpHandler handler, size_t max_waiting);
  // Waits for a handler that runs; forgets the requests that wait.
  ~HttpPage();
  HttpPage(const HttpPage&) = delete;
  HttpPage& operator=(const HttpPage&) = delete;

  // False = too many requests wait; `deliver` is then never called.
  bool TryAsk(HttpRequest request, Deliver deliver);

 private:
  struct Asked {
    HttpRequest request;
    Deliver deliver;
  };

  void Run();

  const HttpHandler handler_;
  const size_t max_waiting_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Asked> waiting_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: everything is ready when it starts
};

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_HTTP_PAGE_H_
