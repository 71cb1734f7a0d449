#include "collector/alert/testing/http_receiver.h"

#include <civetweb.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/clock.h"

namespace lockstep {
namespace {

constexpr int64_t kWaitNanos = 10 * kNanosPerSecond;

std::string ReadBody(mg_connection* connection) {
  std::string body;
  char part[4096];
  for (int got = mg_read(connection, part, sizeof(part)); got > 0; got = mg_read(connection, part, sizeof(part))) {
    body.append(part, static_cast<size_t>(got));
  }
  return body;
}

}  // namespace

HttpReceiver::HttpReceiver(int port) {
  const std::string listening = absl::StrCat("127.0.0.1:", port);
  // With more threads, what a sender has given up could be taken after what it sent later.
  const char* options[] = {"listening_ports", listening.c_str(), "num_threads", "1", nullptr};
  context_ = mg_start(nullptr, this, options);
  CHECK(context_ != nullptr);
  mg_server_port ports[1] = {};
  CHECK(mg_get_server_ports(context_, 1, ports) == 1);
  port_ = ports[0].port;
  mg_set_request_handler(context_, "/", HandleRequest, this);
}

HttpReceiver::~HttpReceiver() {
  Hold(false);
  mg_stop(context_);
}

std::string HttpReceiver::url() const { return absl::StrCat("http://127.0.0.1:", port_, "/alerts"); }

void HttpReceiver::AnswerNext(std::deque<Answer> answers) {
  MutexLock lock(mutex_);
  answers_ = std::move(answers);
}

void HttpReceiver::AnswerBy(Answering answering) {
  MutexLock lock(mutex_);
  answering_ = std::move(answering);
}

void HttpReceiver::Hold(bool hold) {
  MutexLock lock(mutex_);
  hold_ = hold;
  changed_.NotifyAll();
}

bool HttpReceiver::WaitForRequests(size_t count) {
  const int64_t deadline = RealClock().MonotonicNanos() + kWaitNanos;
  MutexLock lock(mutex_);
  while (requests_.size() < count) {
    const int64_t left = deadline - RealClock().MonotonicNanos();
    if (left <= 0) return false;
    changed_.WaitFor(mutex_, left);
  }
  return true;
}

std::vector<HttpReceiver::Request> HttpReceiver::requests() const {
  MutexLock lock(mutex_);
  return requests_;
}

HttpReceiver::Answer HttpReceiver::Take(const Request& request) {
  MutexLock lock(mutex_);
  requests_.push_back(request);
  changed_.NotifyAll();
  while (hold_) changed_.Wait(mutex_);
  if (answers_.empty()) return answering_ ? answering_(request) : Answer();
  Answer answer = answers_.front();
  answers_.pop_front();
  return answer;
}

int HttpReceiver::HandleRequest(mg_connection* connection, void* self) {
  const mg_request_info* info = mg_get_request_info(connection);
  Request request = {info->request_method, info->local_uri, {}, ReadBody(connection)};
  for (int i = 0; i < info->num_headers; ++i) {
    request.headers[info->http_headers[i].name] = info->http_headers[i].value;
  }
  const Answer answer = static_cast<HttpReceiver*>(self)->Take(request);
  const std::string header = answer.header.empty() ? "" : answer.header + "\r\n";
  // The server closes each connection. Who is not told sends the next request into it, and tries that five times.
  mg_printf(connection, "HTTP/1.1 %d Answer\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n", answer.status,
            answer.body.size() + (answer.is_cut ? 1 : 0), header.c_str());
  mg_write(connection, answer.body.data(), answer.body.size());
  return answer.status;
}

}  // namespace lockstep
