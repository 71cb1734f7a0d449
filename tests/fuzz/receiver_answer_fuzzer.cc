// Whoever answers in the place of a receiver of alerts, or the receiver itself, may answer anything: only what it has
// taken counts as taken, and why it has not can be told.
//
// Input: the status of the answer (2 bytes, little-endian), and its body.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "collector/alert/alert_message.h"
#include "collector/alert/alert_protocol.h"
#include "collector/alert/receiver_spec.h"
#include "daemon/http_client.h"

namespace {

constexpr size_t kStatusBytes = 2;
constexpr size_t kWordsOfOurs = 200;  // beside what is quoted

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kStatusBytes) return 0;
  lockstep::HttpAnswer answer;
  answer.status = (data[0] + (data[1] << 8)) % 1'000;
  answer.error = answer.status == 0 ? "nobody answers" : "";
  const char* body = reinterpret_cast<const char*>(data) + kStatusBytes;
  answer.body.assign(body, std::min(size - kStatusBytes, lockstep::HttpClient::kKeptOfAnswer));
  for (const lockstep::AlertProtocol& protocol : lockstep::AllAlertProtocols()) {
    if (protocol.judge == nullptr) continue;
    for (const char* token : {"", "of an API"}) {
      lockstep::ReceiverSpec receiver;
      receiver.type = protocol.type;
      receiver.token = token;
      const lockstep::AnswerVerdict verdict = protocol.judge(receiver, answer);
      const bool taken = verdict.outcome == lockstep::AnswerVerdict::Outcome::kTaken;
      CHECK(!taken || (answer.status >= 200 && answer.status < 300));
      CHECK(taken == verdict.why.empty());
      CHECK(taken || verdict.thread.empty());
      CHECK(verdict.why.size() <= lockstep::HttpClient::kKeptOfAnswer + kWordsOfOurs);
      CHECK(verdict.thread.size() <= answer.body.size());
    }
  }
  return 0;
}
