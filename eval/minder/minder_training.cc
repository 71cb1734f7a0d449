#include "eval/minder/minder_training.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "eval/minder/machine_history.h"
#include "eval/minder/metric_priority.h"
#include "eval/minder/normal_score.h"

namespace lockstep {
namespace {

// As much of a job as a call of Minder sees.
struct Stretch {
  TickRange range;
  std::vector<MachineHistory> metrics;  // in [0, 1]; no hosts = nothing known
  std::vector<bool> varies;             // by metric; constant ones are all zero
  const std::vector<FaultInterval>* faults = nullptr;

  int64_t windows() const { return range.ticks - kMinderWindow + 1; }

  bool Abnormal(int64_t first_tick) const {
    const int64_t begin_ms = range.begin_ms + first_tick * range.tick_ms;
    const int64_t end_ms = range.EndMs(first_tick + kMinderWindow - 1);
    return std::any_of(faults->begin(), faults->end(),
                       [&](const FaultInterval& fault) { return begin_ms < fault.end_ms && fault.begin_ms < end_ms; });
  }
};

Stretch CutStretch(const MinderHistory& history, absl::Span<const std::string> metrics, const TickRange& range) {
  Stretch stretch{.range = range, .faults = &history.faults};
  for (const std::string& name : metrics) {
    const MetricMatrix* matrix = history.grid->Find(name);
    MachineHistory machines;
    bool varies = false;
    if (matrix != nullptr && matrix->tick_ms == range.tick_ms) {
      machines = FillMachineHistory(*matrix, range);
      varies = NormaliseHistory(machines);
      if (!varies) machines.values.setZero();
    }
    stretch.metrics.push_back(std::move(machines));
    stretch.varies.push_back(varies);
  }
  return stretch;
}

std::vector<Stretch> CutStretches(const MinderHistory& history, absl::Span<const std::string> metrics,
                                  int64_t stretch_ms) {
  int64_t begin_ms = std::numeric_limits<int64_t>::max();
  int64_t end_ms = std::numeric_limits<int64_t>::min();
  int64_t tick_ms = 0;
  for (const std::string& name : metrics) {
    const MetricMatrix* matrix = history.grid->Find(name);
    if (matrix == nullptr || matrix->values.cols() == 0) continue;
    if (tick_ms == 0) tick_ms = matrix->tick_ms;
    begin_ms = std::min(begin_ms, matrix->start_ms);
    end_ms = std::max(end_ms, matrix->TickEndMs(matrix->values.cols() - 1));
  }
  std::vector<Stretch> stretches;
  if (tick_ms == 0) return stretches;
  for (; begin_ms < end_ms; begin_ms += stretch_ms) {
    const TickRange range{begin_ms, tick_ms, std::min(stretch_ms, end_ms - begin_ms) / tick_ms};
    if (range.ticks >= kMinderWindow) stretches.push_back(CutStretch(history, metrics, range));
  }
  return stretches;
}

// The normal windows of some metrics that are read together, over all stretches.
class WindowPool {
 public:
  explicit WindowPool(std::vector<size_t> metrics) : metrics_(std::move(metrics)) {}

  void Add(const Stretch& stretch) {
    Source source;
    for (const size_t metric : metrics_) source.features.push_back(stretch.metrics[metric]);
    std::vector<int32_t> hosts = source.features.front().hosts;
    for (const MachineHistory& feature : source.features) {
      std::vector<int32_t> both;
      std::set_intersection(hosts.begin(), hosts.end(), feature.hosts.begin(), feature.hosts.end(),
                            std::back_inserter(both));
      hosts = std::move(both);
    }
    const bool varies =
        std::any_of(metrics_.begin(), metrics_.end(), [&](size_t metric) { return stretch.varies[metric]; });
    if (hosts.empty() || !varies) return;
    for (MachineHistory& feature : source.features) feature = SelectHosts(feature, hosts);
    for (int64_t tick = 0; tick < stretch.windows(); ++tick) {
      if (!stretch.Abnormal(tick)) source.first_ticks.push_back(tick);
    }
    if (source.first_ticks.empty()) return;
    count_ += source.first_ticks.size() * hosts.size();
    source.end = count_;
    sources_.push_back(std::move(source));
  }

  // Up to `most` windows, drawn with repetition.
  std::vector<float> Draw(size_t most, Random& random) const {
    std::vector<float> windows;
    for (size_t i = 0; i < std::min(most, count_); ++i) Append(random.Below(count_), windows);
    return windows;
  }

 private:
  struct Source {
    std::vector<MachineHistory> features;
    std::vector<int64_t> first_ticks;
    size_t end = 0;  // windows up to and including this source
  };

  void Append(size_t index, std::vector<float>& windows) const {
    const auto source =
        std::find_if(sources_.begin(), sources_.end(), [index](const Source& s) { return index < s.end; });
    const size_t machines = source->features.front().hosts.size();
    const size_t own = index - (source->end - source->first_ticks.size() * machines);
    const int64_t first_tick = source->first_ticks[own / machines];
    for (int64_t step = 0; step < kMinderWindow; ++step) {
      for (const MachineHistory& feature : source->features) {
        windows.push_back(feature.values(static_cast<int64_t>(own % machines), first_tick + step));
      }
    }
  }

  const std::vector<size_t> metrics_;
  std::vector<Source> sources_;
  size_t count_ = 0;
};

LabelledWindow Labelled(const Stretch& stretch, int64_t first_tick) {
  LabelledWindow row;
  row.abnormal = stretch.Abnormal(first_tick);
  for (const MachineHistory& metric : stretch.metrics) {
    float greatest = 0;
    if (metric.hosts.size() >= static_cast<size_t>(kMinMinderMachines)) {
      const auto window = metric.values.middleCols(first_tick, kMinderWindow).cast<double>();
      greatest = static_cast<float>(NormalScores(window.rowwise().mean().array()).abs().maxCoeff());
    }
    row.greatest_z.push_back(greatest);
  }
  return row;
}

std::vector<size_t> LearnOrder(const std::vector<Stretch>& stretches, size_t metrics, int64_t stride) {
  std::vector<LabelledWindow> rows;
  for (const Stretch& stretch : stretches) {
    for (int64_t tick = 0; tick < stretch.windows(); tick += stride) rows.push_back(Labelled(stretch, tick));
  }
  return LearnMetricPriority(metrics, rows);
}

// What is not in any stretch, or never varies, cannot be learned.
std::vector<std::string> KnownMetrics(absl::Span<const std::string> metrics, const std::vector<Stretch>& stretches) {
  std::vector<std::string> known;
  for (size_t i = 0; i < metrics.size(); ++i) {
    const auto varies = [i](const Stretch& stretch) { return stretch.varies[i]; };
    if (std::any_of(stretches.begin(), stretches.end(), varies)) known.push_back(metrics[i]);
  }
  return known;
}

std::vector<Stretch> CutAll(absl::Span<const MinderHistory> histories, absl::Span<const std::string> metrics,
                            int64_t stretch_ms) {
  std::vector<Stretch> all;
  for (const MinderHistory& history : histories) {
    std::vector<Stretch> own = CutStretches(history, metrics, stretch_ms);
    std::move(own.begin(), own.end(), std::back_inserter(all));
  }
  return all;
}

std::vector<float> DrawWindows(const std::vector<Stretch>& stretches, std::vector<size_t> metrics, size_t most,
                               uint64_t seed) {
  WindowPool pool(std::move(metrics));
  for (const Stretch& stretch : stretches) pool.Add(stretch);
  Random random(seed);
  return pool.Draw(most, random);
}

}  // namespace

MinderModel TrainMinder(absl::Span<const MinderHistory> histories, absl::Span<const std::string> metrics,
                        const MinderTrainingOptions& options) {
  CHECK(metrics.size() <= kMaxMinderMetrics && options.priority_stride > 0 && options.stretch_ms > 0);
  const std::vector<std::string> known = KnownMetrics(metrics, CutAll(histories, metrics, options.stretch_ms));
  const std::vector<Stretch> stretches = CutAll(histories, known, options.stretch_ms);
  const std::vector<size_t> order = LearnOrder(stretches, known.size(), options.priority_stride);
  MinderModel model;
  for (const size_t metric : order) {
    const std::vector<float> windows = DrawWindows(stretches, {metric}, options.max_windows, options.network.seed);
    MinderMetric trained{.name = known[metric]};
    trained.network = TrainLstmVae(1, windows, options.network).model;
    trained.mean_squared_error = MeanSquaredError(trained.network, windows);
    model.metrics.push_back(std::move(trained));
  }
  if (order.empty()) return model;
  const std::vector<float> windows = DrawWindows(stretches, order, options.max_windows, options.network.seed);
  const auto features = static_cast<int>(order.size());
  if (!windows.empty()) model.integrated = TrainLstmVae(features, windows, options.network).model;
  return model;
}

}  // namespace lockstep
