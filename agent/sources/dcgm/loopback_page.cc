#include "agent/sources/dcgm/loopback_page.h"

#include <curl/curl.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

// libcurl wants to be told once per process, before any thread uses it.
void InitializeCurlOnce() {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);
  CHECK(initialized == CURLE_OK);
}

// A part of `url`; "" = it has none.
std::string PartOf(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return "";
  std::string result = text;
  curl_free(text);
  return result;
}

// libcurl knows the addresses of localhost by itself and asks nobody for them.
bool IsLoopback(absl::string_view host) { return host == "127.0.0.1" || host == "[::1]" || host == "localhost"; }

}  // namespace

// Read by the parser that also makes the request, so that both see the same host.
absl::Status CheckLoopbackUrl(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parsed(curl_url(), curl_url_cleanup);
  CHECK(parsed != nullptr);
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) {
    return absl::InvalidArgumentError(absl::StrCat("'", url, "' is no URL"));
  }
  if (PartOf(parsed.get(), CURLUPART_SCHEME) != "http") {
    return absl::InvalidArgumentError(absl::StrCat("'", url, "' is not http://"));
  }
  if (!IsLoopback(PartOf(parsed.get(), CURLUPART_HOST))) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", url, "' is not on this machine: the host must be 127.0.0.1, [::1] or localhost"));
  }
  const bool has_user = !PartOf(parsed.get(), CURLUPART_USER).empty();
  return has_user ? absl::InvalidArgumentError("a user in the URL is not supported") : absl::OkStatus();
}

class LoopbackPage::Handle {
 public:
  explicit Handle(const std::string& url) {
    InitializeCurlOnce();
    curl_ = curl_easy_init();
    CHECK(curl_ != nullptr);
    curl_easy_setopt(curl_, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl_, CURLOPT_PROTOCOLS_STR, "http");
    curl_easy_setopt(curl_, CURLOPT_PROXY, "");
    curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl_, CURLOPT_USERAGENT, "lockstep-agent");
    curl_easy_setopt(curl_, CURLOPT_TIMEOUT_MS, static_cast<long>(kTimeoutNs / kNanosPerMilli));
    curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, Keep);
    curl_easy_setopt(curl_, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, error_);
  }
  ~Handle() { curl_easy_cleanup(curl_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  absl::StatusOr<std::string> Get() {
    page_.clear();
    is_too_large_ = false;
    error_[0] = '\0';
    const CURLcode code = curl_easy_perform(curl_);
    if (is_too_large_) return absl::OutOfRangeError(absl::StrCat("the page has more than ", kMaxBytes, " bytes"));
    if (code != CURLE_OK) return absl::UnavailableError(error_[0] != '\0' ? error_ : curl_easy_strerror(code));
    long status = 0;
    curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) return absl::UnavailableError(absl::StrCat("the answer has status ", status));
    return std::exchange(page_, {});
  }

 private:
  static size_t Keep(char* data, size_t size, size_t count, void* handle) {
    Handle& self = *static_cast<Handle*>(handle);
    self.is_too_large_ = self.page_.size() + size * count > kMaxBytes;
    if (self.is_too_large_) return 0;
    self.page_.append(data, size * count);
    return size * count;
  }

  CURL* curl_ = nullptr;
  std::string page_;
  bool is_too_large_ = false;
  char error_[CURL_ERROR_SIZE] = "";
};

LoopbackPage::LoopbackPage(std::string url) : url_(std::move(url)), handle_(std::make_unique<Handle>(url_)) {}
LoopbackPage::~LoopbackPage() = default;

absl::StatusOr<std::string> LoopbackPage::Get() {
  RETURN_IF_ERROR(CheckLoopbackUrl(url_));
  return handle_->Get();
}

}  // namespace lockstep
