#include "detector/testing/counter_job.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/random.h"

namespace lockstep {

double Unchanged(int, int, Metric, double value) { return value; }

MetricTable Job(int hosts, uint64_t seed, const Twist& twist) {
  Random random(seed);
  MetricTable table{.job = "j"};
  struct Kind {
    Metric metric;
    const char* device;
    double busy;
    double waiting;
  };
  constexpr Kind kKinds[] = {{Metric::kGpuPowerWatts, "gpu0", 640, 420},
                             {Metric::kIbTransmitBytesTotal, "mlx5_0/1", 3e9, 30e9},
                             {Metric::kHostCpuBusyRatio, "", 0.16, 0.13}};
  for (int host = 0; host < hosts; ++host) {
    table.hosts.push_back("node-" + std::to_string(host));
    for (const Kind& kind : kKinds) {
      const MetricInfo* const info = FindMetric(kind.metric);
      MetricSeries series{.host = host, .device = kind.device, .name = std::string(info->name), .metric = kind.metric};
      const double own = 1 + 0.03 * random.Gaussian();
      double total = 0;
      for (int second = 0; second < kSeconds; ++second) {
        double value = (second % 10 < 7 ? kind.busy : kind.waiting) * own * (1 + 0.03 * random.Gaussian());
        value = twist(host, second, kind.metric, value);
        total += value;
        series.time_ms.push_back(kStartMs + 1000 * second);
        series.value.push_back(info->kind == MetricKind::kCounter ? std::floor(total) : value);
      }
      table.series.push_back(std::move(series));
    }
  }
  return table;
}

std::vector<int32_t> Accused(const std::vector<MachineAlarm>& alarms) {
  std::vector<int32_t> hosts;
  for (const MachineAlarm& alarm : alarms) hosts.push_back(alarm.host);
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

Twist Scale(int first, int count, Metric metric, double factor) {
  return [=](int host, int second, Metric of, double value) {
    const bool here = host >= first && host < first + count && of == metric && second >= kOnset;
    return here ? factor * value : value;
  };
}

Twist Slower(const Twist& twist) {
  return [twist](int host, int second, Metric metric, double value) {
    if (metric == Metric::kGpuPowerWatts && second >= kOnset) value *= 0.85;
    return twist(host, second, metric, value);
  };
}

Twist Hangs(const std::function<int(int host)>& stops) {
  return [stops](int host, int second, Metric metric, double value) {
    const bool hangs = second >= kOnset + 2;
    if (metric == Metric::kGpuPowerWatts) return hangs ? 0.4 * value : value;
    if (metric != Metric::kIbTransmitBytesTotal) return value;
    return hangs || second >= stops(host) ? 0 : value;
  };
}

MetricTable BusyJob(int hosts, uint64_t seed, const Twist& twist) {
  MetricTable table = Job(hosts, seed, twist);
  const MetricInfo* const info = FindMetric(Metric::kGpuUtilizationRatio);
  for (int host = 0; host < hosts; ++host) {
    MetricSeries series{.host = host, .device = "gpu0", .name = std::string(info->name), .metric = info->metric};
    for (int second = 0; second < kSeconds; ++second) {
      series.time_ms.push_back(kStartMs + 1000 * second);
      series.value.push_back(1);
    }
    table.series.push_back(std::move(series));
  }
  return table;
}

}  // namespace lockstep
