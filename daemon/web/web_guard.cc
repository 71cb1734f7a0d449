#include "daemon/web/web_guard.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "daemon/bounded_file.h"
#include "daemon/password_hash.h"

namespace lockstep {
namespace {

constexpr char kTextType[] = "text/plain; charset=utf-8";
constexpr size_t kMaxCredentialBytes = 4'096;
// Of no password that anybody has; checked so that an unknown name takes as long as a wrong password.
constexpr char kNobodysHash[] = "$2b$10$aaaaaaaaaaaaaaaaaaaaaeaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

std::string FolderOf(const std::string& file) {
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

}  // namespace

WebGuard::WebGuard(std::string file, bool needs_tls, const Clock& clock)
    : file_(std::move(file)), needs_tls_(needs_tls), clock_(clock), state_(std::make_shared<const State>()) {}

absl::StatusOr<std::unique_ptr<WebGuard>> WebGuard::Open(const std::string& file, bool needs_tls, const Clock& clock) {
  std::unique_ptr<WebGuard> guard(new WebGuard(file, needs_tls, clock));
  if (file.empty()) return guard;
  ASSIGN_OR_RETURN(std::shared_ptr<const State> state, guard->Read());
  const MutexLock lock(guard->mutex_);
  guard->Use(std::move(state));
  return guard;
}

void WebGuard::Use(std::shared_ptr<const State> state) {
  const WebConfig& config = state->config;
  if (config.request_interval_ns == 0) {
    requests_.reset();
  } else if (!requests_.has_value() || config.request_interval_ns != state_->config.request_interval_ns ||
             config.request_burst != state_->config.request_burst) {
    requests_.emplace(config.request_interval_ns, config.request_burst);
  }
  state_ = std::move(state);
}

absl::StatusOr<std::shared_ptr<const WebGuard::State>> WebGuard::Read() const {
  auto state = std::make_shared<State>();
  ASSIGN_OR_RETURN(state->text, ReadBoundedFile(file_));
  absl::StatusOr<WebConfig> config = ParseWebConfig(state->text, FolderOf(file_));
  if (!config.ok()) return absl::InvalidArgumentError(absl::StrCat(file_, ": ", config.status().message()));
  state->config = *std::move(config);
  if (!state->config.has_tls()) {
    if (!needs_tls_) return state;
    return absl::InvalidArgumentError(
        absl::StrCat(file_, ": has no tls_server_config, and other machines reach the pages in plain text"));
  }
  absl::StatusOr<TlsMaterial> material = ReadTlsFiles(state->config.tls, state->config.given);
  if (!material.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(file_, ": ", material.status().message()));
  }
  state->tls = std::make_shared<const Tls>(Tls{*std::move(material), state->config.tls_policy.Priorities(),
                                               state->config.client != WebClientCertificate::kNone});
  return state;
}

bool WebGuard::Refresh() {
  if (file_.empty()) return false;
  absl::StatusOr<std::shared_ptr<const State>> read = Read();
  const MutexLock lock(mutex_);
  if (!read.ok()) {
    const std::string error(read.status().message());
    if (told_error_.IsNews(error)) Log(LogLevel::kError, "the guard of the pages stays as it is", {{"error", error}});
    return false;
  }
  told_error_.Clear();
  const bool same_tls =
      state_->tls == nullptr ? (*read)->tls == nullptr : (*read)->tls != nullptr && *state_->tls == *(*read)->tls;
  if (same_tls && state_->text == (*read)->text) return false;
  Use(*std::move(read));
  Log(LogLevel::kInfo, "the guard of the pages was read again", {{"file", file_}});
  return !same_tls;
}

std::shared_ptr<const WebGuard::Tls> WebGuard::tls() const {
  const MutexLock lock(mutex_);
  return state_->tls;
}

std::string WebGuard::text() const {
  const MutexLock lock(mutex_);
  return state_->text;
}

bool WebGuard::KnowsPassword(const State& state, absl::string_view authorization) {
  std::string credential;
  if (authorization.size() > kMaxCredentialBytes || !absl::ConsumePrefix(&authorization, "Basic ") ||
      !absl::Base64Unescape(authorization, &credential)) {
    return false;
  }
  if (state.verified.Knows(credential)) return true;
  if (!state.verified.TakeCheck(clock_.MonotonicNanos())) return false;
  const size_t colon = credential.find(':');
  if (colon == std::string::npos) return false;
  const auto user = state.config.users.find(credential.substr(0, colon));
  const bool known = user != state.config.users.end();
  const bool matches = MatchesHash(credential.substr(colon + 1), known ? user->second : kNobodysHash);
  if (known && matches) state.verified.Remember(credential);
  return known && matches;
}

std::vector<std::pair<std::string, std::string>> WebGuard::headers() const {
  const MutexLock lock(mutex_);
  return state_->config.headers;
}

bool WebGuard::HasCertificate(const WebConfig& config, const HttpRequest& request) {
  const bool is_allowed = config.client_names.empty() ||
                          std::any_of(request.client_names.begin(), request.client_names.end(),
                                      [&](const std::string& name) { return config.client_names.contains(name); });
  switch (request.client) {
    case HttpClientCertificate::kNone:
      return config.client == WebClientCertificate::kNone || config.client == WebClientCertificate::kVerifiedIfGiven;
    case HttpClientCertificate::kNotVerified:
      return config.client == WebClientCertificate::kNone || config.client == WebClientCertificate::kAny;
    case HttpClientCertificate::kVerified:
      return is_allowed;
  }
  return false;
}

std::optional<HttpResponse> WebGuard::Refusal(const HttpRequest& request, bool is_private) {
  std::shared_ptr<const State> state;
  {
    const MutexLock lock(mutex_);
    // First of all, as with the exporters: who guesses at passwords is held up as well.
    if (requests_.has_value() && !requests_->Take(clock_.MonotonicNanos())) {
      return HttpResponse{429, kTextType, "more requests than the rate_limit of the guard lets through\n"};
    }
    state = state_;
  }
  if (!HasCertificate(state->config, request)) {
    return HttpResponse{403, kTextType, "a certificate of an authority that is believed here is needed\n"};
  }
  if (is_private && state->config.users.empty() && state->config.client != WebClientCertificate::kVerified) {
    return HttpResponse{403, kTextType, "this page needs web_config with passwords or certificates of clients\n"};
  }
  if (state->config.users.empty() || KnowsPassword(*state, request.authorization)) return std::nullopt;
  HttpResponse refusal{401, kTextType, "a name and its password are needed\n"};
  refusal.challenge = "Basic realm=\"lockstep\"";
  return refusal;
}

}  // namespace lockstep
