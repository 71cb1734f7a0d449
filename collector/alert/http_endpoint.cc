#include "collector/alert/http_endpoint.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace lockstep {
namespace {

HttpOptions OptionsFor(const ReceiverSpec& receiver, const std::string& url, int64_t timeout_ns) {
  HttpOptions options;
  const char* const path = ProtocolOf(receiver.type).path;
  options.url = *path == '\0' ? url : absl::StrCat(absl::StripSuffix(url, "/"), path);
  options.authorities = receiver.authorities;
  options.timeout_ns = timeout_ns;
  return options;
}

}  // namespace

HttpEndpoint::HttpEndpoint(const ReceiverSpec& receiver, const std::string& url, int64_t timeout_ns,
                           std::function<bool()> abort)
    : receiver_(receiver),
      protocol_(ProtocolOf(receiver.type)),
      client_(OptionsFor(receiver, url, timeout_ns), std::move(abort)) {}

AlertEndpoint::Answer HttpEndpoint::Send(const IncidentEvent& event, const DeliveryContext& context) {
  AlertMessage message = protocol_.message(event, receiver_, context);
  message.headers.insert(message.headers.end(), receiver_.headers.begin(), receiver_.headers.end());
  if (!receiver_.token.empty()) message.headers.push_back(absl::StrCat("Authorization: Bearer ", receiver_.token));
  const HttpAnswer answer = client_.PostJson(message.body, message.headers);
  return {.verdict = protocol_.judge(receiver_, answer), .retry_after_ns = answer.retry_after_ns};
}

}  // namespace lockstep
