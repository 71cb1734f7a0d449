// HTTP calls over libcurl, bounded in time and in what they keep of the answer. Redirects are not followed, and what is
// on this machine is not asked by way of a proxy.
//
// A client keeps its connection between calls. Not thread-safe: one client belongs to one thread.

#ifndef LOCKSTEP_DAEMON_HTTP_CLIENT_H_
#define LOCKSTEP_DAEMON_HTTP_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace lockstep {

// OK for https, and for http to loopback: nobody in between can change what is answered. INVALID_ARGUMENT otherwise.
absl::Status CheckTrustworthyUrl(const std::string& url);

// OK for http to loopback, without a user. INVALID_ARGUMENT otherwise.
absl::Status CheckLoopbackUrl(const std::string& url);

// OK for a PEM file that holds a certificate, and for "". INVALID_ARGUMENT otherwise.
absl::Status CheckAuthorities(const std::string& file);

struct HttpOptions {
  std::string url;  // http or https
  // PEM file of the authorities that are believed for https; "" = those of the system. Read for each connection.
  std::string authorities;
  int64_t connect_timeout_ns = 3'000'000'000;
  int64_t timeout_ns = 10'000'000'000;  // of the whole call
};

struct HttpAnswer {
  int status = 0;              // 0 = there was no answer; `error` says why
  int64_t retry_after_ns = 0;  // what the receiver asked for; 0 = nothing
  bool is_too_long = false;    // there was one, longer than Get was to take
  std::string body;            // of PostJson its beginning
  std::string error;
};

class HttpClient {
 public:
  // `abort` is asked about once a second, and more often while data flows; true ends the call without an answer.
  HttpClient(const HttpOptions& options, std::function<bool()> abort);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // `headers` are whole lines, "Name: value", without their ends. Of the answer's body, which may be of any length,
  // kKeptOfAnswer bytes are kept.
  static constexpr size_t kKeptOfAnswer = 4'096;
  HttpAnswer PostJson(const std::string& body, const std::vector<std::string>& headers = {});

  // An answer that is longer than `max_bytes` is none.
  HttpAnswer Get(size_t max_bytes, const std::vector<std::string>& headers = {});

 private:
  class Handle;
  std::unique_ptr<Handle> handle_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_HTTP_CLIENT_H_
