#include "eval/minder/minder.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "eval/minder/lstm_vae_denoiser.h"
#include "eval/minder/machine_history.h"
#include "eval/minder/summary_distance.h"

namespace lockstep {
namespace {

// A metric of the model that the grid has.
struct UsedMetric {
  const MetricMatrix* matrix;
  size_t index;  // in the model
};

// The metrics that are judged together, over the same machines.
struct Judged {
  TickRange range;
  std::vector<const UsedMetric*> metrics;
  std::vector<MachineHistory> histories;  // one per metric, all of the same hosts
};

class MinderRun {
 public:
  MinderRun(const MetricGrid& grid, const MinderModel& model, const MinderOptions& options)
      : model_(model), options_(options) {
    CHECK(options.call_interval_ms > 0 && options.pull_ms > 0);
    for (size_t i = 0; i < model.metrics.size(); ++i) {
      const MetricMatrix* matrix = grid.Find(model.metrics[i].name);
      if (matrix == nullptr || matrix->values.cols() == 0) {
        ++result_.losses.absent_metrics;
        continue;
      }
      used_.push_back({matrix, i});
      begin_ms_ = std::min(begin_ms_, matrix->start_ms);
      end_ms_ = std::max(end_ms_, matrix->TickEndMs(matrix->values.cols() - 1));
    }
    result_.losses.unknown_metrics = static_cast<int>(grid.metrics.size() - used_.size());
    for (const MinderMetric& metric : model.metrics) denoisers_.emplace_back(metric.network);
    if (model.integrated.has_value()) integrated_.emplace(*model.integrated);
  }

  MinderResult Run() {
    if (used_.empty()) return std::move(result_);
    // The last call is at the end.
    const int64_t before = (end_ms_ - begin_ms_ - 1) / options_.call_interval_ms;
    for (int64_t i = before; i >= 0; --i) Call(end_ms_ - i * options_.call_interval_ms);
    return std::move(result_);
  }

 private:
  bool joint() const {
    return options_.variant == MinderVariant::kConcatenated || options_.variant == MinderVariant::kIntegrated;
  }

  void Call(int64_t now_ms) {
    ++result_.losses.calls;
    if (joint()) {
      if (options_.variant == MinderVariant::kIntegrated &&
          (!integrated_.has_value() || used_.size() != model_.metrics.size())) {
        return;
      }
      std::vector<const UsedMetric*> together;
      for (const UsedMetric& used : used_) together.push_back(&used);
      Judge(together, now_ms);
      return;
    }
    for (const UsedMetric& used : used_) {
      if (Judge({&used}, now_ms)) return;
    }
  }

  // True if a machine was answered.
  bool Judge(const std::vector<const UsedMetric*>& metrics, int64_t now_ms) {
    std::optional<Judged> judged = Prepare(metrics, now_ms);
    if (!judged.has_value()) return false;
    int64_t machine = kNoMachine;
    int64_t since_tick = 0;
    for (int64_t tick = kMinderWindow - 1; tick < judged->range.ticks; ++tick) {
      const Candidate candidate = FindCandidate(Dissimilarity(*judged, tick - kMinderWindow + 1), options_.threshold);
      if (candidate.machine != machine) since_tick = tick;
      machine = candidate.machine;
      if (machine == kNoMachine) continue;
      if ((tick - since_tick) * judged->range.tick_ms < options_.continuity_ms) continue;
      Answer(*judged, candidate, since_tick, tick);
      return true;
    }
    return false;
  }

  std::optional<Judged> Prepare(const std::vector<const UsedMetric*>& metrics, int64_t now_ms) {
    Judged judged;
    judged.range.tick_ms = metrics.front()->matrix->tick_ms;
    judged.range.ticks = std::min(options_.pull_ms, now_ms - begin_ms_) / judged.range.tick_ms;
    judged.range.begin_ms = now_ms - judged.range.ticks * judged.range.tick_ms;
    if (judged.range.ticks < kMinderWindow) {
      ++result_.losses.too_short;
      return std::nullopt;
    }
    for (const UsedMetric* used : metrics) {
      if (used->matrix->tick_ms != judged.range.tick_ms) {
        ++result_.losses.other_interval;
        continue;
      }
      judged.metrics.push_back(used);
      judged.histories.push_back(FillMachineHistory(*used->matrix, judged.range));
    }
    KeepSharedHosts(judged);
    if (judged.histories.front().hosts.size() < static_cast<size_t>(kMinMinderMachines)) {
      ++result_.losses.too_few_machines;
      return std::nullopt;
    }
    bool varies = false;
    for (MachineHistory& history : judged.histories) {
      if (NormaliseHistory(history)) {
        varies = true;
      } else {
        ++result_.losses.constant;
        history.values.setZero();
      }
    }
    if (!varies) return std::nullopt;
    if (options_.variant == MinderVariant::kIntegrated && judged.metrics.size() != model_.metrics.size()) {
      return std::nullopt;
    }
    return judged;
  }

  // Machines that were answered before are gone.
  void KeepSharedHosts(Judged& judged) const {
    std::vector<int32_t> hosts = judged.histories.front().hosts;
    for (const MachineHistory& history : judged.histories) {
      std::vector<int32_t> both;
      std::set_intersection(hosts.begin(), hosts.end(), history.hosts.begin(), history.hosts.end(),
                            std::back_inserter(both));
      hosts = std::move(both);
    }
    std::erase_if(hosts, [this](int32_t host) { return answered_.contains(host); });
    for (MachineHistory& history : judged.histories) history = SelectHosts(history, hosts);
  }

  Eigen::ArrayXd Dissimilarity(const Judged& judged, int64_t first_tick) const {
    if (options_.variant == MinderVariant::kMahalanobis) {
      return SummaryDistances(judged.histories.front().values.middleCols(first_tick, kMinderWindow));
    }
    return DistanceSums(Points(judged, first_tick), options_.distance);
  }

  // Row = machine: its window, or what became of it.
  Eigen::MatrixXf Points(const Judged& judged, int64_t first_tick) const {
    const auto metrics = static_cast<int64_t>(judged.histories.size());
    const int64_t machines = judged.histories.front().values.rows();
    Eigen::MatrixXf points(machines, kMinderWindow * metrics);
    if (options_.variant == MinderVariant::kRaw) {
      points = judged.histories.front().values.middleCols(first_tick, kMinderWindow);
      return points;
    }
    if (options_.variant == MinderVariant::kIntegrated) {
      Denoise(*integrated_, judged.histories, first_tick, points.data());
      return points;
    }
    for (size_t i = 0; i < judged.histories.size(); ++i) {
      Denoise(denoisers_[judged.metrics[i]->index], absl::MakeConstSpan(judged.histories).subspan(i, 1), first_tick,
              points.col(static_cast<int64_t>(i) * kMinderWindow).data());
    }
    return points;
  }

  // `denoised` is column by column [step][feature] with one row per machine.
  static void Denoise(const LstmVaeDenoiser& denoiser, absl::Span<const MachineHistory> features, int64_t first_tick,
                      float* denoised) {
    const auto machines = static_cast<size_t>(features.front().values.rows());
    std::vector<const float*> samples;
    std::vector<float*> results;
    for (int64_t step = 0; step < kMinderWindow; ++step) {
      for (const MachineHistory& feature : features) {
        samples.push_back(feature.values.col(first_tick + step).data());
        results.push_back(denoised + results.size() * machines);
      }
    }
    denoiser.Run(samples, machines, results);
  }

  void Answer(const Judged& judged, const Candidate& candidate, int64_t since_tick, int64_t tick) {
    MachineAlarm alarm;
    alarm.host = judged.histories.front().hosts[static_cast<size_t>(candidate.machine)];
    alarm.metric_name = model_.metrics[judged.metrics[MostDeviant(judged, candidate.machine, tick)]->index].name;
    alarm.onset_ms = judged.range.EndMs(since_tick) - judged.range.tick_ms;
    alarm.alarm_ms = judged.range.EndMs(tick);
    alarm.score = candidate.score;
    answered_.insert(alarm.host);
    result_.alarms.push_back(std::move(alarm));
  }

  // Which of the metrics shows the machine: the greatest normal score of the means of the window that ends at `tick`.
  static size_t MostDeviant(const Judged& judged, int64_t machine, int64_t tick) {
    size_t most = 0;
    double greatest = -1;
    for (size_t i = 0; i < judged.histories.size(); ++i) {
      const auto window = judged.histories[i].values.middleCols(tick - kMinderWindow + 1, kMinderWindow);
      const double score = std::abs(NormalScores(window.cast<double>().rowwise().mean().array())[machine]);
      if (score > greatest) {
        greatest = score;
        most = i;
      }
    }
    return most;
  }

  const MinderModel& model_;
  const MinderOptions& options_;
  std::vector<UsedMetric> used_;            // in the model's order
  std::vector<LstmVaeDenoiser> denoisers_;  // by index in the model
  std::optional<LstmVaeDenoiser> integrated_;
  int64_t begin_ms_ = std::numeric_limits<int64_t>::max();
  int64_t end_ms_ = std::numeric_limits<int64_t>::min();
  std::set<int32_t> answered_;
  MinderResult result_;
};

}  // namespace

MinderResult RunMinder(const MetricGrid& grid, const MinderModel& model, const MinderOptions& options) {
  return MinderRun(grid, model, options).Run();
}

}  // namespace lockstep
