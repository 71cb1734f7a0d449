#include "daemon/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "daemon/bounded_file.h"
#include "daemon/loopback.h"

namespace lockstep {
namespace {

// What is kept of the body of an answer.
struct Body {
  std::string text;
  size_t max_bytes = 0;
  bool may_be_cut = false;  // what is beyond is left out; otherwise it ends the call
};

size_t TakeBody(char* data, size_t size, size_t count, void* user) {
  Body& body = *static_cast<Body*>(user);
  const size_t bytes = size * count;
  const size_t room = body.max_bytes - body.text.size();
  if (bytes > room && !body.may_be_cut) return 0;
  body.text.append(data, std::min(bytes, room));
  return bytes;
}

int AskAbort(void* abort, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return (*static_cast<std::function<bool()>*>(abort))() ? 1 : 0;
}

// libcurl wants to be told once per process, before any thread uses it.
void InitializeCurlOnce() {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);
  CHECK(initialized == CURLE_OK);
}

// A part of a URL; "" where it has none.
std::string PartOf(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return "";
  std::string result(text);
  curl_free(text);
  return result;
}

// As far as it matters to whom a call goes.
struct Url {
  std::string scheme;
  bool is_loopback = false;
  bool has_user = false;
};

// By the parser that also makes the call, so that both see the same host.
std::optional<Url> Parse(const std::string& text) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url(curl_url(), curl_url_cleanup);
  CHECK(url != nullptr);
  if (curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return std::nullopt;
  const std::string address = absl::StrCat(PartOf(url.get(), CURLUPART_HOST), ":", PartOf(url.get(), CURLUPART_PORT));
  return Url{PartOf(url.get(), CURLUPART_SCHEME), IsLoopbackAddress(address),
             !PartOf(url.get(), CURLUPART_USER).empty()};
}

}  // namespace

absl::Status CheckTrustworthyUrl(const std::string& url) {
  const std::optional<Url> parsed = Parse(url);
  if (!parsed.has_value()) return absl::InvalidArgumentError(absl::StrCat("is no URL: ", url));
  if (parsed->scheme == "https" || (parsed->scheme == "http" && parsed->is_loopback)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("must be https, or http to loopback: ", url));
}

absl::Status CheckLoopbackUrl(const std::string& url) {
  const std::optional<Url> parsed = Parse(url);
  const char* const wrong = !parsed.has_value()        ? "is no URL"
                            : parsed->scheme != "http" ? "is not http://"
                            : !parsed->is_loopback
                                ? "is not on this machine: the host must be 127.0.0.1, [::1] or localhost"
                            : parsed->has_user ? "has a user, which is not supported"
                                               : nullptr;
  return wrong == nullptr ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrCat("'", url, "' ", wrong));
}

absl::Status CheckAuthorities(const std::string& file) {
  if (file.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string text, ReadBoundedFile(file));
  if (absl::StrContains(text, "-----BEGIN CERTIFICATE-----")) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(file, " holds no certificate"));
}

class HttpClient::Handle {
 public:
  Handle(const HttpOptions& options, std::function<bool()> abort) : abort_(std::move(abort)) {
    InitializeCurlOnce();
    curl_ = curl_easy_init();
    CHECK(curl_ != nullptr);
    curl_easy_setopt(curl_, CURLOPT_URL, options.url.c_str());
    curl_easy_setopt(curl_, CURLOPT_PROTOCOLS_STR, "http,https");
    const std::optional<Url> url = Parse(options.url);
    if (url.has_value() && url->is_loopback) curl_easy_setopt(curl_, CURLOPT_PROXY, "");
    curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl_, CURLOPT_USERAGENT, "lockstep");
    curl_easy_setopt(curl_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout_ns / kNanosPerMilli));
    curl_easy_setopt(curl_, CURLOPT_TIMEOUT_MS, static_cast<long>(options.timeout_ns / kNanosPerMilli));
    curl_easy_setopt(curl_, CURLOPT_TCP_KEEPALIVE, 1L);
    if (!options.authorities.empty()) {
      curl_easy_setopt(curl_, CURLOPT_CAINFO, options.authorities.c_str());
      curl_easy_setopt(curl_, CURLOPT_CAPATH, nullptr);       // these, and no others
      curl_easy_setopt(curl_, CURLOPT_CA_CACHE_TIMEOUT, 0L);  // a renewed file counts from the next connection on
    }
    curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, TakeBody);
    curl_easy_setopt(curl_, CURLOPT_WRITEDATA, &body_);
    curl_easy_setopt(curl_, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl_, CURLOPT_XFERINFOFUNCTION, AskAbort);
    curl_easy_setopt(curl_, CURLOPT_XFERINFODATA, &abort_);
    curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, error_);
  }
  ~Handle() { curl_easy_cleanup(curl_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  HttpAnswer Post(const std::string& body, const std::vector<std::string>& headers) {
    body_ = {.text = "", .max_bytes = kKeptOfAnswer, .may_be_cut = true};
    curl_slist* lines = curl_slist_append(nullptr, "Content-Type: application/json");
    lines = curl_slist_append(lines, "Expect:");  // no round trip to ask whether a body is welcome
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, body.c_str());
    return CallWith(lines, headers);
  }

  HttpAnswer Get(size_t max_bytes, const std::vector<std::string>& headers) {
    body_ = {.text = "", .max_bytes = max_bytes};
    curl_easy_setopt(curl_, CURLOPT_HTTPGET, 1L);
    return CallWith(nullptr, headers);
  }

 private:
  // With `lines`, which it frees, and `headers` behind them.
  HttpAnswer CallWith(curl_slist* lines, const std::vector<std::string>& headers) {
    for (const std::string& header : headers) lines = curl_slist_append(lines, header.c_str());
    curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, lines);
    HttpAnswer answer = Call();
    curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, nullptr);
    curl_slist_free_all(lines);
    return answer;
  }

  HttpAnswer Call() {
    error_[0] = '\0';
    const CURLcode code = curl_easy_perform(curl_);
    HttpAnswer answer;
    if (code != CURLE_OK) {
      answer.error = error_[0] != '\0' ? error_ : curl_easy_strerror(code);
      answer.is_too_long = code == CURLE_WRITE_ERROR;
      if (answer.is_too_long) answer.error = absl::StrCat("the answer is longer than ", body_.max_bytes, " bytes");
      return answer;
    }
    long status = 0;
    curl_off_t retry_after_s = 0;
    curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(curl_, CURLINFO_RETRY_AFTER, &retry_after_s);
    answer.status = static_cast<int>(status);
    answer.body = std::move(body_.text);
    constexpr curl_off_t kLongestRetryAfterSeconds = 86'400;
    if (retry_after_s > 0) answer.retry_after_ns = std::min(retry_after_s, kLongestRetryAfterSeconds) * kNanosPerSecond;
    return answer;
  }

  std::function<bool()> abort_;
  Body body_;
  CURL* curl_ = nullptr;
  char error_[CURL_ERROR_SIZE] = "";
};

HttpClient::HttpClient(const HttpOptions& options, std::function<bool()> abort)
    : handle_(std::make_unique<Handle>(options, std::move(abort))) {}
HttpClient::~HttpClient() = default;

HttpAnswer HttpClient::PostJson(const std::string& body, const std::vector<std::string>& headers) {
  return handle_->Post(body, headers);
}

HttpAnswer HttpClient::Get(size_t max_bytes, const std::vector<std::string>& headers) {
  return handle_->Get(max_bytes, headers);
}

}  // namespace lockstep
