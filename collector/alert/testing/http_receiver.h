// A webhook receiver on a free loopback port that answers as a test tells it and remembers what it got. It takes
// requests one after the other, in the order of their connections.
//
// Thread-safe. The destructor stops listening.

#ifndef LOCKSTEP_COLLECTOR_ALERT_TESTING_HTTP_RECEIVER_H_
#define LOCKSTEP_COLLECTOR_ALERT_TESTING_HTTP_RECEIVER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"

struct mg_connection;
struct mg_context;

namespace lockstep {

class HttpReceiver {
 public:
  struct Answer {
    int status = 200;
    std::string header;  // one more header line without its end; "" = none
    std::string body;
    bool is_cut = false;  // the connection ends before the body does
  };
  struct Request {
    std::string method;
    std::string path;
    std::map<std::string, std::string> headers;
    std::string body;
  };
  using Answering = std::function<Answer(const Request& request)>;

  // `port` 0 picks a free one.
  explicit HttpReceiver(int port = 0);
  ~HttpReceiver();
  HttpReceiver(const HttpReceiver&) = delete;
  HttpReceiver& operator=(const HttpReceiver&) = delete;

  int port() const { return port_; }
  std::string url() const;

  // The next requests get these answers in turn; after them, 200.
  void AnswerNext(std::deque<Answer> answers);

  // Requests beyond those get what `answering` says, one at a time. It must not call the receiver.
  void AnswerBy(Answering answering);

  // While held, requests are taken but not answered.
  void Hold(bool hold);

  // Waits until `count` requests have come in, held ones too; false after ten seconds.
  bool WaitForRequests(size_t count);

  std::vector<Request> requests() const;

 private:
  static int HandleRequest(mg_connection* connection, void* self);
  Answer Take(const Request& request);

  mg_context* context_ = nullptr;
  int port_ = 0;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Answer> answers_ ABSL_GUARDED_BY(mutex_);
  Answering answering_ ABSL_GUARDED_BY(mutex_);
  std::vector<Request> requests_ ABSL_GUARDED_BY(mutex_);
  bool hold_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_TESTING_HTTP_RECEIVER_H_
