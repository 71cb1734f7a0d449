#include "detector/sentinel/call_gaps.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/clock.h"
#include "detector/model/operation_kind.h"
#include "detector/stats/order_statistics.h"

namespace lockstep {
namespace {

// What recurs is never silent for longer than a period; twice that leaves room for a slow step.
constexpr double kIdlePeriods = 2;
// A gap that comes once is a beginning or a pause. Less than two, since what is old weighs less.
constexpr double kRecurs = 1.5;
constexpr double kAlike = 0.5;  // of a period: shorter gaps lie inside of a burst
// Of so many periods is the memory: from there on all that was seen weighs half.
constexpr double kKeptPeriods = 64;
// Another member is the witness when the first has not reported for so long: its host is lost or slow.
constexpr int64_t kPatienceNs = 10 * kNanosPerSecond;

}  // namespace

size_t CallGaps::BinOf(double seconds) {
  const double place = kBinsPerOctave * std::log2(std::max(seconds, kLeastSeconds) / kLeastSeconds);
  return std::min(static_cast<size_t>(place), kBins - 1);
}

double CallGaps::SecondsOf(size_t bin) {
  return kLeastSeconds * std::exp2((static_cast<double>(bin) + 0.5) / kBinsPerOctave);
}

void CallGaps::Observe(int32_t communicator_slot, int32_t rank, const CommunicatorView& view, int64_t host_ns,
                       int64_t received_ns) {
  const auto slot = static_cast<size_t>(communicator_slot);
  if (slot >= witnesses_.size()) witnesses_.resize(slot + 1);
  Witness& witness = witnesses_[slot];
  if (witness.rank != rank) {
    if (witness.rank >= 0 && received_ns - witness.received_ns <= kPatienceNs) return;
    // Its sequence numbers are the same, its clock is another.
    witness.rank = rank;
    witness.first_host_ns = host_ns;
    witness.end_ns = 0;
  }
  witness.host_ns = host_ns;
  witness.received_ns = received_ns;
  watched_seconds_ = std::max(watched_seconds_, ToSeconds(host_ns - witness.first_host_ns));
  bool listed = false;
  for (const Operation& operation : view.operations) {
    if (IsSendOrRecv(operation.kind)) continue;
    Feed(operation.sequence, operation.end_ns, &witness);
    listed = true;
  }
  if (!listed && view.finished > 0) Feed(view.finished, host_ns, &witness);
}

void CallGaps::Feed(uint64_t sequence, int64_t end_ns, Witness* witness) {
  if (witness->end_ns != 0 && (sequence <= witness->sequence || end_ns <= witness->end_ns)) return;
  if (witness->end_ns != 0) {
    const double passed = ToSeconds(end_ns - witness->end_ns);
    const size_t bin = BinOf(passed / static_cast<double>(sequence - witness->sequence));
    witness->bin_seconds[bin] += static_cast<float>(passed);
    witness->seconds += passed;
  }
  witness->sequence = sequence;
  witness->end_ns = end_ns;
}

void CallGaps::Forget(double kept_seconds, Witness* witness) {
  while (kept_seconds > 0 && witness->seconds > kept_seconds) {
    for (float& seconds : witness->bin_seconds) seconds /= 2;
    witness->seconds /= 2;
  }
}

RarestCalls CallGaps::CallsOf(const Witness& witness) {
  double gaps = 0;
  double seconds = 0;
  size_t bin = kBins;
  while (bin-- > 0) {
    seconds += witness.bin_seconds[bin];
    gaps += witness.bin_seconds[bin] / SecondsOf(bin);
    if (gaps >= kRecurs && 2 * seconds >= witness.seconds) break;
  }
  if (bin == std::numeric_limits<size_t>::max()) return {};
  const double period = SecondsOf(bin);
  while (bin-- > 0 && SecondsOf(bin) >= kAlike * period) gaps += witness.bin_seconds[bin] / SecondsOf(bin);
  return {.period_seconds = period, .seen_seconds = gaps * period};
}

double CallGaps::SilenceOf(const Witness& witness) { return ToSeconds(witness.host_ns - witness.end_ns); }

double CallGaps::LeastSilence() const {
  double least = std::numeric_limits<double>::infinity();
  for (const Witness& witness : witnesses_) {
    if (witness.end_ns != 0) least = std::min(least, SilenceOf(witness));
  }
  return std::isfinite(least) ? least : 0;
}

RarestCalls CallGaps::Rarest() {
  RarestCalls rarest;
  const double pause = LeastSilence();
  for (Witness& witness : witnesses_) {
    const RarestCalls calls = CallsOf(witness);
    Forget(kKeptPeriods * calls.period_seconds, &witness);
    const bool recurs = SilenceOf(witness) - pause <= kIdlePeriods * calls.period_seconds;
    if (recurs && calls.period_seconds > rarest.period_seconds) rarest = calls;
  }
  return rarest;
}

}  // namespace lockstep
