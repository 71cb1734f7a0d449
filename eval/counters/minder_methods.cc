#include "eval/counters/minder_methods.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "eval/minder/default_minder.h"
#include "eval/minder/distance_sum.h"
#include "eval/minder/metric_grid.h"
#include "eval/minder/minder.h"
#include "eval/minder/minder_model.h"

namespace lockstep {
namespace {

constexpr int64_t kTickMs = 1000;

MinderOptions Variant(MinderVariant variant) {
  MinderOptions options;
  options.variant = variant;
  return options;
}

MinderOptions WithDistance(DistanceKind distance) {
  MinderOptions options;
  options.distance = distance;
  return options;
}

MinderOptions WithoutContinuity() {
  MinderOptions options;
  options.continuity_ms = 0;
  return options;
}

}  // namespace

std::vector<CounterMethod> MinderMethods() {
  const auto model = std::make_shared<const MinderModel>(DefaultMinderModel());
  std::vector<CounterMethod> methods;
  const auto add = [&](const char* name, const char* source, const MinderOptions& options) {
    methods.push_back({name, source, [model, options](const MetricTable& table) {
                         GridOptions grid;
                         grid.tick_ms = kTickMs;
                         return RunMinder(BuildGrid(table, grid), *model, options).alarms;
                       }});
  };
  add("Minder", "arXiv 2411.01791; similarity threshold and its size for small jobs are ours", {});
  add("MD", "the same paper's baseline: Mahalanobis distance of summary features",
      Variant(MinderVariant::kMahalanobis));
  add("RAW", "ablation of Minder: no denoising", Variant(MinderVariant::kRaw));
  add("CON", "ablation of Minder: all metrics as one point", Variant(MinderVariant::kConcatenated));
  add("INT", "ablation of Minder: one network for all metrics", Variant(MinderVariant::kIntegrated));
  add("no continuity", "ablation of Minder: the first candidate is the answer", WithoutContinuity());
  add("Manhattan", "Minder with the Manhattan distance", WithDistance(DistanceKind::kManhattan));
  add("Chebyshev", "Minder with the Chebyshev distance", WithDistance(DistanceKind::kChebyshev));
  return methods;
}

}  // namespace lockstep
