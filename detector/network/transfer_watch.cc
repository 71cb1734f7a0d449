#include "detector/network/transfer_watch.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/clock.h"

namespace lockstep {
namespace {

bool WentBack(const TransferWaits& before, const TransferWaits& now) {
  bool back = now.steps < before.steps || now.bytes < before.bytes;
  for (size_t wait = 0; wait < 3; ++wait) back = back || now.waits_ns[wait] < before.waits_ns[wait];
  return back;
}

double Seconds(const TransferWaits& from, const TransferWaits& to, size_t wait) {
  return static_cast<double>(to.waits_ns[wait] - from.waits_ns[wait]) / kNanosPerSecond;
}

// Order of TransferWaits::waits_ns.
constexpr size_t kCredit = 1;
constexpr size_t kWire = 2;
constexpr size_t kDrain = 2;

void AddSent(const TransferWaits& from, const TransferWaits& to, FlowWaits* waits) {
  waits->chunks = to.steps - from.steps;
  waits->bytes = to.bytes - from.bytes;
  waits->credit_seconds = Seconds(from, to, kCredit);
  waits->wire_seconds = Seconds(from, to, kWire);
}

void AddReceived(const TransferWaits& from, const TransferWaits& to, FlowWaits* waits) {
  waits->received_chunks = to.steps - from.steps;
  waits->drain_seconds = Seconds(from, to, kDrain);
}

// Whose recorders can watch, those of `first` before the others.
std::vector<std::string> HostsToAsk(const Roster& roster, const std::vector<std::string>& first, size_t limit) {
  std::set<std::string> able;
  for (size_t slot = 0; slot < roster.ranks().size(); ++slot) {
    const RankProcess& rank = roster.ranks()[slot];
    if (rank.can_watch_transfers && !rank.disabled && !rank.finalized && !rank.dead()) {
      able.insert(roster.HostName(static_cast<int32_t>(slot)));
    }
  }
  std::vector<std::string> hosts;
  for (const std::string& host : first) {
    if (able.erase(host) > 0) hosts.push_back(host);
  }
  hosts.insert(hosts.end(), able.begin(), able.end());
  if (hosts.size() > limit) hosts.resize(limit);
  return hosts;
}

}  // namespace

void TransferWatch::Observe(int32_t rank_slot, const Roster::Place& place, const std::vector<TransferWaits>& transfers,
                            int64_t received_ns) {
  if (!open_ || place.member < 0) return;
  const bool first_half = received_ns - begun_ns_ < options_.duration_ns / 2;
  for (const TransferWaits& transfer : transfers) {
    const RowKey key = {rank_slot, place.communicator_slot, place.member, transfer.peer, transfer.is_send};
    const auto known = rows_.find(key);
    if (known == rows_.end()) {
      if (rows_.size() < options_.max_rows) {
        rows_.emplace(key, Row{transfer, transfer, transfer});
      } else {
        ++discarded_;
      }
      continue;
    }
    Row& row = known->second;
    if (WentBack(row.newest, transfer)) row = {transfer, transfer, transfer};
    row.newest = transfer;
    if (first_half) row.middle = transfer;
  }
}

void TransferWatch::Observe(const HostReport& report) {
  for (const PullAnswer& answer : report.answers) {
    if (!open_ || answer.request < first_id_ || answer.request >= next_id_) continue;
    ++(answer.done ? answered_ : refused_);
  }
}

std::vector<WatchRequest> TransferWatch::Advance(const Roster& roster, int64_t watermark_ns, const WatchNeed& need) {
  if (open_ && watermark_ns - begun_ns_ >= options_.duration_ns + options_.settle_ns) {
    WatchedTransfers result;
    result.reason = std::move(reason_);
    result.seconds = static_cast<double>(options_.duration_ns) / kNanosPerSecond;
    result.flows = Flows(roster);
    std::vector<int32_t> host_of;
    for (const RankProcess& rank : roster.ranks()) host_of.push_back(rank.host_slot);
    result.judgement = JudgeDelays(result.flows, host_of);
    result_ = std::move(result);
    ++watches_;
    open_ = false;
    ended_ns_ = watermark_ns;
    rows_.clear();
  }
  const bool may = need.wanted && !open_ && (ended_ns_ == 0 || watermark_ns - ended_ns_ >= options_.pause_ns);
  return may ? Begin(roster, watermark_ns, need) : std::vector<WatchRequest>();
}

std::vector<WatchRequest> TransferWatch::Begin(const Roster& roster, int64_t watermark_ns, const WatchNeed& need) {
  const std::vector<std::string> hosts = HostsToAsk(roster, need.hosts, options_.max_hosts);
  if (hosts.empty()) return {};
  open_ = true;
  begun_ns_ = watermark_ns;
  first_id_ = next_id_;
  reason_ = need.reason;
  std::vector<WatchRequest> requests;
  requests.reserve(hosts.size());
  for (const std::string& host : hosts) requests.push_back({host, next_id_++, options_.duration_ns, need.reason});
  return requests;
}

std::vector<TransferFlow> TransferWatch::Flows(const Roster& roster) const {
  std::vector<RowKey> keys;
  for (const auto& [key, row] : rows_) {
    if (std::get<4>(key)) keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  std::map<std::pair<int32_t, std::string>, int32_t> families;
  std::vector<TransferFlow> flows;
  for (const RowKey& key : keys) {
    const auto [source, slot, member, peer, is_send] = key;
    const Communicator& communicator = roster.communicators()[static_cast<size_t>(slot)];
    if (peer < 0 || static_cast<size_t>(peer) >= communicator.members.size()) continue;
    const int32_t destination = communicator.members[static_cast<size_t>(peer)].rank_slot;
    if (destination < 0) continue;
    TransferFlow& flow = flows.emplace_back();
    flow.source = source;
    flow.destination = destination;
    const auto next = static_cast<int32_t>(families.size());
    flow.family = families.emplace(std::pair(communicator.size, communicator.name), next).first->second;
    const Row& sent = rows_.at(key);
    AddSent(sent.first, sent.middle, &flow.halves[0]);
    AddSent(sent.middle, sent.newest, &flow.halves[1]);
    const auto received = rows_.find(RowKey{destination, slot, peer, member, false});
    if (received == rows_.end()) continue;
    AddReceived(received->second.first, received->second.middle, &flow.halves[0]);
    AddReceived(received->second.middle, received->second.newest, &flow.halves[1]);
  }
  return flows;
}

void TransferWatch::Clear() {
  open_ = false;
  ended_ns_ = 0;
  rows_.clear();
  result_.reset();
}

}  // namespace lockstep
