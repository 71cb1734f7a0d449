#include "formats/flight_recorder_reader.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "detector/model/input.h"
#include "formats/file_name.h"
#include "formats/operation_names.h"
#include "formats/pickle.h"
#include "formats/plain_json.h"
#include "formats/process_group.h"
#include "formats/time_range.h"
#include "formats/watchdog_times.h"
#include "formats/whole_file.h"

namespace lockstep {
namespace {

using Kind = PlainNode::Kind;

constexpr double kNanosPerMilli = 1e6;
// Transfers that are counted from the first open one: far from zero, since some come before it.
constexpr uint64_t kFirstOpenSequence = uint64_t{1} << 32;

absl::StatusOr<PlainDocument> ParseDump(const std::string& bytes) {
  constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";  // a pickle begins otherwise
  const size_t begin = absl::StartsWith(bytes, kByteOrderMark) ? kByteOrderMark.size() : 0;
  const size_t first = bytes.find_first_not_of(" \t\r\n", begin);
  if (first != std::string::npos && (bytes[first] == '{' || bytes[first] == '[')) {
    return ParsePlainJson(bytes.substr(begin));
  }
  return ParsePickle(bytes);
}

// Elements of all tensors times the size of each.
uint64_t BytesOf(const PlainDocument& document, const PlainNode& entry) {
  const PlainNode& sizes = document.Find(entry, "input_sizes");
  const PlainNode& types = document.Find(entry, "input_dtypes");
  if (sizes.kind != Kind::kList || types.kind != Kind::kList || types.items.empty()) return 0;
  double total = 0;
  for (size_t i = 0; i < sizes.items.size(); ++i) {
    const PlainNode& shape = document.node(sizes.items[i]);
    const PlainNode& type = document.node(types.items[std::min(i, types.items.size() - 1)]);
    double elements = shape.kind == Kind::kList ? 1 : 0;
    for (const uint32_t extent : shape.items) elements *= static_cast<double>(IntegerOr(document.node(extent), 0));
    total += elements * static_cast<double>(ElementBytesOf(TextOf(type)));
  }
  constexpr double kMost = 1e18;
  return total > 0 && total < kMost ? static_cast<uint64_t>(total) : 0;
}

struct Call {
  OperationKind kind = OperationKind::kUnknown;
  int32_t peer = -1;  // rank in the group
};

// "nccl:all_reduce", "nccl:send 0->1", "nccl:recv 1<-0".
Call CallOf(absl::string_view profiling_name) {
  const size_t space = profiling_name.find(' ');
  Call call;
  call.kind = OperationKindOf(profiling_name.substr(0, space));
  const bool transfer = call.kind == OperationKind::kSend || call.kind == OperationKind::kRecv;
  if (!transfer || space == absl::string_view::npos) return call;
  const absl::string_view sides = profiling_name.substr(space + 1);
  const size_t arrow = sides.find_first_of("<-");
  int32_t peer = -1;
  if (arrow != absl::string_view::npos && arrow + 2 < sides.size() &&
      absl::SimpleAtoi(sides.substr(arrow + 2), &peer)) {
    call.peer = peer;
  }
  return call;
}

// The entry of a whole batch.
bool IsBatch(const PlainDocument& document, const PlainNode& entry) {
  return TextOf(document.Find(entry, "profiling_name")) == "nccl:coalesced";
}

absl::string_view GroupNameOf(const PlainDocument& document, const PlainNode& entry) {
  const PlainNode& named = document.Find(entry, "process_group");  // [name, description]
  const bool is_named = named.kind == Kind::kList && !named.items.empty();
  return is_named ? TextOf(document.node(named.items[0])) : absl::string_view();
}

// -1 = there is none.
int64_t SequenceOf(const PlainDocument& document, const PlainNode& entry, bool transfer) {
  const PlainNode& numbered = document.Find(entry, transfer ? "p2p_seq_id" : "collective_seq_id");
  return IntegerOr(numbered.kind != Kind::kNone ? numbered : document.Find(entry, "seq_id"), -1);
}

int64_t TimeOr(const PlainNode& node, int64_t otherwise) {
  const int64_t nanos = IntegerOr(node, 0);
  return nanos > 0 && IsRecordedTime(nanos) ? nanos : otherwise;
}

// What the watchdog saw of an operation, in its own order: scheduled, started, completed. It looks now and then, and
// what took `duration_ms` had begun by when it was found begun, and that long before it was found over, whichever is
// earlier.
void FillTimes(const PlainDocument& document, const PlainNode& entry, bool tells_started, TraceOperation& operation) {
  const absl::string_view state = TextOf(document.Find(entry, "state"));
  const int64_t found_begun_ns = TimeOr(document.Find(entry, "time_discovered_started_ns"), kNoTime);
  const int64_t found_over_ns = TimeOr(document.Find(entry, "time_discovered_completed_ns"), kNoTime);
  operation.enqueue_ns = TimeOr(document.Find(entry, "time_created_ns"), 0);
  operation.start_ns = found_begun_ns;
  operation.end_ns = found_over_ns;
  operation.quality = TimingQuality::kHostEnqueue;
  const bool completed =
      state == "completed" || found_over_ns != kNoTime || IntegerOr(document.Find(entry, "retired"), 0) != 0;
  // A recorder without start events leaves everything "scheduled": called is all that can be known.
  if (operation.start_ns == kNoTime && (completed || state == "started" || !tells_started)) {
    operation.start_ns = operation.enqueue_ns;
  }
  if (!completed) return;
  if (found_over_ns == kNoTime) operation.end_ns = operation.start_ns;
  operation.end_ns = std::max(operation.end_ns, operation.start_ns);
  const double duration_ms = RealOr(document.Find(entry, "duration_ms"), 0);
  constexpr double kMostMillis = 1e12;
  if (!(duration_ms > 0 && duration_ms < kMostMillis)) return;
  const auto duration_ns = static_cast<int64_t>(duration_ms * kNanosPerMilli);
  if (found_over_ns != kNoTime) {
    const int64_t latest_ns = found_over_ns - duration_ns;
    const int64_t begun_ns = found_begun_ns != kNoTime ? std::min(found_begun_ns, latest_ns) : latest_ns;
    operation.start_ns = std::max(operation.enqueue_ns, begun_ns);
  }
  operation.end_ns = operation.start_ns + duration_ns;
  operation.quality = TimingQuality::kGpuTimer;
}

// When the watchdog looked and noticed something: the first moment of each look.
std::vector<int64_t> LooksOf(const PlainDocument& document, const PlainNode& entries) {
  constexpr int64_t kLookNanos = 30'000'000;  // one takes less, and two are 100 ms apart
  std::vector<int64_t> moments;
  for (const uint32_t number : entries.items) {
    for (const char* key : {"time_discovered_started_ns", "time_discovered_completed_ns"}) {
      const int64_t moment = TimeOr(document.Find(document.node(number), key), kNoTime);
      if (moment != kNoTime) moments.push_back(moment);
    }
  }
  std::sort(moments.begin(), moments.end());
  std::vector<int64_t> looks;
  for (size_t i = 0; i < moments.size(); ++i) {
    if (i == 0 || moments[i] - moments[i - 1] > kLookNanos) looks.push_back(moments[i]);
  }
  return looks;
}

// The look before that of `moment`; kNoTime = none is known.
int64_t LookBefore(const std::vector<int64_t>& looks, int64_t moment) {
  const auto next = std::upper_bound(looks.begin(), looks.end(), moment);
  return next - looks.begin() < 2 ? kNoTime : *(next - 2);
}

// When a timed operation ended at the earliest: neither its begin nor its end was seen at the look before.
int64_t EarliestEnd(const PlainDocument& document, const PlainNode& entry, const std::vector<int64_t>& looks,
                    const TraceOperation& operation) {
  const int64_t duration_ns = operation.duration_ns();
  int64_t earliest_ns = operation.enqueue_ns + duration_ns;
  const int64_t begun_ns = TimeOr(document.Find(entry, "time_discovered_started_ns"), kNoTime);
  const int64_t over_ns = TimeOr(document.Find(entry, "time_discovered_completed_ns"), kNoTime);
  const int64_t before_begun_ns = begun_ns != kNoTime ? LookBefore(looks, begun_ns) : kNoTime;
  const int64_t before_over_ns = over_ns != kNoTime ? LookBefore(looks, over_ns) : kNoTime;
  if (before_begun_ns != kNoTime) earliest_ns = std::max(earliest_ns, before_begun_ns + duration_ns);
  if (before_over_ns != kNoTime) earliest_ns = std::max(earliest_ns, before_over_ns);
  return std::min(earliest_ns, operation.end_ns);
}

bool TellsStarted(const PlainDocument& document, const PlainNode& entries) {
  return std::any_of(entries.items.begin(), entries.items.end(), [&](uint32_t number) {
    const PlainNode& entry = document.node(number);
    return TextOf(document.Find(entry, "state")) == "started" ||
           IntegerOr(document.Find(entry, "time_discovered_started_ns"), 0) > 0;
  });
}

// Text "[0, 8]", or a list.
std::vector<int32_t> RanksOf(const PlainDocument& document, const PlainNode& ranks) {
  if (ranks.kind != Kind::kList) return ParseRankList(TextOf(ranks));
  std::vector<int32_t> numbers;
  for (const uint32_t item : ranks.items) {
    const int64_t rank = IntegerOr(document.node(item), -1);
    if (rank < 0 || rank > kMaxRank || numbers.size() == kMaxGroupRanks) return {};
    numbers.push_back(static_cast<int32_t>(rank));
  }
  return numbers;
}

}  // namespace

ReadResult FlightRecorderReader::Read(absl::string_view path, ByteSource& source, JobIndex job) {
  ReadResult result;
  const absl::StatusOr<std::string> bytes = ReadWhole(source, kMaxDumpBytes);
  result.status = bytes.status();
  if (!bytes.ok()) return result;
  const absl::StatusOr<PlainDocument> document = ParseDump(*bytes);
  result.status =
      document.ok() ? ReadDump(path, *document, job, result) : absl::DataLossError(document.status().message());
  if (result.malformed > 0) builder_.AddLost(job, result.malformed);
  return result;
}

absl::Status FlightRecorderReader::ReadDump(absl::string_view path, const PlainDocument& document, JobIndex job,
                                            ReadResult& result) {
  const PlainNode& root = document.node(document.root);
  const PlainNode& entries = document.Find(root, "entries");
  if (entries.kind != Kind::kList) return absl::DataLossError("expected a list 'entries', found none");
  Dump dump{document,
            job,
            /*rank=*/-1,
            std::string(TextOf(document.Find(root, "host_name"))),
            TellsStarted(document, entries),
            /*batches=*/{},
            LooksOf(document, entries)};
  const int64_t rank = IntegerOr(document.Find(root, "rank"), RankAtEndOfFileName(path));
  if (rank < 0 || rank > kMaxRank) {
    return absl::DataLossError("expected a rank in the dump or in the name of the file, found none");
  }
  dump.rank = static_cast<int32_t>(rank);
  RankRow row;
  row.rank = dump.rank;
  row.host = dump.host;
  builder_.DescribeRank(job, row);
  DescribeGroups(dump);
  FindBatches(entries, dump);
  for (size_t i = 0; i < entries.items.size(); ++i) {
    if (TakeEntry(dump, document.node(entries.items[i]))) {
      ++result.records;
    } else if (result.malformed++ == 0) {
      result.status = absl::DataLossError(absl::StrCat(
          "entry ", i,
          ": expected process_group, profiling_name, a sequence number and time_created_ns, found not all"));
    }
  }
  return result.status;
}

void FlightRecorderReader::DescribeGroups(const Dump& dump) {
  const PlainDocument& document = dump.document;
  const PlainNode& groups = document.Find(document.node(document.root), "pg_config");
  if (groups.kind != Kind::kDict) return;
  for (size_t i = 0; i + 1 < groups.items.size(); i += 2) {
    const PlainNode& group = document.node(groups.items[i + 1]);
    const std::vector<int32_t> ranks = RanksOf(document, document.Find(group, "ranks"));
    if (ranks.empty()) continue;
    const absl::string_view description = TextOf(document.Find(group, "desc"));
    const std::string name = CommunicatorName(TextOf(document.node(groups.items[i])), ranks);
    builder_.DescribeCommunicator(dump.job, name, description, ranks);
  }
}

void FlightRecorderReader::FindBatches(const PlainNode& entries, Dump& dump) {
  const PlainDocument& document = dump.document;
  for (const uint32_t number : entries.items) {
    const PlainNode& entry = document.node(number);
    if (!IsBatch(document, entry) || TimeOr(document.Find(entry, "time_created_ns"), 0) <= 0) continue;
    const bool transfers = IntegerOr(document.Find(entry, "is_p2p"), 0) != 0;
    const int64_t sequence = SequenceOf(document, entry, transfers);
    if (sequence < 0) continue;
    dump.batches[{std::string(GroupNameOf(document, entry)), transfers, sequence}] = {&entry};
  }
}

FlightRecorderReader::Group FlightRecorderReader::GroupOf(const Dump& dump, const PlainNode& entry) const {
  const PlainDocument& document = dump.document;
  Group group;
  const absl::string_view name = GroupNameOf(document, entry);
  if (name.empty()) return group;
  const PlainNode& configuration = document.Find(document.Find(document.node(document.root), "pg_config"), name);
  group.ranks = RanksOf(document, document.Find(configuration, "ranks"));
  group.name = CommunicatorName(name, group.ranks);
  return group;
}

bool FlightRecorderReader::TakeEntry(Dump& dump, const PlainNode& entry) {
  const PlainDocument& document = dump.document;
  const Group group = GroupOf(dump, entry);
  const Call call = CallOf(TextOf(document.Find(entry, "profiling_name")));
  const bool is_batch = IsBatch(document, entry);
  const bool transfer = call.kind == OperationKind::kSend || call.kind == OperationKind::kRecv;
  const bool transfers = transfer || (is_batch && IntegerOr(document.Find(entry, "is_p2p"), 0) != 0);
  const int64_t sequence = SequenceOf(document, entry, transfers);
  if (group.name.empty() || sequence < 0 || TimeOr(document.Find(entry, "time_created_ns"), 0) <= 0) return false;
  const auto found = dump.batches.find({std::string(GroupNameOf(document, entry)), transfers, sequence});
  Batch* const batch = found != dump.batches.end() ? &found->second : nullptr;
  if (is_batch && transfers) return true;  // its transfers stand for it
  if (batch != nullptr && !transfers && std::exchange(batch->is_taken, true)) return true;
  HeldCall taken;
  taken.job = dump.job;
  taken.rank = dump.rank;
  taken.host = dump.host;
  taken.communicator = group.name;
  taken.communicator_rank = PositionIn(group.ranks, dump.rank);
  taken.communicator_size = group.ranks.empty() ? -1 : static_cast<int32_t>(group.ranks.size());
  taken.operation.kind = call.kind;
  taken.operation.peer = call.peer;
  taken.operation.sequence = static_cast<uint64_t>(sequence);
  taken.operation.bytes = BytesOf(document, entry);
  const PlainNode& watched = batch != nullptr ? *batch->watched : entry;
  FillTimes(document, watched, dump.tells_started, taken.operation);
  if (transfer) {
    if (transfers_.size() == kMaxTransfers) return false;
    transfers_.push_back(std::move(taken));
    return true;
  }
  if (taken.operation.quality == TimingQuality::kGpuTimer && timed_.size() < kMaxTransfers) {
    taken.earliest_end_ns = EarliestEnd(document, watched, dump.looks, taken.operation);
    timed_.push_back(std::move(taken));
    return true;
  }
  HandOver(taken);
  return true;
}

void FlightRecorderReader::HandOver(const HeldCall& call) {
  OperationRow row{call.rank,  call.host,
                   /*gpu=*/-1, call.communicator, call.communicator_rank, call.communicator_size, call.operation};
  builder_.AddOperation(call.job, row);
}

// The batches of a group have one count, of which each direction has some numbers: what both sides lack is in no batch
// of this direction, and would look lost.
void FlightRecorderReader::CloseGaps(const std::set<std::pair<JobIndex, std::string>>& mixed) {
  using Pair = std::tuple<JobIndex, std::string, int32_t, int32_t>;  // source, destination
  std::map<Pair, std::vector<HeldCall*>> pairs;
  for (HeldCall& transfer : transfers_) {
    const bool known = transfer.communicator_rank >= 0 && transfer.operation.peer >= 0;
    if (!known || mixed.count({transfer.job, transfer.communicator}) != 0) continue;
    const bool sends = transfer.operation.kind == OperationKind::kSend;
    const int32_t source = sends ? transfer.communicator_rank : transfer.operation.peer;
    const int32_t destination = sends ? transfer.operation.peer : transfer.communicator_rank;
    pairs[{transfer.job, transfer.communicator, source, destination}].push_back(&transfer);
  }
  for (const auto& [pair, transfers] : pairs) {
    std::vector<uint64_t> numbers;
    for (const HeldCall* transfer : transfers) numbers.push_back(transfer->operation.sequence);
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    for (HeldCall* transfer : transfers) {
      const auto place = std::lower_bound(numbers.begin(), numbers.end(), transfer->operation.sequence);
      transfer->operation.sequence = numbers.front() + static_cast<uint64_t>(place - numbers.begin());
    }
  }
}

void FlightRecorderReader::FinishTimed() {
  std::stable_sort(timed_.begin(), timed_.end(), [](const HeldCall& a, const HeldCall& b) { return a.job < b.job; });
  for (auto first = timed_.begin(); first != timed_.end();) {
    const auto end = std::find_if(first, timed_.end(), [&](const HeldCall& call) { return call.job != first->job; });
    std::map<std::string, int32_t> communicators;
    std::vector<WatchedCall> calls;
    for (auto call = first; call != end; ++call) {
      const int32_t next = static_cast<int32_t>(communicators.size());
      const int32_t communicator = communicators.emplace(call->communicator, next).first->second;
      const TraceOperation& operation = call->operation;
      calls.push_back({call->rank, communicator, operation.sequence, operation.duration_ns(), call->earliest_end_ns,
                       operation.end_ns});
    }
    NarrowEnds(calls);
    for (size_t i = 0; first != end; ++first, ++i) {
      TraceOperation& operation = first->operation;
      operation.end_ns = calls[i].earliest_end_ns + (calls[i].latest_end_ns - calls[i].earliest_end_ns) / 2;
      operation.start_ns = operation.end_ns - calls[i].duration_ns;
      operation.enqueue_ns = std::min(operation.enqueue_ns, operation.start_ns);
      HandOver(*first);
    }
  }
  timed_.clear();
}

void FlightRecorderReader::Finish() {
  FinishTimed();
  // Groups in which some rank has several peers; the numbers of both sides differ there.
  std::map<std::tuple<JobIndex, std::string, int32_t>, std::set<int32_t>> peers;
  for (const HeldCall& transfer : transfers_) {
    peers[{transfer.job, transfer.communicator, transfer.rank}].insert(transfer.operation.peer);
  }
  std::set<std::pair<JobIndex, std::string>> mixed;
  for (const auto& [key, found] : peers) {
    if (found.size() > 1) mixed.emplace(std::get<0>(key), std::get<1>(key));
  }
  CloseGaps(mixed);
  // Of each rank, peer and direction: transfers by number.
  using Direction = std::tuple<JobIndex, std::string, int32_t, int32_t, OperationKind>;
  std::map<Direction, std::vector<HeldCall*>> directions;
  for (HeldCall& transfer : transfers_) {
    if (mixed.count({transfer.job, transfer.communicator}) == 0) continue;
    directions[{transfer.job, transfer.communicator, transfer.rank, transfer.operation.peer, transfer.operation.kind}]
        .push_back(&transfer);
  }
  for (auto& [direction, in_order] : directions) {
    std::stable_sort(in_order.begin(), in_order.end(), [](const HeldCall* a, const HeldCall* b) {
      return a->operation.sequence < b->operation.sequence;
    });
    const auto first_open = std::find_if(in_order.begin(), in_order.end(),
                                         [](const HeldCall* transfer) { return !transfer->operation.finished(); });
    const auto completed = static_cast<uint64_t>(first_open - in_order.begin());
    for (size_t i = 0; i < in_order.size(); ++i) in_order[i]->operation.sequence = kFirstOpenSequence + i - completed;
  }
  for (const HeldCall& transfer : transfers_) HandOver(transfer);
  transfers_.clear();
}

}  // namespace lockstep
