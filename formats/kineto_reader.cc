#include "formats/kineto_reader.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/patterns/rank_patterns.h"
#include "formats/file_name.h"
#include "formats/kineto_event.h"
#include "formats/kineto_profile.h"
#include "formats/kineto_walk.h"
#include "formats/plain_document.h"
#include "formats/plain_json.h"
#include "formats/process_group.h"

namespace lockstep {
namespace {

constexpr size_t kMaxGroups = size_t{64} << 10;

// A process group as this rank's kernels name it.
struct Group {
  std::string communicator;
  std::vector<int32_t> ranks;  // empty = not known
  int32_t size = -1;
  uint64_t next_sequence = 0;  // for kernels without a number
  absl::flat_hash_map<std::pair<OperationKind, int32_t>, uint64_t> next_transfer;
};

struct Kernel {
  TraceOperation operation;  // without communicator
  int64_t correlation = -1;
  int64_t sequence = -1;
  int32_t group = -1;
  int32_t device = -1;
};

struct Launch {
  int64_t correlation;
  int64_t start_ns;
};

class KinetoFile final : public KinetoHandler {
 public:
  explicit KinetoFile(absl::string_view path) : path_(path) {}

  void TakeEvent(absl::string_view text) override {
    ++events_;
    Take(parser_.Parse(text));
    profile_.TakeEvent(text);
  }

  void TakeMember(absl::string_view key, absl::string_view value) override {
    profile_.TakeMember(key, value);
    if (key == "distributedInfo") TakeInformation(std::string(value));
    if (key == "baseTimeNanoseconds" && !absl::SimpleAtoi(value, &base_ns_)) base_ns_ = 0;
  }

  // Hands over what was found; `whole`: to the end of the file.
  absl::Status Emit(JobIndex job, bool whole, EvidenceBuilder& builder, ReadResult& result);

 private:
  // {"rank": 0, "world_size": 2, "pg_config": [{"pg_name": "0", "pg_desc": ..., "ranks": [0, 1]}]}
  void TakeInformation(const std::string& text) {
    const absl::StatusOr<PlainDocument> parsed = ParsePlainJson(text);
    if (!parsed.ok()) return;
    const PlainNode& root = parsed->node(parsed->root);
    rank_ = IntegerOr(parsed->Find(root, "rank"), -1);
    world_size_ = IntegerOr(parsed->Find(root, "world_size"), -1);
    const PlainNode& groups = parsed->Find(root, "pg_config");
    for (const uint32_t number : groups.items) {
      const PlainNode& group = parsed->node(number);
      const PlainNode& ranks = parsed->Find(group, "ranks");
      std::vector<int32_t> numbers = ParseRankList(TextOf(ranks));
      for (const uint32_t item : ranks.items) {
        numbers.push_back(
            static_cast<int32_t>(std::clamp<int64_t>(IntegerOr(parsed->node(item), -1), -1, kMaxRank + 1)));
      }
      if (numbers.empty() || configured_.size() == kMaxGroups) continue;
      configured_[std::string(TextOf(parsed->Find(group, "pg_name")))] = std::move(numbers);
    }
  }

  void Take(KinetoEvent event) {
    switch (event.type) {
      case KinetoEvent::Type::kOther:
        return;
      case KinetoEvent::Type::kBroken:
        ++broken_;
        return;
      case KinetoEvent::Type::kLaunch:
        if (launches_.size() < kMaxLaunches) launches_.push_back({event.correlation, event.start_ns});
        return;
      case KinetoEvent::Type::kNcclKernel:
        break;
    }
    const int32_t group = GroupOf(event);
    if (kernels_.size() == kMaxKernels || group < 0) {
      ++broken_;
      return;
    }
    TakeKernel(event, group);
  }

  void TakeKernel(const KinetoEvent& event, int32_t group) {
    Kernel& kernel = kernels_.emplace_back();
    kernel.group = group;
    kernel.correlation = event.correlation;
    kernel.device = event.device;
    kernel.sequence = event.sequence;
    kernel.operation.kind = event.kind;
    kernel.operation.start_ns = event.start_ns;
    kernel.operation.end_ns = event.end_ns;
    kernel.operation.bytes = event.bytes;
    kernel.operation.quality = TimingQuality::kGpuTimer;
    if (event.other_side >= 0 && event.other_side <= kMaxRank) {
      kernel.operation.peer = static_cast<int32_t>(event.other_side);  // in whatever numbers: FindPeers
    }
  }

  int32_t GroupOf(KinetoEvent& event) {
    const bool named = !event.group.empty() || !event.rank_list.empty();
    const std::string key = named ? absl::StrCat(event.group, "\n", event.rank_list, "\n", event.group_size)
                                  : absl::StrCat("\n", event.stream);
    const auto known = group_by_key_.find(key);
    if (known != group_by_key_.end()) {
      unnamed_ += named ? 0 : 1;
      return known->second;
    }
    if (groups_.size() == kMaxGroups) return -1;
    Group group;
    group.ranks = std::move(event.ranks);
    const auto configured = configured_.find(event.group);
    if (group.ranks.empty() && configured != configured_.end()) group.ranks = configured->second;
    group.size = static_cast<int32_t>(group.ranks.empty() ? std::clamp<int64_t>(event.group_size, -1, kMaxRank + 1)
                                                          : static_cast<int64_t>(group.ranks.size()));
    if (named) group.communicator = CommunicatorName(event.group, group.ranks);
    if (!named) group.communicator = absl::StrCat("stream ", event.stream);  // of this rank alone: completed in Emit
    descriptions_.push_back(std::move(event.description));
    is_named_.push_back(named ? 1 : 0);
    unnamed_ += named ? 0 : 1;
    groups_.push_back(std::move(group));
    const auto number = static_cast<int32_t>(groups_.size()) - 1;
    group_by_key_.emplace(key, number);
    return number;
  }

  bool PeersAreRanksOfGroups(int32_t rank) const;
  void FindPeers(int32_t rank);
  void FindEnqueueTimes();
  void Number();
  void EmitKernels(JobIndex job, const std::string& host, int32_t rank, EvidenceBuilder& builder);

  const absl::string_view path_;
  KinetoEventParser parser_;
  KinetoProfile profile_;
  int64_t rank_ = -1;
  int64_t world_size_ = -1;
  int64_t base_ns_ = 0;
  absl::flat_hash_map<std::string, std::vector<int32_t>> configured_;  // process groups of distributedInfo
  std::vector<Group> groups_;
  std::vector<std::string> descriptions_;  // of groups_
  std::vector<char> is_named_;             // of groups_
  absl::flat_hash_map<std::string, int32_t> group_by_key_;
  std::vector<Kernel> kernels_;
  std::vector<Launch> launches_;
  uint64_t events_ = 0;
  uint64_t broken_ = 0;
  uint64_t unnamed_ = 0;
};

// PyTorch writes the rank in the job of the other side. A file in whose numbers more transfers make sense as ranks of
// their groups, since nobody sends outside of the group or to itself, has those.
bool KinetoFile::PeersAreRanksOfGroups(int32_t rank) const {
  size_t of_job = 0;
  size_t of_group = 0;
  for (const Kernel& kernel : kernels_) {
    const std::vector<int32_t>& ranks = groups_[static_cast<size_t>(kernel.group)].ranks;
    const int32_t peer = kernel.operation.peer;
    if (peer < 0) continue;
    of_job += PositionIn(ranks, peer) >= 0 && peer != rank;
    of_group += static_cast<size_t>(peer) < ranks.size() && peer != PositionIn(ranks, rank);
  }
  return of_group > of_job;
}

// Peers as ranks of their groups. What is none of the group's ranks stays as it is.
void KinetoFile::FindPeers(int32_t rank) {
  if (PeersAreRanksOfGroups(rank)) return;
  for (Kernel& kernel : kernels_) {
    const int32_t position = PositionIn(groups_[static_cast<size_t>(kernel.group)].ranks, kernel.operation.peer);
    if (position >= 0) kernel.operation.peer = position;
  }
}

// When the host called: the launch of the kernel, or of the graph that holds it.
void KinetoFile::FindEnqueueTimes() {
  std::sort(launches_.begin(), launches_.end(),
            [](const Launch& a, const Launch& b) { return a.correlation < b.correlation; });
  for (Kernel& kernel : kernels_) {
    kernel.operation.enqueue_ns = kernel.operation.start_ns;
    const auto launch =
        std::lower_bound(launches_.begin(), launches_.end(), kernel.correlation,
                         [](const Launch& candidate, int64_t wanted) { return candidate.correlation < wanted; });
    if (kernel.correlation < 0 || launch == launches_.end() || launch->correlation != kernel.correlation) continue;
    kernel.operation.enqueue_ns = std::min(launch->start_ns, kernel.operation.start_ns);
  }
}

// Numbers of the trace where all kernels of the communicator have one, else counted by start.
void KinetoFile::Number() {
  std::sort(kernels_.begin(), kernels_.end(), [](const Kernel& a, const Kernel& b) {
    return std::make_pair(a.operation.start_ns, a.correlation) < std::make_pair(b.operation.start_ns, b.correlation);
  });
  std::vector<char> numbered(groups_.size(), 1);
  for (const Kernel& kernel : kernels_) {
    if (kernel.sequence < 0) numbered[static_cast<size_t>(kernel.group)] = 0;
  }
  for (Kernel& kernel : kernels_) {
    Group& group = groups_[static_cast<size_t>(kernel.group)];
    const bool transfer =
        kernel.operation.kind == OperationKind::kSend || kernel.operation.kind == OperationKind::kRecv;
    if (transfer) {
      kernel.operation.sequence = group.next_transfer[{kernel.operation.kind, kernel.operation.peer}]++;
    } else if (numbered[static_cast<size_t>(kernel.group)] != 0) {
      kernel.operation.sequence = static_cast<uint64_t>(kernel.sequence);
    } else {
      kernel.operation.sequence = group.next_sequence++;
    }
  }
}

void KinetoFile::EmitKernels(JobIndex job, const std::string& host, int32_t rank, EvidenceBuilder& builder) {
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (is_named_[i] == 0) groups_[i].communicator = absl::StrCat("rank ", rank, " ", groups_[i].communicator);
    builder.DescribeCommunicator(job, groups_[i].communicator, descriptions_[i], groups_[i].ranks);
  }
  for (const Kernel& kernel : kernels_) {
    const Group& group = groups_[static_cast<size_t>(kernel.group)];
    OperationRow row{
        rank, host, kernel.device, group.communicator, PositionIn(group.ranks, rank), group.size, kernel.operation};
    row.operation.enqueue_ns += base_ns_;
    row.operation.start_ns += base_ns_;
    row.operation.end_ns += base_ns_;
    builder.AddOperation(job, row);
  }
}

absl::Status KinetoFile::Emit(JobIndex job, bool whole, EvidenceBuilder& builder, ReadResult& result) {
  constexpr int64_t kMaxBaseNanos = int64_t{4} << 60;  // leaves room for the times of the events
  result.malformed = broken_;
  if (base_ns_ < 0 || base_ns_ > kMaxBaseNanos) base_ns_ = 0;
  if (rank_ < 0) rank_ = RankInFileName(path_);
  if (rank_ < 0 || rank_ > kMaxRank) {
    return absl::DataLossError(
        "expected distributedInfo with a rank, or 'rank' and a number in the name of the file, found neither");
  }
  const auto rank = static_cast<int32_t>(rank_);
  RankRow row;
  row.rank = rank;
  const std::string host = HostInFileName(path_);
  row.host = host;
  builder.DescribeRank(job, row);
  builder.ExpectRanks(job, static_cast<int32_t>(std::clamp<int64_t>(world_size_, 0, kMaxRank + 1)));
  FindEnqueueTimes();
  FindPeers(rank);
  Number();
  EmitKernels(job, host, rank, builder);
  builder.AddLost(job, broken_);
  RankPatterns patterns = profile_.Finish(path_);
  patterns.rank = rank;
  if (patterns.window_seconds > 0) builder.AddPatterns(job, patterns);
  result.records = kernels_.size();
  if (kernels_.empty() && !whole) {
    builder.AddNote(job, absl::StrCat("The trace of rank ", rank, " is cut off or damaged after ", events_,
                                      " events, and there are no NCCL kernels among those."));
  } else if (kernels_.empty()) {
    builder.AddNote(job, absl::StrCat("The trace of rank ", rank, " has no NCCL kernels among its ", events_,
                                      " events: it was recorded without GPU activity, or nothing was communicated."));
  }
  if (unnamed_ > 0) {
    builder.AddNote(
        job,
        "NCCL kernels in the traces do not say to which process group they belong (no 'Process Group Name' "
        "and 'Process Group Ranks'): who waited for whom cannot be told. Newer versions of PyTorch write them.");
  }
  return broken_ == 0 ? absl::OkStatus()
                      : absl::DataLossError(
                            absl::StrCat("expected complete events, found ", broken_, " without ts, dur or args"));
}

}  // namespace

ReadResult ReadKineto(absl::string_view path, ByteSource& source, JobIndex job, EvidenceBuilder& builder) {
  ReadResult result;
  KinetoFile file(path);
  const absl::Status scanned = WalkKineto(source, file);
  const absl::Status emitted = file.Emit(job, scanned.ok(), builder, result);
  result.status = scanned.ok() ? emitted : absl::DataLossError(scanned.message());
  return result;
}

}  // namespace lockstep
