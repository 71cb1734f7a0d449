// libcurl's functions as http_client.cc calls them for posts: posts go to the simulated receiver.

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include <cstdarg>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "tests/faults/simulated_receiver.h"

#undef curl_easy_setopt
#undef curl_easy_getinfo

namespace {

struct SimulatedTransfer {
  const char* body = nullptr;
  size_t bytes = 0;
  int64_t timeout_ns = 0;
  curl_xferinfo_callback ask_abort = nullptr;
  void* abort = nullptr;
  long status = 0;
};

SimulatedTransfer& Of(CURL* handle) { return *static_cast<SimulatedTransfer*>(handle); }

}  // namespace

extern "C" {

CURLcode curl_global_init(long) { return CURLE_OK; }
CURL* curl_easy_init() { return reinterpret_cast<CURL*>(new SimulatedTransfer); }
void curl_easy_cleanup(CURL* handle) { delete &Of(handle); }
curl_slist* curl_slist_append(curl_slist* list, const char*) { return list; }
void curl_slist_free_all(curl_slist*) {}
const char* curl_easy_strerror(CURLcode) { return "simulated: no answer"; }

// libcurl declares these two with an enum before the dots, which is promoted to itself.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvarargs"

CURLcode curl_easy_setopt(CURL* handle, CURLoption option, ...) {
  SimulatedTransfer& transfer = Of(handle);
  va_list arguments;
  va_start(arguments, option);
  switch (option) {
    case CURLOPT_POSTFIELDS:
      transfer.body = va_arg(arguments, const char*);
      break;
    case CURLOPT_POSTFIELDSIZE_LARGE:
      transfer.bytes = static_cast<size_t>(va_arg(arguments, curl_off_t));
      break;
    case CURLOPT_TIMEOUT_MS:
      transfer.timeout_ns = va_arg(arguments, long) * lockstep::kNanosPerMilli;
      break;
    case CURLOPT_XFERINFOFUNCTION:
      transfer.ask_abort = va_arg(arguments, curl_xferinfo_callback);
      break;
    case CURLOPT_XFERINFODATA:
      transfer.abort = va_arg(arguments, void*);
      break;
    default:
      break;
  }
  va_end(arguments);
  return CURLE_OK;
}

CURLcode curl_easy_perform(CURL* handle) {
  SimulatedTransfer& transfer = Of(handle);
  const auto abort = [&] { return transfer.ask_abort(transfer.abort, 0, 0, 0, 0) != 0; };
  transfer.status =
      lockstep::faults::Receiver().Post(std::string(transfer.body, transfer.bytes), transfer.timeout_ns, abort);
  return transfer.status == 0 ? CURLE_GOT_NOTHING : CURLE_OK;
}

CURLcode curl_easy_getinfo(CURL* handle, CURLINFO info, ...) {
  va_list arguments;
  va_start(arguments, info);
  if (info == CURLINFO_RESPONSE_CODE) *va_arg(arguments, long*) = Of(handle).status;
  if (info == CURLINFO_RETRY_AFTER) *va_arg(arguments, curl_off_t*) = 0;
  va_end(arguments);
  return CURLE_OK;
}

#pragma GCC diagnostic pop

}  // extern "C"
