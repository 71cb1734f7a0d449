#include "detector/testing/job_generator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"

namespace lockstep {
namespace {

constexpr int64_t kStartNanos = 1'700'000'000 * kNanosPerSecond;  // of the collector's clock
constexpr CommunicatorId kFirstCommunicatorId = 0xc0ffee00;

int64_t Nanos(double seconds) { return static_cast<int64_t>(std::llround(seconds * kNanosPerSecond)); }

}  // namespace

Noise UglyNoise() {
  return {.own_cv = 0.25,
          .spike_probability = 0.03,
          .step_spike_probability = 0.01,
          .phases_per_second = 0.2,
          .phase_seconds = 1};
}

std::vector<GeneratedOperation> DefaultProgram() {
  GeneratedOperation pair{.kind = OperationKind::kAllReduce,
                          .bytes = 4096,
                          .group_of_rank = [](int r) { return r / 2; },
                          .own_seconds = 0.05,
                          .transfer_seconds = 0.0005};
  GeneratedOperation world{.kind = OperationKind::kAllReduce,
                           .bytes = 1 << 20,
                           .group_of_rank = [](int) { return 0; },
                           .own_seconds = 0.03,
                           .transfer_seconds = 0.002};
  return {pair, world};
}

std::vector<GeneratedOperation> WorldOnlyProgram() {
  GeneratedOperation world{.group_of_rank = [](int) { return 0; }, .own_seconds = 0.08, .transfer_seconds = 0.002};
  return {world};
}

JobGenerator::JobGenerator(JobGeneratorOptions options) : options_(std::move(options)), random_(options_.seed) {
  if (options_.program.empty()) options_.program = DefaultProgram();
  ranks_.resize(static_cast<size_t>(options_.ranks));
  communicator_of_.resize(options_.program.size());
  for (size_t op = 0; op < options_.program.size(); ++op) {
    std::map<int, int> index_of_group;
    for (int rank = 0; rank < options_.ranks; ++rank) {
      const int group = options_.program[op].group_of_rank(rank);
      if (group < 0) {
        communicator_of_[op].push_back(-1);
        continue;
      }
      const auto [it, inserted] = index_of_group.try_emplace(group, static_cast<int>(communicators_.size()));
      if (inserted) communicators_.push_back({.operation = static_cast<int>(op), .group = group});
      communicators_[static_cast<size_t>(it->second)].ranks.push_back(rank);
      communicator_of_[op].push_back(it->second);
    }
  }
  counts_.assign(ranks_.size(), std::vector<Counts>(communicators_.size()));
}

int64_t JobGenerator::NowNanos() const { return kStartNanos + Nanos(now_); }

int64_t JobGenerator::HostNanos(int host, double seconds) const {
  return Nanos(seconds) + (host + 1) * 3600 * kNanosPerSecond;
}

double JobGenerator::AfterStandstill(int rank, double at) const {
  for (const Standstill& still : options_.standstills) {
    if (still.rank == rank && at >= still.from && at < still.until) at = still.until;
  }
  return at;
}

const WrongCall* JobGenerator::WrongCallAt(int rank, double at) const {
  for (const WrongCall& wrong : options_.wrong_calls) {
    if (wrong.rank == rank && at >= wrong.from && at < kForever) return &wrong;
  }
  return nullptr;
}

// When work of `seconds` that begins at `from` is done, with every standstill on the way.
double JobGenerator::Work(int rank, double from, double seconds) {
  double end = AfterStandstill(rank, from) + seconds;
  for (const Standstill& still : options_.standstills) {
    if (still.rank == rank && still.from > from && still.from < end) end += still.until - still.from;
  }
  return end;
}

// The rank enters the operation after this one, and never this one.
void JobGenerator::CallNextInstead(int rank, size_t index, double* arrival) {
  const size_t next = index + 1;
  const int c = communicator_of_[next][static_cast<size_t>(rank)];
  const GeneratedOperation& operation = options_.program[next];
  ranks_[static_cast<size_t>(rank)].events.push_back(
      {c, operation.kind, operation.bytes, communicators_[static_cast<size_t>(c)].operations + 1, *arrival, kForever});
  *arrival = kForever;
}

void JobGenerator::SimulateOperation(size_t index, double step_factor) {
  const GeneratedOperation& operation = options_.program[index];
  const double sigma = std::sqrt(std::log1p(options_.noise.own_cv * options_.noise.own_cv));
  std::vector<double> arrival(ranks_.size());
  for (int rank = 0; rank < options_.ranks; ++rank) {
    RankState& state = ranks_[static_cast<size_t>(rank)];
    double work = operation.own_seconds * step_factor * std::exp(sigma * random_.Gaussian() - sigma * sigma / 2);
    if (random_.Unit() < options_.noise.spike_probability) {
      work *= 1 + random_.Unit() * (options_.noise.spike_factor - 1);
    }
    if (rank == phase_rank_ && state.free_at < phase_until_) work *= options_.noise.phase_factor;
    for (const SlowPhase& slow : options_.slow) {
      const bool here = slow.operation < 0 || static_cast<size_t>(slow.operation) == index;
      if (here && slow.rank == rank && state.free_at >= slow.from && state.free_at < slow.until) work *= slow.factor;
    }
    state.worked += work;
    arrival[static_cast<size_t>(rank)] = Work(rank, state.free_at, work);
  }
  for (size_t c = 0; c < communicators_.size(); ++c) {
    CommunicatorOfJob& communicator = communicators_[c];
    if (communicator.operation != static_cast<int>(index)) continue;
    double end = 0;
    for (const int rank : communicator.ranks) end = std::max(end, arrival[static_cast<size_t>(rank)]);
    end += operation.transfer_seconds * (0.9 + 0.2 * random_.Unit());
    for (const int rank : communicator.ranks) {
      const WrongCall* const wrong = WrongCallAt(rank, arrival[static_cast<size_t>(rank)]);
      if (wrong == nullptr || (wrong->crossed && index != 0)) continue;
      end = kForever;
      if (wrong->crossed) CallNextInstead(rank, index, &arrival[static_cast<size_t>(rank)]);
    }
    // A member that stands still inside holds up everybody.
    for (const int rank : communicator.ranks) end = std::max(end, AfterStandstill(rank, end));
    ++communicator.operations;
    for (const int rank : communicator.ranks) {
      RankState& state = ranks_[static_cast<size_t>(rank)];
      const WrongCall* const wrong = WrongCallAt(rank, arrival[static_cast<size_t>(rank)]);
      const OperationKind kind = wrong != nullptr && !wrong->crossed ? wrong->kind : operation.kind;
      state.events.push_back({static_cast<int>(c), kind, operation.bytes, communicator.operations,
                              arrival[static_cast<size_t>(rank)], end});
      state.free_at = end;
    }
  }
}

void JobGenerator::SimulateStep() {
  double begin = 0;
  for (const RankState& state : ranks_) begin = std::max(begin, state.free_at);
  if (options_.noise.phases_per_second > 0 && begin >= phase_until_) {
    const double step = std::max(0.01, begin - simulated_until_);
    if (random_.Unit() < options_.noise.phases_per_second * step) {
      phase_rank_ = static_cast<int>(random_.Below(static_cast<uint64_t>(options_.ranks)));
      phase_until_ = begin + random_.Unit() * options_.noise.phase_seconds;
    }
  }
  const bool spike = random_.Unit() < options_.noise.step_spike_probability;
  const double factor = spike ? 1 + random_.Unit() * (options_.noise.step_spike_factor - 1) : 1;
  for (size_t i = 0; i < options_.program.size(); ++i) SimulateOperation(i, factor);
  simulated_until_ = begin;
}

RankView JobGenerator::View(int rank) {
  RankState& state = ranks_[static_cast<size_t>(rank)];
  const int host = rank / options_.ranks_per_host;
  RankView view{.rank = rank,
                .world_size = options_.ranks,
                .local_rank = rank % options_.ranks_per_host,
                .pid = 1000 + rank,
                .process_start_ticks = 77,
                .process_state = ProcessState::kRunning,
                .cpu_ns = Nanos(state.worked)};
  for (const Standstill& still : options_.standstills) {
    if (still.rank == rank && now_ >= still.from && now_ < still.until) view.process_state = still.state;
  }
  view.finalized = now_ >= options_.ends_at && view.process_state == ProcessState::kRunning;
  std::vector<CommunicatorView> views(communicators_.size());
  for (const Event& event : state.events) {
    CommunicatorView& communicator = views[static_cast<size_t>(event.communicator)];
    Counts& counts = counts_[static_cast<size_t>(rank)][static_cast<size_t>(event.communicator)];
    if (event.enter > now_) break;
    if (event.sequence > counts.entered) counts = {event.sequence, counts.left, event.enter};
    if (event.leave <= now_) {
      counts = {counts.entered, event.sequence, event.leave};
      communicator.operations.push_back({.kind = event.kind,
                                         .sequence = event.sequence,
                                         .enqueue_ns = HostNanos(host, event.enter),
                                         .start_ns = HostNanos(host, event.enter),
                                         .end_ns = HostNanos(host, event.leave),
                                         .bytes = event.bytes,
                                         .quality = TimingQuality::kHostCall});
    } else {
      communicator.oldest_in_flight = InFlightOperation{.kind = event.kind,
                                                        .sequence = event.sequence,
                                                        .started = true,
                                                        .age_ns = Nanos(now_ - event.enter),
                                                        .inside_ns = Nanos(now_ - event.enter),
                                                        .bytes = event.bytes};
    }
  }
  std::erase_if(state.events, [this](const Event& event) { return event.leave <= now_; });
  for (size_t c = 0; c < communicators_.size(); ++c) {
    const std::vector<int>& members = communicators_[c].ranks;
    const auto member = std::find(members.begin(), members.end(), rank);
    if (member == members.end()) continue;
    const Counts& counts = counts_[static_cast<size_t>(rank)][c];
    views[c].id = kFirstCommunicatorId + c;
    views[c].name = static_cast<int>(members.size()) == options_.ranks ? "world" : "";
    views[c].size = static_cast<int32_t>(members.size());
    views[c].communicator_rank = static_cast<int32_t>(member - members.begin());
    views[c].enqueued = views[c].started = counts.entered;
    views[c].finished = counts.left;
    views[c].idle_ns = Nanos(now_ - counts.changed);
    view.operations_enqueued += counts.entered;
    view.operations_finished += counts.left;
    view.communicators.push_back(std::move(views[c]));
  }
  return view;
}

std::vector<HostReport> JobGenerator::NextReports() {
  now_ += options_.report_seconds;
  auto latest = [this] {
    double begin = kForever;
    for (const RankState& state : ranks_) begin = std::min(begin, state.free_at);
    return begin;
  };
  while (latest() <= now_ && latest() < options_.ends_at) SimulateStep();
  std::vector<HostReport> reports;
  const int hosts = (options_.ranks + options_.ranks_per_host - 1) / options_.ranks_per_host;
  for (int host = 0; host < hosts; ++host) {
    HostReport report{.host = absl::StrCat("node-", host), .received_ns = NowNanos(), .host_ns = HostNanos(host, now_)};
    const int end = std::min(options_.ranks, (host + 1) * options_.ranks_per_host);
    for (int rank = host * options_.ranks_per_host; rank < end; ++rank) report.ranks.push_back(View(rank));
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace lockstep
