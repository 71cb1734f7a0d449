#include "sim/second/episode.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "formats/file_writer.h"
#include "sim/second/suspects.h"

namespace lockstep::second {
namespace {

constexpr int kMostHarder = 2;
constexpr double kNanosPerSecond = 1e9;
constexpr double kLongStep = 1.3;  // medians
constexpr double kQuarter = 0.25;

std::vector<double> StepSeconds(const Playback& playback) {
  std::vector<double> seconds;
  int64_t last_ns = 0;
  for (const int64_t end_ns : playback.step_end_ns) {
    seconds.push_back(static_cast<double>(end_ns - last_ns) / kNanosPerSecond);
    last_ns = end_ns;
  }
  return seconds;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

TrueCost CostOf(const World& world, const Fault& fault, const Playback& with, const Playback& without) {
  const std::vector<double> slow = StepSeconds(with);
  const std::vector<double> usual = StepSeconds(without);
  double lost = 0;
  double all = 0;
  double lost_affected = 0;
  double all_affected = 0;
  int affected = 0;
  int steps = 0;
  for (size_t step = static_cast<size_t>(fault.onset_step); step < std::min(slow.size(), usual.size()); ++step) {
    ++steps;
    lost += slow[step] - usual[step];
    all += slow[step];
    if (!fault.IsActive(world, static_cast<int>(step))) continue;
    ++affected;
    lost_affected += slow[step] - usual[step];
    all_affected += slow[step];
  }
  if (steps == 0 || affected == 0) return {};
  return {lost / steps, lost / all, lost_affected / all_affected, static_cast<double>(affected) / steps};
}

std::vector<Fault> Without(const std::vector<Fault>& faults, size_t index) {
  std::vector<Fault> rest = faults;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(index));
  return rest;
}

std::vector<std::string> Names(const std::vector<int>& hosts, const std::vector<std::string>& host_names) {
  std::vector<std::string> names;
  for (const int host : hosts) names.push_back(host_names[static_cast<size_t>(host)]);
  return names;
}

// Plays an episode until its faults are felt, and keeps what was played.
class Maker {
 public:
  Maker(uint64_t seed, const EpisodeKind& kind)
      : kind_(kind), seed_(seed), world_(DrawWorld(seed, kind.need)), layout_(world_) {}

  SecondEpisode Make();

 private:
  void PlayAll(int harder);
  bool IsFelt() const;
  TrueFault TruthOf(size_t index, const std::vector<std::string>& host_names) const;
  void AddSuspects(TrueFault& fault, const std::vector<std::string>& host_names) const;
  Truth WholeTruth(const std::vector<std::string>& host_names) const;

  const EpisodeKind& kind_;
  const uint64_t seed_;
  const World world_;
  const Layout layout_;
  std::vector<Fault> faults_;
  Playback playback_;
  Playback healthy_;
  std::vector<TrueCost> costs_;
};

SecondEpisode Maker::Make() {
  healthy_ = Play(world_, layout_, {});
  for (int harder = 0; harder <= kMostHarder; ++harder) {
    PlayAll(harder);
    if (IsFelt()) break;
  }
  SecondEpisode episode{
      .world = world_, .faults = faults_, .recording = Record(world_, layout_, playback_), .truth = {}};
  episode.truth = WholeTruth(episode.recording.host_names);
  return episode;
}

void Maker::PlayAll(int harder) {
  faults_ = Plant(kind_, world_, layout_, harder);
  playback_ = faults_.empty() ? healthy_ : Play(world_, layout_, faults_);
  costs_.assign(faults_.size(), {});
  for (size_t i = 0; i < faults_.size(); ++i) {
    if (IsHang(faults_[i].kind)) continue;
    if (faults_[i].kind == FaultKind::kPauses) {
      // A job that rests now and then loses nothing that somebody could give back.
      costs_[i].steps_affected_fraction = 1;
      continue;
    }
    const Playback rest = faults_.size() > 1 ? Play(world_, layout_, Without(faults_, i)) : healthy_;
    costs_[i] = CostOf(world_, faults_[i], playback_, rest);
  }
}

// What is meant to be slight or is no fault of a machine stays as it was drawn.
bool Maker::IsFelt() const {
  if (kind_.name == "compute_5" || kind_.name == "compute_10") return true;
  for (size_t i = 0; i < faults_.size(); ++i) {
    if (faults_[i].kind < FaultKind::kStageImbalance && costs_[i].slowdown_fraction < 1.5 * kLeastCost) return false;
  }
  return true;
}

TrueFault Maker::TruthOf(size_t index, const std::vector<std::string>& host_names) const {
  TrueFault fault = Described(faults_[index]);
  fault.cost = costs_[index];
  fault.silence_ok = !IsHang(fault.fault.kind) && (!fault.machine_fault || fault.cost.slowdown_fraction < kLeastCost);
  fault.ranks = fault.fault.ranks;
  std::vector<int> hosts = fault.fault.hosts;
  for (const int rank : fault.fault.ranks) hosts.push_back(layout_.HostOf(rank));
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  // A deadlock has no single author.
  if (fault.fault.kind != FaultKind::kDeadlock) fault.hosts = Names(hosts, host_names);
  AddSuspects(fault, host_names);
  return fault;
}

void Maker::AddSuspects(TrueFault& fault, const std::vector<std::string>& host_names) const {
  const Suspects suspects = SuspectsOf(world_, layout_, fault.fault, playback_);
  fault.also_ok = Names(suspects.hosts, host_names);
  if (!suspects.hosts.empty() && !IsHang(fault.fault.kind))
    fault.classes = {"comm_slow_tx", "comm_slow_rx", "link_slow", "group_slow"};
  if (!suspects.hosts.empty() && fault.fault.kind == FaultKind::kProcessDead)
    fault.classes.emplace_back("hang_in_communication");
  const auto most = kQuarter * layout_.hosts();
  const auto listed = static_cast<double>(suspects.hosts.size() + fault.hosts.size());
  if (!IsHang(fault.fault.kind) && (suspects.is_network && listed > most) && !suspects.hosts.empty())
    fault.silence_ok = true;
}

Truth Maker::WholeTruth(const std::vector<std::string>& host_names) const {
  Truth truth;
  truth.name = absl::StrCat(layout_.ranks(), "-", std::string(kind_.name), "-", seed_);
  truth.seed = seed_;
  truth.ranks = layout_.ranks();
  truth.steps = world_.calendar.steps;
  truth.hang = playback_.hung;
  if (truth.hang) truth.steps = static_cast<int>(playback_.step_end_ns.size());
  truth.shape = world_.shape;
  const std::vector<double> healthy = StepSeconds(healthy_);
  truth.step_seconds_median = Median(StepSeconds(playback_));
  truth.healthy_step_seconds_median = Median(healthy);
  const double longest = kLongStep * truth.healthy_step_seconds_median;
  truth.healthy_long_steps = static_cast<int>(
      std::count_if(healthy.begin(), healthy.end(), [&](double seconds) { return seconds > longest; }));
  truth.silent_hosts = Names(SilentHosts(world_), host_names);
  for (size_t i = 0; i < faults_.size(); ++i) truth.faults.push_back(TruthOf(i, host_names));
  truth.host_names = host_names;
  truth.features = FeaturesOf(world_);
  return truth;
}

}  // namespace

SecondEpisode MakeSecondEpisode(uint64_t seed, const EpisodeKind& kind) { return Maker(seed, kind).Make(); }

absl::Status WriteSecondEpisode(const SecondEpisode& episode, const std::string& folder, const std::string& ending) {
  ASSIGN_OR_RETURN(const std::unique_ptr<FileWriter> rows,
                   FileWriter::Create(absl::StrCat(folder, "/ops.csv", ending)));
  RETURN_IF_ERROR(WriteRows(episode.recording, episode.world, *rows));
  RETURN_IF_ERROR(rows->Close());
  ASSIGN_OR_RETURN(const std::unique_ptr<FileWriter> truth, FileWriter::Create(absl::StrCat(folder, "/truth.json")));
  RETURN_IF_ERROR(truth->Append(TruthText(episode.truth)));
  return truth->Close();
}

}  // namespace lockstep::second
