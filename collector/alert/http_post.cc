#include "collector/alert/http_post.h"

#include <curl/curl.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/clock.h"

namespace lockstep {
namespace {

// The answer's body says nothing that the status does not.
size_t DiscardBody(char* /*data*/, size_t size, size_t count, void* /*user*/) { return size * count; }

int AskAbort(void* abort, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return (*static_cast<std::function<bool()>*>(abort))() ? 1 : 0;
}

// libcurl wants to be told once per process, before any thread uses it.
void InitializeCurlOnce() {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);
  CHECK(initialized == CURLE_OK);
}

}  // namespace

class HttpPoster::Handle {
 public:
  Handle(const HttpPostOptions& options, std::function<bool()> abort) : abort_(std::move(abort)) {
    InitializeCurlOnce();
    curl_ = curl_easy_init();
    CHECK(curl_ != nullptr);
    headers_ = curl_slist_append(headers_, "Content-Type: application/json");
    headers_ = curl_slist_append(headers_, "Expect:");  // no round trip to ask whether a body is welcome
    curl_easy_setopt(curl_, CURLOPT_URL, options.url.c_str());
    curl_easy_setopt(curl_, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl_, CURLOPT_USERAGENT, "lockstep-collector");
    curl_easy_setopt(curl_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout_ns / kNanosPerMilli));
    curl_easy_setopt(curl_, CURLOPT_TIMEOUT_MS, static_cast<long>(options.timeout_ns / kNanosPerMilli));
    curl_easy_setopt(curl_, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers_);
    curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, DiscardBody);
    curl_easy_setopt(curl_, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl_, CURLOPT_XFERINFOFUNCTION, AskAbort);
    curl_easy_setopt(curl_, CURLOPT_XFERINFODATA, &abort_);
    curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, error_);
  }
  ~Handle() {
    curl_easy_cleanup(curl_);
    curl_slist_free_all(headers_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  HttpAnswer Post(const std::string& body) {
    error_[0] = '\0';
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, body.c_str());
    const CURLcode code = curl_easy_perform(curl_);
    HttpAnswer answer;
    if (code != CURLE_OK) {
      answer.error = error_[0] != '\0' ? error_ : curl_easy_strerror(code);
      return answer;
    }
    long status = 0;
    curl_off_t retry_after_s = 0;
    curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(curl_, CURLINFO_RETRY_AFTER, &retry_after_s);
    answer.status = static_cast<int>(status);
    constexpr curl_off_t kLongestRetryAfterSeconds = 86'400;
    if (retry_after_s > 0) answer.retry_after_ns = std::min(retry_after_s, kLongestRetryAfterSeconds) * kNanosPerSecond;
    return answer;
  }

 private:
  std::function<bool()> abort_;
  CURL* curl_ = nullptr;
  curl_slist* headers_ = nullptr;
  char error_[CURL_ERROR_SIZE] = "";
};

HttpPoster::HttpPoster(const HttpPostOptions& options, std::function<bool()> abort)
    : handle_(std::make_unique<Handle>(options, std::move(abort))) {}
HttpPoster::~HttpPoster() = default;

HttpAnswer HttpPoster::PostJson(const std::string& body) { return handle_->Post(body); }

}  // namespace lockstep
