#include "sim/patterns/pattern_job.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "sim/patterns/base_functions.h"
#include "sim/patterns/job_functions.h"
#include "sim/patterns/pattern_draws.h"

namespace lockstep {
namespace {

constexpr int32_t kMostWorkers = 1024;
constexpr int32_t kWorkersPerHost = 8;
constexpr double kOneWorker = 0.6;  // of faults of some: how often one, and how often a host
constexpr double kOneHost = 0.25;

bool IsSlowed(const JobFunction& function, bool gpu) {
  return gpu ? function.kind == FunctionKind::kGpuCompute : IsOfHost(function.kind);
}

class JobSimulation {
 public:
  explicit JobSimulation(const PatternJobSpec& spec)
      : spec_(spec),
        random_(spec.seed),
        job_(DrawJobFunctions(spec.framework, spec.fault, random_)),
        faulty_(static_cast<size_t>(spec.workers), 0) {
    for (const uint32_t worker : spec.faulty) faulty_[worker] = 1;
    if (spec.fault != nullptr && spec.fault->of_all) std::fill(faulty_.begin(), faulty_.end(), 1);
  }

  PatternFleet Run() {
    DrawJob();
    std::vector<std::vector<double>> seconds;  // by worker and function
    for (int32_t worker = 0; worker < spec_.workers; ++worker) seconds.push_back(OwnSeconds(worker));
    LetWait(seconds);
    PatternFleet fleet;
    for (int32_t worker = 0; worker < spec_.workers; ++worker) {
      const bool is_faulty = faulty_[static_cast<size_t>(worker)] != 0 && spec_.fault != nullptr;
      if (!is_faulty && random_.Below(64) == 0 && spec_.workers > 8) continue;  // its profile was lost
      fleet.Add(PatternsOf(worker, seconds[static_cast<size_t>(worker)]), spec_.duties_known ? StageOf(worker) : -1);
    }
    return fleet;
  }

 private:
  int32_t StageOf(int32_t worker) const { return worker / std::max(1, spec_.workers / spec_.stages); }

  bool HasFunction(const JobFunction& function, int32_t worker) const {
    const int32_t stage = StageOf(worker);
    if (function.stages == OnStages::kFirst) return stage == 0;
    return function.stages == OnStages::kAll || stage == spec_.stages - 1;
  }

  void DrawJob() {
    step_seconds_ = DrawLogUniform(0.1, 30, random_);
    steps_ = 5 + static_cast<int32_t>(random_.Below(16));
    idle_ = DrawBetween(0.002, 0.03, random_);
    gpu_noise_ = DrawLogUniform(0.003, 0.02, random_);
    profiled_hard_ =
        random_.Below(3) == 0 ? static_cast<int32_t>(random_.Below(static_cast<uint64_t>(spec_.workers))) : -1;
    hiccup_ = static_cast<int32_t>(random_.Below(static_cast<uint64_t>(spec_.workers)));
    // In some jobs a library chose another kernel for the same work on some of the workers.
    variant_share_ = random_.Below(3) == 0 ? DrawBetween(0.05, 0.4, random_) : 0;
    lost_cells_ = DrawBetween(0, 0.03, random_);
  }

  double SeverityOn(int32_t worker) { return faulty_[static_cast<size_t>(worker)] == 0 ? 0 : spec_.severity; }

  std::vector<double> OwnSeconds(int32_t worker) {
    const double gpu = 1 + gpu_noise_ * random_.Gaussian();
    const double length = DrawJitter(spec_.length_spread, random_);
    const double host = worker == profiled_hard_ ? DrawBetween(1.1, 1.4, random_) : 1;
    std::vector<double> seconds;
    for (const JobFunction& function : job_.functions) {
      double own = HasFunction(function, worker) ? function.seconds * DrawJitter(function.noise, random_) : 0;
      if (function.kind == FunctionKind::kGpuCompute) own *= gpu * length;
      if (IsOfHost(function.kind)) own *= host;
      seconds.push_back(own);
    }
    if (worker == hiccup_) seconds[job_.functions.size() - 1 - random_.Below(6)] += DrawBetween(0.002, 0.015, random_);
    AddFault(worker, seconds);
    return seconds;
  }

  void AddFault(int32_t worker, std::vector<double>& seconds) {
    const double severity = SeverityOn(worker) * DrawJitter(0.08, random_);
    if (severity <= 0 || spec_.fault == nullptr) return;
    if (spec_.fault->effect != PatternEffect::kSlowGpu && spec_.fault->effect != PatternEffect::kSlowHost) {
      seconds[job_.fault] += severity;
      return;
    }
    // Everything of one kind, in proportion.
    const bool gpu = spec_.fault->effect == PatternEffect::kSlowGpu;
    double all = 0;
    for (size_t i = 0; i < job_.functions.size(); ++i) all += IsSlowed(job_.functions[i], gpu) ? seconds[i] : 0;
    for (size_t i = 0; i < job_.functions.size(); ++i) {
      if (IsSlowed(job_.functions[i], gpu)) seconds[i] *= 1 + severity / all * (gpu ? 1 : DrawJitter(0.3, random_));
    }
  }

  // All wait for the slowest in the last collective.
  void LetWait(std::vector<std::vector<double>>& seconds) {
    double longest = 0;
    std::vector<double> own;
    for (const std::vector<double>& worker : seconds) {
      double sum = 0;
      for (const double one : worker) sum += one;
      own.push_back(sum);
      longest = std::max(longest, sum);
    }
    step_ = longest / (1 - idle_);
    for (size_t worker = 0; worker < seconds.size(); ++worker) seconds[worker][job_.last] += longest - own[worker];
  }

  RankPatterns PatternsOf(int32_t worker, const std::vector<double>& seconds) {
    RankPatterns patterns;
    patterns.rank = worker;
    patterns.steps = spec_.steps_marked ? steps_ : 0;
    const double step_seconds = step_ * step_seconds_;
    patterns.window_seconds = step_seconds * steps_ * DrawBetween(0.98, 1.02, random_);
    patterns.idle = idle_;
    const bool has_variant = random_.Unit() < variant_share_;
    bool renamed = false;
    for (size_t i = 0; i < job_.functions.size(); ++i) {
      const bool is_fault = i == job_.fault && SeverityOn(worker) > 0;
      if (seconds[i] <= 0 || (!is_fault && random_.Unit() < lost_cells_)) continue;
      FunctionPattern pattern = PatternOf(worker, job_.functions[i], seconds[i], step_seconds, is_fault);
      if (pattern.beta < kLeastBeta) continue;
      if (has_variant && !renamed && pattern.kind == FunctionKind::kGpuCompute && i != job_.fault) {
        pattern.name = absl::StrCat("alt_", pattern.name).substr(0, kMostFunctionNameBytes);
        renamed = true;
      }
      patterns.functions.push_back(std::move(pattern));
    }
    if (worker == 0) AddLogs(patterns);
    return patterns;
  }

  FunctionPattern PatternOf(int32_t worker, const JobFunction& function, double seconds, double step_seconds,
                            bool is_fault) {
    const bool slow_host = spec_.fault != nullptr && spec_.fault->effect == PatternEffect::kSlowHost &&
                           SeverityOn(worker) > 0 && IsOfHost(function.kind);
    FunctionPattern pattern;
    pattern.kind = function.kind;
    pattern.name = function.name;
    pattern.beta = seconds / step_;
    double calls = function.calls;
    if (is_fault && !function.stretched && function.seconds > 0) calls *= seconds / function.seconds;
    pattern.calls_per_second = calls / step_seconds * DrawBetween(0.995, 1.005, random_);
    pattern.mean_seconds = seconds * step_seconds_ / calls;
    pattern.spread = function.spread * DrawJitter(0.1, random_) + (slow_host ? DrawBetween(1, 4, random_) : 0);
    if (is_fault && function.stretched) pattern.spread *= DrawBetween(0.5, 2.5, random_);
    pattern.utilisation = function.utilisation;
    pattern.mu = function.mu * DrawJitter(0.01, random_);
    if (function.utilisation != Utilisation::kOccupancy && function.seconds > 0) {
      pattern.mu *= std::min(1.0, function.seconds / seconds);
    }
    pattern.sigma = pattern.mu * function.spread * DrawJitter(0.1, random_);
    return pattern;
  }

  void AddLogs(RankPatterns& patterns) {
    FunctionPattern logs;
    logs.kind = FunctionKind::kPython;
    logs.name = "logging/__init__.py(1011): emit";
    logs.beta = DrawBetween(0.001, 0.015, random_);
    logs.calls_per_second = 20;
    logs.mean_seconds = logs.beta / 20;
    logs.spread = 1;
    patterns.functions.push_back(std::move(logs));
  }

  const PatternJobSpec& spec_;
  Random random_;
  const JobFunctions job_;
  std::vector<char> faulty_;
  double step_seconds_ = 1;  // of a healthy step
  double step_ = 1;          // as it is, in healthy steps
  int32_t steps_ = 5;
  double idle_ = 0;
  double gpu_noise_ = 0;
  int32_t profiled_hard_ = -1;
  int32_t hiccup_ = 0;
  double variant_share_ = 0;
  double lost_cells_ = 0;
};

void DrawFaulty(PatternJobSpec& spec, Random& random) {
  const auto workers = static_cast<uint64_t>(spec.workers);
  if (spec.fault->effect == PatternEffect::kSlowTransfer) {
    // A group of workers that talk among themselves.
    const uint64_t size = spec.workers >= 64 ? 8 : 4;
    const uint64_t first = random.Below(workers / size) * size;
    for (uint64_t i = 0; i < size; ++i) spec.faulty.push_back(static_cast<uint32_t>(first + i));
    return;
  }
  const double draw = random.Unit();
  if (draw >= kOneWorker && draw < kOneWorker + kOneHost && spec.workers >= 64) {
    const uint64_t first = random.Below(workers / kWorkersPerHost) * kWorkersPerHost;
    for (uint64_t i = 0; i < kWorkersPerHost; ++i) spec.faulty.push_back(static_cast<uint32_t>(first + i));
    return;
  }
  const uint64_t count = draw < kOneWorker || spec.workers < 32 ? 1 : 2 + random.Below(2);
  while (spec.faulty.size() < count) {
    const auto worker = static_cast<uint32_t>(random.Below(workers));
    if (std::find(spec.faulty.begin(), spec.faulty.end(), worker) == spec.faulty.end()) spec.faulty.push_back(worker);
  }
  std::sort(spec.faulty.begin(), spec.faulty.end());
}

}  // namespace

PatternJobSpec DrawPatternJob(const PatternKind* kind, Random& random) {
  PatternJobSpec spec;
  spec.seed = random.Next();
  spec.framework = static_cast<uint8_t>(1u << random.Below(kFrameworks));
  const bool transfer = kind != nullptr && !kind->of_all && kind->effect == PatternEffect::kSlowTransfer;
  const double least = transfer ? 16 : 4;
  spec.workers = static_cast<int32_t>(DrawLogUniform(least, kMostWorkers + 0.5, random));
  if (spec.framework == kMegatron && spec.workers >= 32) spec.stages = 1 << random.Below(4);
  while (spec.workers / spec.stages < static_cast<int32_t>(least)) spec.stages /= 2;
  spec.workers -= spec.workers % spec.stages;
  // A group inside a stage needs whole groups there.
  if (transfer) spec.workers -= spec.workers % (spec.stages * (spec.workers >= 64 ? 8 : 4));
  spec.duties_known = random.Below(2) == 0;
  spec.steps_marked = random.Below(8) != 0;
  spec.length_spread = random.Below(3) == 0 ? DrawLogUniform(0.01, 0.08, random) : 0.002;
  spec.fault = kind;
  if (kind == nullptr) return spec;
  spec.severity = DrawLogUniform(kind->least, kind->most, random);
  if (!kind->of_all) DrawFaulty(spec, random);
  return spec;
}

PatternFleet SimulatePatterns(const PatternJobSpec& spec) { return JobSimulation(spec).Run(); }

std::string Describe(const PatternJobSpec& spec) {
  std::string text = absl::StrCat(spec.workers, " workers");
  if (spec.stages > 1) absl::StrAppend(&text, " in ", spec.stages, " stages");
  if (!spec.duties_known) absl::StrAppend(&text, ", duties unknown");
  if (spec.fault == nullptr) return absl::StrCat(text, ": healthy");
  absl::StrAppendFormat(&text, ": %s (%s), %.0f%% of a step, on ", Name(spec.fault->pattern_class),
                        spec.fault->function, 100 * spec.severity);
  if (spec.fault->of_all) return absl::StrCat(text, "all");
  return absl::StrCat(text, absl::StrJoin(spec.faulty, ", "));
}

}  // namespace lockstep
