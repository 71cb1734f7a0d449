#include "sim/second/recording.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "detector/model/operation_kind.h"
#include "detector/model/trace.h"
#include "formats/evidence_builder.h"
#include "sim/second/draws.h"

namespace lockstep::second {
namespace {

constexpr int64_t kEpochNs = 1'760'000'000'000'000'000;
constexpr int kBurst = 24;           // records that get lost together
constexpr double kTakenShare = 0.5;  // of the episodes that end well say when their rings were read
constexpr double kCutShare = 0.4;    // of a step before the end
constexpr double kLateSteps = 0.35;  // of the recording, at most

// Keys of draws that have a topic in common.
enum LossKey : int64_t { kSilentKey = 1, kLateKey, kBeginKey, kBurstKey, kTwiceKey, kCutKey };

std::vector<int> SomeHosts(const World& world, int64_t key, int count) {
  std::vector<std::pair<uint64_t, int>> order;
  for (int host = 0; host < world.shape.hosts(); ++host) {
    order.emplace_back(Draws(world.seed).Bits(Topic::kLoss, {key, host}), host);
  }
  std::sort(order.begin(), order.end());
  std::vector<int> chosen;
  for (int i = 0; i < count; ++i) chosen.push_back(order[static_cast<size_t>(i)].second);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

int CountOf(const World& world, double share) {
  return share <= 0 ? 0 : std::max(1, static_cast<int>(share * world.shape.hosts()));
}

bool Has(const std::vector<int>& all, int one) { return std::binary_search(all.begin(), all.end(), one); }

class Recorders {
 public:
  Recorders(const World& world, const Layout& layout, const Playback& playback)
      : world_(world),
        layout_(layout),
        playback_(playback),
        draws_(world.seed),
        silent_(SilentHosts(world)),
        late_(LateHosts(world)),
        blind_(HostsWithoutBegins(world)) {}

  std::vector<Row> Rows();

 private:
  int64_t Local(int host, int64_t true_ns) const;
  int64_t TakenNs() const;
  int64_t LateNs(int host) const;
  bool IsLost(int rank, size_t index) const;
  void AddRank(int rank, std::vector<Row>& rows) const;
  Row RowOf(int rank, const OperationPlayed& played, int64_t cut_ns) const;

  const World& world_;
  const Layout& layout_;
  const Playback& playback_;
  const Draws draws_;
  const std::vector<int> silent_;
  const std::vector<int> late_;
  const std::vector<int> blind_;
};

int64_t Recorders::Local(int host, int64_t true_ns) const {
  const Recorder& recorder = world_.recorder;
  const double offset = recorder.clock_spread_ns * draws_.Gaussian(Topic::kClock, {host, 1});
  const double drift = recorder.drift_ppm * 1e-6 * draws_.Gaussian(Topic::kClock, {host, 2});
  const int64_t local =
      kEpochNs + static_cast<int64_t>(offset) + true_ns + static_cast<int64_t>(drift * static_cast<double>(true_ns));
  return local / recorder.tick_ns * recorder.tick_ns;
}

// When the rings were read, in true time; kNever = nobody says. A job that stands still has done so for a while.
int64_t Recorders::TakenNs() const {
  const double chance = draws_.Unit(Topic::kLoss, {kCutKey, 1});
  if (playback_.hung) return playback_.last_event_ns + static_cast<int64_t>(60e9 + 540e9 * chance);
  if (chance > kTakenShare || playback_.step_end_ns.size() < 2) return kNever;
  const size_t last = playback_.step_end_ns.size() - 1;
  const auto step_ns = static_cast<double>(playback_.step_end_ns[last] - playback_.step_end_ns[last - 1]);
  return playback_.step_end_ns[last] -
         static_cast<int64_t>(step_ns * kCutShare * draws_.Unit(Topic::kLoss, {kCutKey, 2}));
}

int64_t Recorders::LateNs(int host) const {
  if (!Has(late_, host) || playback_.step_end_ns.empty()) return 0;
  const double share = kLateSteps * draws_.Unit(Topic::kLoss, {kLateKey, host, 1});
  return static_cast<int64_t>(share * static_cast<double>(playback_.step_end_ns.back()));
}

bool Recorders::IsLost(int rank, size_t index) const {
  const double share = world_.recorder.lost_share;
  return share > 0 && draws_.Unit(Topic::kLoss, {kBurstKey, rank, static_cast<int64_t>(index) / kBurst}) < share;
}

Row Recorders::RowOf(int rank, const OperationPlayed& played, int64_t cut_ns) const {
  const Recorder& recorder = world_.recorder;
  const int host = layout_.HostOf(rank);
  const auto known = [&](int64_t at) { return at != kNever && (cut_ns == kNever || at <= cut_ns); };
  Row row{.host = host, .group = played.group};
  OperationRow& cells = row.cells;
  cells.rank = rank;
  cells.gpu = recorder.has_gpu ? layout_.GpuOf(rank) : -1;
  cells.communicator_rank = recorder.has_comm_rank ? layout_.MemberOf(played.group, rank) : -1;
  cells.communicator_size = recorder.has_comm_size ? static_cast<int>(layout_.group(played.group).members.size()) : -1;
  TraceOperation& operation = cells.operation;
  operation.kind = played.operation;
  operation.sequence = played.sequence;
  operation.bytes = recorder.has_bytes ? played.bytes : 0;
  operation.peer = played.peer;
  operation.enqueue_ns = Local(host, played.enqueue_ns);
  if (known(played.start_ns)) {
    operation.start_ns = Local(host, Has(blind_, host) ? played.enqueue_ns : played.start_ns);
    if (known(played.end_ns)) operation.end_ns = Local(host, played.end_ns);
    if (!recorder.has_enqueue) operation.enqueue_ns = kNoTime;
  }
  return row;
}

void Recorders::AddRank(int rank, std::vector<Row>& rows) const {
  const int host = layout_.HostOf(rank);
  if (Has(silent_, host)) return;
  const int64_t taken_ns = TakenNs();
  const int64_t late_ns = LateNs(host);
  const auto& operations = playback_.operations[static_cast<size_t>(rank)];
  const bool answers = playback_.died_ns[static_cast<size_t>(rank)] == kNever;
  bool told = false;
  for (size_t i = operations.size(); i-- > 0;) {
    const OperationPlayed& played = operations[i];
    if (!world_.recorder.tensor_recorded && layout_.group(played.group).role == Role::kTensor) continue;
    if (played.enqueue_ns < late_ns || (taken_ns != kNever && played.enqueue_ns > taken_ns) || IsLost(rank, i))
      continue;
    rows.push_back(RowOf(rank, played, playback_.hung ? kNever : taken_ns));
    // The newest record says when it was read, and some others do.
    if (taken_ns != kNever && answers && (!told || i % 10 == 0)) rows.back().cells.taken_ns = Local(host, taken_ns);
    told = true;
    const double twice = draws_.Unit(Topic::kLoss, {kTwiceKey, rank, static_cast<int64_t>(i)});
    if (twice < world_.recorder.duplicate_share) rows.push_back(rows.back());
  }
}

std::vector<Row> Recorders::Rows() {
  std::vector<Row> rows;
  for (int rank = 0; rank < layout_.ranks(); ++rank) {
    const auto first = static_cast<std::ptrdiff_t>(rows.size());
    AddRank(rank, rows);
    std::reverse(rows.begin() + first, rows.end());
  }
  if (!world_.recorder.shuffled) return rows;
  for (size_t i = rows.size(); i > 1; --i) {
    std::swap(rows[i - 1], rows[draws_.Bits(Topic::kRowOrder, {static_cast<int64_t>(i)}) % i]);
  }
  return rows;
}

}  // namespace

std::vector<int> SilentHosts(const World& world) { return SomeHosts(world, kSilentKey, world.recorder.silent_hosts); }

std::vector<int> LateHosts(const World& world) {
  return SomeHosts(world, kLateKey, CountOf(world, world.recorder.late_share));
}

std::vector<int> HostsWithoutBegins(const World& world) {
  return SomeHosts(world, kBeginKey, CountOf(world, world.recorder.host_begin_share));
}

std::vector<std::string> HostNames(const World& world) {
  std::vector<std::string> names;
  for (int host = 0; host < world.shape.hosts(); ++host) {
    const uint64_t bits = Draws(world.seed).Bits(Topic::kName, {host});
    const auto number = static_cast<int>((host * 389 + static_cast<int>(world.seed % 997)) % 1021);
    switch (world.recorder.host_name_style) {
      case 0:
        names.push_back(absl::StrFormat("node-%04d", number));
        break;
      case 1:
        names.push_back(absl::StrFormat("ip-10-%d-%d-%d", bits % 250, number / 250, number % 250));
        break;
      case 2:
        names.push_back(absl::StrFormat("worker-%06x-%d", bits & 0xFFFFFF, number));
        break;
      case 3:
        names.push_back(absl::StrFormat("dgx%d.rack%02d.example.org", number, bits % 40));
        break;
      default:
        names.push_back(absl::StrFormat("%c%02d-u%d", static_cast<char>('a' + bits % 26), bits / 64 % 100, number));
    }
  }
  return names;
}

Recording Record(const World& world, const Layout& layout, const Playback& playback) {
  Recording recording;
  recording.host_names = HostNames(world);
  for (const Group& group : layout.groups()) recording.group_names.push_back(group.name);
  recording.rows = Recorders(world, layout, playback).Rows();
  return recording;
}

JobEvidence EvidenceOf(const Recording& recording) {
  EvidenceBuilder builder;
  const JobIndex job = builder.Job(kJobName);
  for (const Row& row : recording.rows) {
    OperationRow cells = row.cells;
    cells.host = recording.host_names[static_cast<size_t>(row.host)];
    cells.communicator = recording.group_names[static_cast<size_t>(row.group)];
    // As the reader does: without an enqueue time the start counts.
    if (cells.operation.enqueue_ns == kNoTime) cells.operation.enqueue_ns = cells.operation.start_ns;
    builder.AddOperation(job, cells);
  }
  std::vector<JobInput> jobs = builder.Finish();
  return std::move(jobs.front().evidence);
}

namespace {

constexpr const char* kColumns[] = {"job", "host", "gpu",   "rank",       "comm",     "comm_rank", "comm_size", "seq",
                                    "op",  "peer", "bytes", "enqueue_ns", "start_ns", "end_ns",    "taken_ns"};
constexpr size_t kColumnCount = std::size(kColumns);
constexpr size_t kShuffleStride = 7;  // has no factor in common with the number of columns

std::string Cell(int64_t value, int64_t empty) { return value == empty ? std::string() : absl::StrCat(value); }

std::vector<std::string> CellsOf(const Recording& recording, const Row& row) {
  const OperationRow& cells = row.cells;
  const TraceOperation& operation = cells.operation;
  return {kJobName,
          recording.host_names[static_cast<size_t>(row.host)],
          Cell(cells.gpu, -1),
          absl::StrCat(cells.rank),
          recording.group_names[static_cast<size_t>(row.group)],
          Cell(cells.communicator_rank, -1),
          Cell(cells.communicator_size, -1),
          absl::StrCat(operation.sequence),
          Name(operation.kind),
          absl::StrCat(operation.peer),
          Cell(static_cast<int64_t>(operation.bytes), 0),
          Cell(operation.enqueue_ns, kNoTime),
          Cell(operation.start_ns, kNoTime),
          Cell(operation.end_ns, kNoTime),
          Cell(cells.taken_ns, kNoTime)};
}

}  // namespace

absl::Status WriteRows(const Recording& recording, const World& world, FileWriter& file) {
  const size_t stride = world.recorder.shuffled ? kShuffleStride : 1;
  const auto line = [&](const auto& cells) {
    std::vector<std::string> ordered;
    for (size_t i = 0; i < kColumnCount; ++i) ordered.emplace_back(cells[i * stride % kColumnCount]);
    return absl::StrCat(absl::StrJoin(ordered, ","), "\n");
  };
  RETURN_IF_ERROR(file.Append(line(kColumns)));
  for (const Row& row : recording.rows) RETURN_IF_ERROR(file.Append(line(CellsOf(recording, row))));
  return absl::OkStatus();
}

}  // namespace lockstep::second
