// One HTTP POST over libcurl, bounded in time and in what it keeps of the answer.
//
// A poster keeps its connection between calls. Not thread-safe: one poster belongs to one thread.

#ifndef LOCKSTEP_COLLECTOR_ALERT_HTTP_POST_H_
#define LOCKSTEP_COLLECTOR_ALERT_HTTP_POST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace lockstep {

struct HttpPostOptions {
  std::string url;  // http or https; redirects are not followed
  int64_t connect_timeout_ns = 3'000'000'000;
  int64_t timeout_ns = 10'000'000'000;  // of the whole call
};

struct HttpAnswer {
  int status = 0;              // 0 = there was no answer; `error` says why
  int64_t retry_after_ns = 0;  // what the receiver asked for; 0 = nothing
  std::string error;
};

class HttpPoster {
 public:
  // `abort` is asked about once a second, and more often while data flows; true ends the call without an answer.
  HttpPoster(const HttpPostOptions& options, std::function<bool()> abort);
  ~HttpPoster();
  HttpPoster(const HttpPoster&) = delete;
  HttpPoster& operator=(const HttpPoster&) = delete;

  HttpAnswer PostJson(const std::string& body);

 private:
  class Handle;
  std::unique_ptr<Handle> handle_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_HTTP_POST_H_
