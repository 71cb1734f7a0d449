#include "detector/counters/counter_stream.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/metric_catalog.h"
#include "base/random.h"
#include "detector/counters/case_record.h"
#include "detector/counters/counter_history.h"
#include "detector/counters/machine_alarm.h"
#include "detector/counters/named_sign.h"
#include "detector/counters/peer_detector.h"
#include "detector/counters/sample_clock.h"
#include "detector/model/metric_table.h"
#include "detector/testing/counter_job.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int64_t kSliceMs = 250;

// A report per host and quarter of a second. Clocks of hosts have nothing in common; reports take up to `late_ms`.
// `after_outage`: all have waited in their agents for a collector, which receives them at the end, in the same order.
void Play(const MetricTable& table, int64_t late_ms, uint64_t seed, CounterStream* stream, bool after_outage = false) {
  Random random(seed);
  struct Made {
    int64_t received_ns;
    HostReport report;
    int32_t host;
  };
  std::vector<Made> reports;
  std::map<int64_t, std::map<int32_t, HostReport>> slices;
  std::vector<int64_t> clocks;
  for (size_t i = 0; i < table.hosts.size(); ++i) clocks.push_back(static_cast<int64_t>(random.Below(1'000'000)));
  for (const MetricSeries& series : table.series) {
    for (size_t i = 0; i < series.time_ms.size(); ++i) {
      HostReport& report = slices[series.time_ms[i] / kSliceMs][series.host];
      report.host = table.hosts[static_cast<size_t>(series.host)];
      const int64_t host_ms = series.time_ms[i] - clocks[static_cast<size_t>(series.host)];
      report.samples.push_back({series.device, series.metric, host_ms * kNanosPerMilli, series.value[i]});
      report.host_ns = std::max(report.host_ns, host_ms * kNanosPerMilli);
    }
  }
  for (auto& [slice, of_host] : slices) {
    for (auto& [host, report] : of_host) {
      const int64_t made_ns = report.host_ns + clocks[static_cast<size_t>(host)] * kNanosPerMilli;
      const int64_t late_ns =
          late_ms == 0 ? 0 : kNanosPerMilli * static_cast<int64_t>(random.Below(static_cast<uint64_t>(late_ms)));
      // Reports of one host stay in order.
      int64_t received_ns = made_ns + late_ns;
      for (auto before = reports.rbegin(); before != reports.rend(); ++before) {
        if (before->host != host) continue;
        received_ns = std::max(received_ns, before->received_ns);
        break;
      }
      report.received_ns = received_ns;
      reports.push_back({received_ns, report, host});
    }
  }
  if (late_ms > 0) {
    std::stable_sort(reports.begin(), reports.end(),
                     [](const Made& a, const Made& b) { return a.received_ns < b.received_ns; });
  }
  for (Made& made : reports) {
    if (after_outage) {
      made.report.received_ns = reports.back().received_ns;
      made.report.waited_ns = made.report.received_ns - made.received_ns;
    }
    stream->Observe(made.host, made.report, /*compared=*/true);
  }
}

std::string Text(const HistoryCase& found) {
  std::string text = absl::StrCat(found.host, " ", static_cast<int>(found.kind), " ", found.score, " ", found.onset_ms,
                                  " ", found.alarm_ms, " ", found.last_ms, " ", found.degraded_ms, " ", found.job_loss);
  for (const NamedSign& sign : found.signs) {
    absl::StrAppend(&text, " ", sign.metric_name, sign.device, sign.excursion.share, " ", sign.excursion.level);
  }
  return text;
}

// Of cases that ended before the newest samples, about which only a finished history concludes.
std::vector<std::string> Ended(const CounterHistory& history, int64_t before_ms) {
  std::vector<std::string> texts;
  for (const HistoryCase& found : history.cases) {
    if (found.last_ms < before_ms) texts.push_back(Text(found));
  }
  for (const HistoryShift& shift : history.shifts) {
    if (shift.last_ms < before_ms) texts.push_back(absl::StrCat("shift ", shift.onset_ms, " ", shift.hosts.size()));
  }
  return texts;
}

// Ends of what is odd lie a minute before the end of the history.
constexpr int kOver = kSeconds - 150;

// A job with whatever may happen to its samples.
MetricTable UntidyJob(uint64_t seed) {
  Random random(seed);
  const int hosts = 8 + static_cast<int>(random.Below(20));
  const int odd = static_cast<int>(random.Below(static_cast<uint64_t>(hosts)));
  const bool many = random.Below(4) == 0;
  const bool slows = random.Below(2) == 0;
  const double factor = 0.5 + 0.3 * random.Unit();
  MetricTable table = Job(hosts, seed, [=](int host, int second, Metric metric, double value) {
    const bool is_odd = many ? host % 3 == 0 : host == odd;
    if (second < kOnset || second >= kOver) return value;
    if (is_odd && metric == Metric::kGpuPowerWatts) value *= factor;
    return slows ? 0.9 * value : value;
  });
  for (MetricSeries& series : table.series) {
    // Each host has its moment, misses samples and sometimes a while.
    const auto phase = static_cast<int64_t>(17 * series.host % 200);
    const auto gap_at = static_cast<size_t>(100 + random.Below(300));
    const size_t gap = random.Below(3) == 0 ? 12 : 0;
    MetricSeries kept = series;
    kept.time_ms.clear();
    kept.value.clear();
    for (size_t i = 0; i < series.time_ms.size(); ++i) {
      if (random.Below(50) == 0 || (i >= gap_at && i < gap_at + gap)) continue;
      kept.time_ms.push_back(series.time_ms[i] + phase + static_cast<int64_t>(random.Below(20)));
      kept.value.push_back(random.Below(200) == 0 ? std::numeric_limits<double>::quiet_NaN() : series.value[i]);
    }
    series = std::move(kept);
  }
  const size_t every = table.series.size();
  for (size_t i = 0; i < every; i += 3) {
    MetricSeries errors = table.series[i];
    errors.name = "ib_symbol_errors_total";
    errors.metric = Metric::kIbSymbolErrorsTotal;
    for (size_t k = 0; k < errors.value.size(); ++k) errors.value[k] = k > 300 && i == 0 ? 5.0 * (k - 300) : 7;
    table.series.push_back(std::move(errors));
  }
  std::stable_sort(table.series.begin(), table.series.end(), [](const MetricSeries& a, const MetricSeries& b) {
    return std::tie(a.host, a.device, a.name) < std::tie(b.host, b.device, b.name);
  });
  return table;
}

// The same samples in the same order: the same answers, to the last bit.
TEST(CounterStreamTest, SaysOfARunningJobWhatItsHistorySays) {
  size_t cases = 0;
  size_t findings = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const MetricTable table = UntidyJob(seed);
    const CounterHistory file = JudgeHistory(table, {});
    CounterStream stream(PeerOptions().max_units);
    Play(table, 0, seed, &stream);
    const CounterHistory& live = stream.driver().history();
    const std::vector<std::string> expected = Ended(file, file.end_ms - 30'000);
    EXPECT_EQ(Ended(live, file.end_ms - 30'000), expected) << seed;
    EXPECT_EQ(live.degraded, file.degraded) << seed;
    EXPECT_GE(live.end_ms, file.end_ms - 3000);
    const std::vector<HardwareFinding> ruled = stream.Findings(file.end_ms * kNanosPerMilli);
    ASSERT_EQ(ruled.size(), file.findings.size()) << seed;
    for (size_t i = 0; i < ruled.size(); ++i) EXPECT_EQ(ruled[i].sign, file.findings[i].finding.sign);
    cases += expected.size();
    findings += ruled.size();
  }
  EXPECT_GE(cases, 8u);
  EXPECT_GE(findings, 8u);
}

TEST(CounterStreamTest, ReportsThatComeLateChangeNothingThatMatters) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const MetricTable table = Job(24, seed, [](int host, int second, Metric metric, double value) {
      const bool odd = host == 5 && metric == Metric::kGpuPowerWatts && second >= kOnset;
      return odd ? 0.6 * value : value;
    });
    CounterStream stream(PeerOptions().max_units);
    Play(table, 900, seed, &stream);
    const std::vector<MachineAlarm> in_time = DetectMachines(table, {});
    ASSERT_EQ(Accused(in_time), std::vector<int32_t>{5});
    std::set<int32_t> hosts;
    for (const HistoryCase& found : stream.driver().history().cases) {
      hosts.insert(found.host);
      // Later by what late samples cost, and never much sooner.
      EXPECT_GE(found.alarm_ms, in_time[0].alarm_ms - 3000) << seed;
      EXPECT_LE(found.alarm_ms, in_time[0].alarm_ms + 8000) << seed;
    }
    EXPECT_EQ(hosts, std::set<int32_t>{5}) << seed;
    EXPECT_LE(stream.discarded(), 24u * 3 * kSeconds / 100);
  }
}

// A collector that was away meets samples of minutes in one instant: each counts at the time at which it was taken.
TEST(CounterStreamTest, ReportsThatWaitedForTheCollectorSayTheSame) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const MetricTable table = UntidyJob(seed);
    CounterStream in_time(PeerOptions().max_units);
    Play(table, 0, seed, &in_time);
    CounterStream late(PeerOptions().max_units);
    Play(table, 0, seed, &late, /*after_outage=*/true);
    EXPECT_EQ(late.discarded(), in_time.discarded()) << seed;
    const int64_t end_ms = in_time.driver().history().end_ms;
    EXPECT_EQ(late.driver().history().end_ms, end_ms) << seed;
    EXPECT_EQ(Ended(late.driver().history(), end_ms), Ended(in_time.driver().history(), end_ms)) << seed;
  }
}

TEST(CounterStreamTest, CountsWhatIsNotUsable) {
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 9223372036854775794.0}) {
    CounterStream stream(100);
    stream.Observe(0, {.host = "a", .samples = {{"gpu0", Metric::kGpuPowerWatts, 1, value}}}, true);
    EXPECT_EQ(stream.discarded(), 1u);
  }
}

TEST(CounterStreamTest, RefusesSeriesBeyondTheLimit) {
  CounterStream stream(7);
  for (int device = 0; device < 10; ++device) {
    stream.Observe(0, {.host = "a", .samples = {{absl::StrCat("gpu", device), Metric::kGpuPowerWatts, 1, 5}}}, true);
  }
  EXPECT_EQ(stream.discarded(), 3u);
}

// Machines without a common job are judged by rules alone.
TEST(CounterStreamTest, WhatIsNotComparedIsStillRuled) {
  CounterStream stream(1000);
  for (int64_t second = 1; second <= 200; ++second) {
    for (int32_t host = 0; host < 10; ++host) {
      HostReport report{.host = absl::StrCat("h", host),
                        .received_ns = second * kNanosPerSecond,
                        .host_ns = second * kNanosPerSecond};
      report.samples = {{"gpu0", Metric::kGpuPowerWatts, report.host_ns, host == 3 && second > 100 ? 50.0 : 400.0},
                        {"mlx5_0", Metric::kIbLinkDownedTotal, report.host_ns, host == 4 && second > 100 ? 1.0 : 0.0}};
      stream.Observe(host, report, /*compared=*/false);
    }
  }
  EXPECT_TRUE(stream.driver().history().cases.empty());
  const std::vector<HardwareFinding> findings = stream.Findings(200 * kNanosPerSecond);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].host, "h4");
  EXPECT_TRUE(findings[0].hard);
}

TEST(SampleClockTest, FollowsTheFastestReportAndARestart) {
  SampleClock clock;
  EXPECT_EQ(clock.OffsetNs(0, 100, 1100), 1000);
  EXPECT_EQ(clock.OffsetNs(0, 200, 1150), 950);
  EXPECT_EQ(clock.OffsetNs(0, 300, 1400), 950);
  EXPECT_EQ(clock.OffsetNs(0, 5, 1500), 1495);  // booted
  EXPECT_EQ(clock.OffsetNs(1, 7, 8), 1);
  // A clock that runs slow is followed after two windows.
  int64_t offset_ns = 0;
  for (int64_t second = 0; second < 2000; ++second) {
    offset_ns = clock.OffsetNs(2, second * 999'900'000, second * kNanosPerSecond);
  }
  EXPECT_GT(offset_ns, 1999 * 100'000 - 2 * SampleClock::kWindowNs / 10'000);
}

}  // namespace
}  // namespace lockstep
