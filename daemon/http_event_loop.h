// The thread of HttpServer that talks to clients: libmicrohttpd driven from outside, so that this loop, and not the
// library, decides how long a connection may last.
//
// The library knows silence only: a client that sends a byte every now and then would stay for ever, and at its limit
// it accepts nobody. Here the oldest connections are hung up on. Requests go to the threads of the pages; meanwhile
// their connections are suspended in the library and cannot be closed by it.

#ifndef LOCKSTEP_DAEMON_HTTP_EVENT_LOOP_H_
#define LOCKSTEP_DAEMON_HTTP_EVENT_LOOP_H_

#include <microhttpd.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "daemon/http_page.h"
#include "daemon/http_route.h"
#include "daemon/http_server.h"
#include "daemon/web/web_guard.h"

namespace lockstep {

// Runs from Start until destroyed; the destructor waits for running handlers. Thread-compatible.
class HttpEventLoop {
 public:
  // Takes over the listening and non-blocking `socket`, also when it fails: nullptr = no descriptors left.
  // `tls` nullptr = in plain text.
  static std::unique_ptr<HttpEventLoop> Start(int socket, std::vector<HttpRoute> routes, const HttpLimits& limits,
                                              std::shared_ptr<const WebGuard::Tls> tls = nullptr);
  ~HttpEventLoop();
  HttpEventLoop(const HttpEventLoop&) = delete;
  HttpEventLoop& operator=(const HttpEventLoop&) = delete;

 private:
  enum class Stage { kReading, kHeadRead, kAtPage, kAnswered, kHungUp };

  // One client and its one request. Belongs to the loop's thread.
  struct Client {
    MHD_Connection* connection = nullptr;
    int socket = -1;  // the library's
    int64_t deadline_ns = 0;
    Stage stage = Stage::kReading;
    std::string query;
    HttpResponse response;  // the library sends its body from here
  };

  HttpEventLoop(std::vector<HttpRoute> routes, const HttpLimits& limits, std::shared_ptr<const WebGuard::Tls> tls);

  // Entries of the library, on the loop's thread. `self` is the HttpEventLoop, `client` the Client.
  static void OnConnection(void* self, MHD_Connection* connection, void** client, MHD_ConnectionNotificationCode what);
  static void* OnUri(void* self, const char* uri, MHD_Connection* connection);
  static MHD_Result OnRequest(void* self, MHD_Connection* connection, const char* path, const char* method,
                              const char* version, const char* upload, size_t* upload_size, void** client);

  bool Open(int socket);
  void FillCertificate(const Client& client, HttpRequest& request) const;
  void Run();
  int PollMillis() const;
  void Accept(MHD_Connection* connection, void** client);
  MHD_Result Advance(Client& client, const std::string& path, const std::string& method);
  MHD_Result Ask(Client& client, const std::string& path);
  MHD_Result Answer(Client& client, HttpResponse response);
  void ResumeAnswered();
  void HangUpLate();
  void HangUpOldest();
  static void HangUp(Client& client);
  void Wake() const;

  const HttpLimits limits_;
  const std::shared_ptr<const WebGuard::Tls> tls_;          // the library reads the keys from here
  std::map<std::string, std::unique_ptr<HttpPage>> pages_;  // by path
  MHD_Daemon* daemon_ = nullptr;
  int library_events_ = -1;    // an epoll descriptor, the library's
  int wake_ = -1;              // an eventfd
  std::list<Client> clients_;  // oldest first

  Mutex mutex_;
  std::vector<std::pair<Client*, HttpResponse>> answers_ ABSL_GUARDED_BY(mutex_);  // of pages, not yet taken
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_HTTP_EVENT_LOOP_H_
