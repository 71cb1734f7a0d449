#include "daemon/http_event_loop.h"

#include <gnutls/gnutls.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/clock.h"
#include "daemon/client_names.h"

namespace lockstep {
namespace {

// Deadlines are looked at so often while there are clients; without any the loop sleeps.
constexpr int kDeadlinePeriodMillis = 100;
// Places beyond the limit for clients that were hung up on: the library lets go of them a moment later.
constexpr size_t kLeavingConnections = 16;

int64_t Now() { return RealClock().MonotonicNanos(); }

HttpResponse Plain(int status, const char* line) { return {status, "text/plain; charset=utf-8", line}; }

void AddHeaders(MHD_Response* response, const HttpResponse& page) {
  MHD_add_response_header(response, "Content-Type", page.content_type.c_str());
  for (const auto& [name, value] : page.headers) MHD_add_response_header(response, name.c_str(), value.c_str());
  MHD_add_response_header(response, "Cache-Control", "no-store");
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(response, "Connection", "close");
}

}  // namespace

HttpEventLoop::HttpEventLoop(std::vector<HttpRoute> routes, const HttpLimits& limits,
                             std::shared_ptr<const WebGuard::Tls> tls)
    : limits_(limits), tls_(std::move(tls)) {
  for (HttpRoute& route : routes) {
    pages_.emplace(std::move(route.path),
                   std::make_unique<HttpPage>(std::move(route.handler), limits.waiting_per_page));
  }
  CHECK(limits.connections > pages_.size() * (limits.waiting_per_page + 1));
}

std::unique_ptr<HttpEventLoop> HttpEventLoop::Start(int socket, std::vector<HttpRoute> routes, const HttpLimits& limits,
                                                    std::shared_ptr<const WebGuard::Tls> tls) {
  std::unique_ptr<HttpEventLoop> loop(new HttpEventLoop(std::move(routes), limits, std::move(tls)));
  if (!loop->Open(socket)) return nullptr;
  loop->thread_ = std::thread([self = loop.get()] { self->Run(); });
  return loop;
}

bool HttpEventLoop::Open(int socket) {
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::vector<MHD_OptionItem> keys;
  if (tls_ != nullptr) {
    const auto add = [&keys](MHD_OPTION option, const char* text) {
      keys.push_back({option, 0, const_cast<char*>(text)});  // the library only reads
    };
    add(MHD_OPTION_HTTPS_PRIORITIES, tls_->priorities.c_str());
    add(MHD_OPTION_HTTPS_MEM_CERT, tls_->material.certificate.c_str());
    add(MHD_OPTION_HTTPS_MEM_KEY, tls_->material.key.c_str());
    if (tls_->asks_client) {
      // The library asks only where it is given somebody to trust. Nobody is trusted for being like the server.
      const std::string& trusted =
          tls_->material.authorities.empty() ? tls_->material.certificate : tls_->material.authorities;
      add(MHD_OPTION_HTTPS_MEM_TRUST, trusted.c_str());
    }
  }
  keys.push_back({MHD_OPTION_END, 0, nullptr});
  const unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_SUPPRESS_DATE_NO_CLOCK;
  if (wake_ >= 0) {
    daemon_ = MHD_start_daemon(flags | (tls_ == nullptr ? 0U : static_cast<unsigned>(MHD_USE_TLS)), 0, nullptr, nullptr,
                               OnRequest, this, MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_CONNECTION_LIMIT,
                               static_cast<unsigned>(limits_.connections + kLeavingConnections),
                               MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits_.head_bytes, MHD_OPTION_NOTIFY_CONNECTION,
                               OnConnection, this, MHD_OPTION_URI_LOG_CALLBACK, OnUri, this, MHD_OPTION_ARRAY,
                               keys.data(), MHD_OPTION_END);
  }
  if (daemon_ == nullptr) {
    close(socket);
    return false;
  }
  library_events_ = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
  return true;
}

HttpEventLoop::~HttpEventLoop() {
  if (thread_.joinable()) {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    Wake();
    thread_.join();
  }
  pages_.clear();
  if (daemon_ != nullptr) {
    // The library refuses to stop while connections are suspended.
    for (const Client& client : clients_) {
      if (client.stage == Stage::kAtPage) MHD_resume_connection(client.connection);
    }
    // The library would shut the socket down, which others may still listen on.
    const MHD_socket socket = MHD_quiesce_daemon(daemon_);
    MHD_stop_daemon(daemon_);
    if (socket != MHD_INVALID_SOCKET) close(socket);
  }
  if (wake_ >= 0) close(wake_);
}

void HttpEventLoop::Run() {
  while (true) {
    pollfd events[] = {{library_events_, POLLIN, 0}, {wake_, POLLIN, 0}};
    poll(events, std::size(events), PollMillis());
    uint64_t wakes = 0;
    if (events[1].revents != 0 && read(wake_, &wakes, sizeof(wakes)) < 0) wakes = 0;
    {
      MutexLock lock(mutex_);
      if (stopping_) return;
    }
    ResumeAnswered();
    MHD_run(daemon_);
    HangUpLate();
  }
}

int HttpEventLoop::PollMillis() const {
  if (clients_.empty()) return -1;
  MHD_UNSIGNED_LONG_LONG library_ms = kDeadlinePeriodMillis;
  if (MHD_get_timeout(daemon_, &library_ms) != MHD_YES) return kDeadlinePeriodMillis;
  return static_cast<int>(std::min<MHD_UNSIGNED_LONG_LONG>(library_ms, kDeadlinePeriodMillis));
}

void HttpEventLoop::Wake() const {
  const uint64_t one = 1;
  // A full counter has woken the loop already.
  if (write(wake_, &one, sizeof(one)) < 0) return;
}

void HttpEventLoop::OnConnection(void* self, MHD_Connection* connection, void** client,
                                 MHD_ConnectionNotificationCode what) {
  auto* loop = static_cast<HttpEventLoop*>(self);
  if (what == MHD_CONNECTION_NOTIFY_STARTED) return loop->Accept(connection, client);
  loop->clients_.remove_if([client](const Client& one) { return &one == *client; });
}

void HttpEventLoop::Accept(MHD_Connection* connection, void** client) {
  const int socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
  clients_.push_back({connection, socket, Now() + limits_.request_ns});
  *client = &clients_.back();
  if (clients_.size() > limits_.connections) HangUpOldest();
}

void* HttpEventLoop::OnUri(void* /*self*/, const char* uri, MHD_Connection* connection) {
  auto* client =
      static_cast<Client*>(MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
  // The library decodes what it passes on later; only here the query is as it was sent.
  const char* query = std::strchr(uri, '?');
  if (query != nullptr) client->query = query + 1;
  return client;
}

MHD_Result HttpEventLoop::OnRequest(void* self, MHD_Connection* /*connection*/, const char* path, const char* method,
                                    const char* /*version*/, const char* /*upload*/, size_t* upload_size,
                                    void** client) {
  if (*upload_size > 0) {
    *upload_size = 0;  // Bodies mean nothing here.
    return MHD_YES;
  }
  return static_cast<HttpEventLoop*>(self)->Advance(*static_cast<Client*>(*client), path, method);
}

// The library calls this when it has the head, when it has all of the request, and when a page has answered.
MHD_Result HttpEventLoop::Advance(Client& client, const std::string& path, const std::string& method) {
  switch (client.stage) {
    case Stage::kReading:
      if (method != "GET" && method != "HEAD") return Answer(client, Plain(405, "only GET and HEAD\n"));
      client.stage = Stage::kHeadRead;
      return MHD_YES;
    case Stage::kHeadRead:
      return Ask(client, path);
    case Stage::kAnswered:
      return Answer(client, std::move(client.response));
    case Stage::kAtPage:
    case Stage::kHungUp:
      break;
  }
  return MHD_NO;
}

MHD_Result HttpEventLoop::Ask(Client& client, const std::string& path) {
  auto page = pages_.find(path);
  if (page == pages_.end()) page = pages_.find(path.substr(0, path.find('/', 1) + 1));
  if (page == pages_.end()) return Answer(client, Plain(404, "no such page\n"));
  const char* authorization =
      MHD_lookup_connection_value(client.connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
  HttpRequest request{path, client.query, authorization == nullptr ? "" : authorization};
  FillCertificate(client, request);
  const bool asked = page->second->TryAsk(std::move(request), [this, &client](HttpResponse response) {
    {
      MutexLock lock(mutex_);
      answers_.emplace_back(&client, std::move(response));
    }
    Wake();
  });
  if (!asked) return Answer(client, Plain(503, "too many requests for this page\n"));
  client.stage = Stage::kAtPage;
  MHD_suspend_connection(client.connection);
  return MHD_YES;
}

// Only what the file of the guard asks for is looked at.
void HttpEventLoop::FillCertificate(const Client& client, HttpRequest& request) const {
  if (tls_ == nullptr || !tls_->asks_client) return;
  auto* session = static_cast<gnutls_session_t>(
      MHD_get_connection_info(client.connection, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session);
  unsigned count = 0;
  if (gnutls_certificate_get_peers(session, &count) == nullptr || count == 0) return;
  unsigned problems = 0;
  const bool is_verified = !tls_->material.authorities.empty() &&
                           gnutls_certificate_verify_peers2(session, &problems) == GNUTLS_E_SUCCESS && problems == 0;
  request.client = is_verified ? HttpClientCertificate::kVerified : HttpClientCertificate::kNotVerified;
  if (is_verified) request.client_names = AlternativeNamesOf(session);
}

void HttpEventLoop::ResumeAnswered() {
  std::vector<std::pair<Client*, HttpResponse>> answers;
  {
    MutexLock lock(mutex_);
    answers.swap(answers_);
  }
  for (auto& [client, response] : answers) {
    client->response = std::move(response);
    client->stage = Stage::kAnswered;
    client->deadline_ns = Now() + limits_.answer_ns;
    MHD_resume_connection(client->connection);
  }
}

MHD_Result HttpEventLoop::Answer(Client& client, HttpResponse response) {
  client.response = std::move(response);
  std::string& body = client.response.body;
  MHD_Response* answer = MHD_create_response_from_buffer(body.size(), body.data(), MHD_RESPMEM_PERSISTENT);
  if (answer == nullptr) return MHD_NO;
  AddHeaders(answer, client.response);
  if (!client.response.challenge.empty()) {
    MHD_add_response_header(answer, MHD_HTTP_HEADER_WWW_AUTHENTICATE, client.response.challenge.c_str());
  }
  const MHD_Result queued = MHD_queue_response(client.connection, client.response.status, answer);
  MHD_destroy_response(answer);
  return queued;
}

void HttpEventLoop::HangUpLate() {
  const int64_t now = Now();
  for (Client& client : clients_) {
    if (client.stage != Stage::kAtPage && client.stage != Stage::kHungUp && client.deadline_ns <= now) HangUp(client);
  }
}

void HttpEventLoop::HangUpOldest() {
  const auto oldest = std::find_if(clients_.begin(), clients_.end(), [](const Client& client) {
    return client.stage != Stage::kAtPage && client.stage != Stage::kHungUp;
  });
  if (oldest != clients_.end()) HangUp(*oldest);
}

// The library closes the connection when it sees its end, on its next turn.
void HttpEventLoop::HangUp(Client& client) {
  client.stage = Stage::kHungUp;
  shutdown(client.socket, SHUT_RDWR);
}

}  // namespace lockstep
