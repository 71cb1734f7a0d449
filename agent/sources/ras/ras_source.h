// NCCL's own view of a job, from the RAS service that NCCL 2.24 and newer runs inside every process: which processes do
// not answer any more, and which ranks launched fewer operations than the others.
//
// An answer costs the job a round through all of its processes, so that not every machine may ask: whoever asks learns
// where rank 0 of the largest communicator runs, and only the agent of that machine goes on asking often.
//
// Sees the job whose service this machine's network shows: one at a time, no job of another network namespace.

#ifndef LOCKSTEP_AGENT_SOURCES_RAS_RAS_SOURCE_H_
#define LOCKSTEP_AGENT_SOURCES_RAS_RAS_SOURCE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "agent/source.h"
#include "agent/sources/ras/ras_conversation.h"
#include "base/clock.h"
#include "base/random.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// The addresses of this machine's interfaces, as text. Empty when they cannot be had.
std::vector<std::string> InterfaceAddresses();

// Never waits: a question is asked in one tick and its answer taken in a later one. Ticks between two answers repeat
// how the last one went. NoData where nobody listens, before the first answer, and where NCCL is too old for JSON; an
// error when the service does not answer in kPatienceNs, hangs up or answers nonsense. Not thread-safe.
class RasSource final : public Source {
 public:
  static constexpr int64_t kLookNs = 10 * kNanosPerSecond;     // between two looks for a service
  static constexpr int64_t kLeaderNs = 15 * kNanosPerSecond;   // between two questions of the machine of rank 0
  static constexpr int64_t kOthersNs = 600 * kNanosPerSecond;  // and of all others: rank 0 may move
  static constexpr int64_t kAfterErrorNs = 60 * kNanosPerSecond;
  static constexpr int64_t kPatienceNs = 20 * kNanosPerSecond;  // for one answer
  // The machines of a job find the service at the same moment; their first questions are spread over this time.
  static constexpr int64_t kSpreadNs = 30 * kNanosPerSecond;

  // `own_addresses` tells whether rank 0 runs here.
  RasSource(RasAddress address, Random random, std::vector<std::string> (*own_addresses)())
      : address_(std::move(address)), random_(random), own_addresses_(own_addresses) {}

  absl::string_view name() const override { return "nccl_ras"; }
  bool comes_and_goes() const override { return true; }
  absl::Status Collect(const Tick& tick, wire::AgentReport& report) override;

  bool is_asking() const { return conversation_.has_value(); }  // a question is out and not answered
  uint64_t questions() const { return questions_; }             // asked so far

 private:
  void Look(int64_t now_ns);
  void Listen(int64_t now_ns, wire::AgentReport& report);
  // Ends the conversation.
  void Conclude(absl::Status outcome, int64_t next_ns);
  absl::Status Take(const std::string& text, int64_t now_ns, wire::AgentReport& report);

  const RasAddress address_;
  Random random_;
  std::vector<std::string> (*const own_addresses_)();
  absl::optional<RasConversation> conversation_;
  int64_t asked_ns_ = 0;  // of the conversation
  int64_t next_ns_ = 0;   // when to look or ask again
  bool found_ = false;    // somebody listened when last looked
  bool leads_ = false;    // rank 0 runs here
  uint64_t questions_ = 0;
  absl::Status outcome_ = NoData("not asked yet");
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RAS_RAS_SOURCE_H_
