#include "formats/nccl_inspector_reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "detector/model/input.h"
#include "detector/model/operation_kind.h"
#include "formats/function_counts.h"
#include "formats/json_stream.h"
#include "formats/operation_names.h"
#include "formats/plain_json.h"
#include "formats/time_range.h"

namespace lockstep {
namespace {

constexpr int64_t kNanosPerMicro = 1000;
constexpr uint64_t kMaxMalformedObjects = 1000;
// One that lacks its end swallows as much before it is given up; verbose ones of many channels take some 10 KiB.
constexpr size_t kMaxRecordBytes = size_t{4} << 20;

struct TimingSource {
  absl::string_view name;
  TimingQuality quality;
};

constexpr TimingSource kTimingSources[] = {
    {"kernel_gpu", TimingQuality::kGpuTimer},
    {"kernel_cpu", TimingQuality::kKernelWindow},
    {"collective_cpu", TimingQuality::kHostCall},
};

TimingQuality QualityOf(absl::string_view source) {
  for (const TimingSource& known : kTimingSources) {
    if (source == known.name) return known.quality;
  }
  return TimingQuality::kUnknown;
}

// Microseconds since 1970 as nanoseconds; kNoTime for anything impossible.
int64_t TimeOf(const PlainNode& node) {
  const int64_t micros = IntegerOr(node, -1);
  return micros > 0 && micros < kMostMicros ? micros * kNanosPerMicro : kNoTime;
}

// The moments of a verbose trace, where there is one, else the dump's own time as the end. Without a duration it had
// not ended when it was dumped, and the trace alone tells of it: kNoTime where it does not.
void FillTimes(const PlainDocument& document, const PlainNode& performance, int64_t dumped_ns,
               std::optional<int64_t> duration_ns, TraceOperation& operation) {
  const PlainNode& moments = document.Find(performance, "event_trace_ts");
  for (const uint32_t number : document.Find(moments, "kernel_events").items) {
    const int64_t begun = TimeOf(document.Find(document.node(number), "kernel_start_ts"));
    if (begun != kNoTime && (operation.start_ns == kNoTime || begun < operation.start_ns)) operation.start_ns = begun;
  }
  if (duration_ns.has_value()) {
    if (operation.start_ns == kNoTime) operation.start_ns = dumped_ns - *duration_ns;
    operation.end_ns = operation.start_ns + *duration_ns;
  }
  const int64_t called = TimeOf(document.Find(moments, "coll_start_ts"));
  const bool called_first = called != kNoTime && (!operation.started() || called < operation.start_ns);
  operation.enqueue_ns = called_first ? called : operation.start_ns;
}

}  // namespace

ReadResult NcclInspectorReader::Read(ByteSource& source, JobIndex job) {
  ReadResult result;
  JsonStream stream(source, kMaxRecordBytes);
  const auto fail = [&result](const std::string& why) {
    if (result.status.ok()) result.status = absl::DataLossError(why);
  };
  while (result.malformed < kMaxMalformedObjects) {
    const uint64_t offset = stream.offset();
    const absl::StatusOr<char> next = stream.Peek();
    if (next.ok() && stream.AtEnd()) break;
    const absl::StatusOr<absl::string_view> value = stream.Value();  // repeats an error of Peek
    if (!value.ok()) {
      fail(absl::StrCat(value.status().message(), ", after ", result.records, " records"));
      if (!stream.BackToLine('{')) break;
      ++result.malformed;
      continue;
    }
    const absl::StatusOr<PlainDocument> document = ParsePlainJson(std::string(*value));
    if (document.ok() && Take(*document, job)) {
      ++result.records;
      continue;
    }
    ++result.malformed;
    fail(absl::StrCat("byte ", offset, ": ",
                      document.ok() ? "expected a record with header, metadata and coll_perf, found another"
                                    : document.status().message()));
    if (!document.ok()) stream.BackToLine('{');
  }
  builder_.AddLost(job, result.malformed);
  return result;
}

bool NcclInspectorReader::Take(const PlainDocument& document, JobIndex job) {
  const PlainNode& root = document.node(document.root);
  const PlainNode& header = document.Find(root, "header");
  const PlainNode& metadata = document.Find(root, "metadata");
  const PlainNode& performance = document.Find(root, "coll_perf");
  if (document.Find(root, "p2p_perf").kind == PlainNode::Kind::kDict) {
    builder_.AddNote(
        job,
        "Transfers in the NCCL Inspector records (p2p_perf) are left out: nothing tells which Send belongs "
        "to which Recv.");
    return true;
  }
  const int64_t rank = IntegerOr(document.Find(header, "rank"), -1);
  const int64_t size = IntegerOr(document.Find(header, "n_ranks"), -1);
  const int64_t sequence = IntegerOr(document.Find(performance, "coll_sn"), -1);
  const PlainNode& duration = document.Find(performance, "coll_exec_time_us");
  const bool ended = duration.kind != PlainNode::Kind::kNone;
  const int64_t micros = IntegerOr(duration, ended ? -1 : 0);
  const int64_t dumped_ns = TimeOf(document.Find(metadata, "dump_timestamp_us"));
  const int32_t communicator = communicators_.Intern(TextOf(document.Find(header, "id")));
  if (rank < 0 || rank >= size || size > kMaxRank || sequence < 0 || micros < 0 || micros > kMostMicros ||
      dumped_ns == kNoTime || communicator < 0 || records_.size() == kMaxInspectorRecords) {
    return false;
  }
  Record record;
  record.job = job;
  record.communicator_rank = static_cast<int32_t>(rank);
  record.communicator_size = static_cast<int32_t>(size);
  record.operation.communicator = communicator;
  record.operation.kind = OperationKindOf(TextOf(document.Find(performance, "coll")));
  record.operation.sequence = static_cast<uint64_t>(sequence);
  record.operation.bytes =
      static_cast<uint64_t>(std::max<int64_t>(0, IntegerOr(document.Find(performance, "coll_msg_size_bytes"), 0)));
  record.operation.quality = QualityOf(TextOf(document.Find(performance, "coll_timing_source")));
  FillTimes(document, performance, dumped_ns, ended ? std::optional(micros * kNanosPerMicro) : std::nullopt,
            record.operation);
  if (record.operation.enqueue_ns == kNoTime) return false;
  const auto pid = static_cast<int32_t>(std::clamp<int64_t>(IntegerOr(document.Find(metadata, "pid"), 0), 0, 1 << 30));
  record.process = ProcessOf(job, std::string(TextOf(document.Find(metadata, "hostname"))), pid);
  Process& process = processes_[static_cast<size_t>(record.process)];
  if (record.communicator_size > process.largest_size) {
    process.largest_size = record.communicator_size;
    process.rank_in_largest = record.communicator_rank;
  }
  process.dumped_ns = std::max(process.dumped_ns, dumped_ns);
  records_.push_back(record);
  return true;
}

int32_t NcclInspectorReader::ProcessOf(JobIndex job, const std::string& host, int32_t pid) {
  const auto [known, is_new] =
      process_by_identity_.emplace(std::tuple(job, host, pid), static_cast<int32_t>(processes_.size()));
  if (is_new) {
    Process& process = processes_.emplace_back();
    process.job = job;
    process.host = host;
    process.pid = pid;
  }
  return known->second;
}

// The rank in its job of each process; by host and process id in jobs whose communicators do not tell it.
std::vector<int32_t> NcclInspectorReader::NumberRanks() const {
  std::vector<int32_t> ranks;
  std::set<std::pair<JobIndex, int32_t>> taken;
  std::map<JobIndex, int32_t> next;  // of the jobs in which two processes have one number
  for (const Process& process : processes_) {
    ranks.push_back(process.rank_in_largest);
    if (!taken.emplace(process.job, process.rank_in_largest).second) next[process.job] = 0;
  }
  for (const auto& [identity, process] : process_by_identity_) {
    const auto numbered = next.find(std::get<0>(identity));
    if (numbered != next.end()) ranks[static_cast<size_t>(process)] = numbered->second++;
  }
  return ranks;
}

// Of what was in flight in one dump and has ended in another, the end counts.
void NcclInspectorReader::DropEnded() {
  using Call = std::tuple<JobIndex, int32_t, int32_t, OperationKind, uint64_t>;
  const auto call_of = [](const Record& record) {
    const TraceOperation& operation = record.operation;
    return Call(record.job, record.process, operation.communicator, operation.kind, operation.sequence);
  };
  std::set<Call> in_flight;
  for (const Record& record : records_) {
    if (!record.operation.finished()) in_flight.insert(call_of(record));
  }
  if (in_flight.empty()) return;
  std::set<Call> ended;
  for (const Record& record : records_) {
    if (record.operation.finished() && in_flight.contains(call_of(record))) ended.insert(call_of(record));
  }
  std::erase_if(records_,
                [&](const Record& record) { return !record.operation.finished() && ended.contains(call_of(record)); });
}

// Of each communicator, which all of its processes call in one order.
void NcclInspectorReader::NumberCalls() {
  std::map<std::pair<JobIndex, int32_t>, std::vector<CountedCall>> calls;
  for (Record& record : records_) {
    calls[{record.job, record.operation.communicator}].push_back({record.process, &record.operation});
  }
  for (auto& [communicator, of_it] : calls) CountPerCommunicator(std::move(of_it));
}

void NcclInspectorReader::Finish() {
  DropEnded();
  NumberCalls();
  const std::vector<int32_t> ranks = NumberRanks();
  const std::vector<std::string>& names = communicators_.names();
  for (const Record& record : records_) {
    const auto process = static_cast<size_t>(record.process);
    RankRow described;
    described.rank = ranks[process];
    described.host = processes_[process].host;
    described.pid = processes_[process].pid;
    described.last_seen_ns = processes_[process].dumped_ns;
    builder_.DescribeRank(record.job, described);
    if (ranks[process] != processes_[process].rank_in_largest) {
      builder_.AddNote(record.job,
                       "NCCL Inspector records do not tell the ranks of the job: processes are numbered by host and "
                       "process id.");
    }
    OperationRow row{ranks[process],
                     processes_[process].host,
                     /*gpu=*/-1,
                     names[static_cast<size_t>(record.operation.communicator)],
                     record.communicator_rank,
                     record.communicator_size,
                     record.operation};
    builder_.AddOperation(record.job, row);
  }
  records_.clear();
}

}  // namespace lockstep
