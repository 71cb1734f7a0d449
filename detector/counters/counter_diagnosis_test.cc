#include "detector/counters/counter_diagnosis.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/metric_catalog.h"
#include "base/random.h"
#include "detector/model/metric_table.h"
#include "detector/model/place_table.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int kHosts = 16;
constexpr int kSeconds = 600;
constexpr int kOnset = 300;

struct Trouble {
  double power = 1;           // of the odd host, against the others
  double job = 1;             // of all hosts
  double clock = 1;           // of the odd host
  double ecc_per_second = 0;  // of the odd host
  int hosts = kHosts;
  int first_odd = 3;  // the odd hosts, one past the last
  int last_odd = 4;
};

MetricSeries Series(int32_t host, Metric metric, const std::string& device) {
  return {.host = host, .device = device, .name = std::string(FindMetric(metric)->name), .metric = metric};
}

// The odd machines get into trouble in the middle.
MetricTable Job(const Trouble& trouble) {
  Random random(1);
  MetricTable table{.job = "j"};
  for (int32_t host = 0; host < trouble.hosts; ++host) {
    table.hosts.push_back("node-" + std::to_string(host));
    MetricSeries power = Series(host, Metric::kGpuPowerWatts, "gpu2");
    MetricSeries clock = Series(host, Metric::kGpuSmClockHertz, "gpu2");
    MetricSeries ecc = Series(host, Metric::kGpuEccUncorrectedTotal, "gpu2");
    double errors = 0;
    for (int second = 0; second < kSeconds; ++second) {
      const bool late = second >= kOnset;
      const bool odd = late && host >= trouble.first_odd && host < trouble.last_odd;
      const double noise = 1 + 0.02 * random.Gaussian();
      power.value.push_back(500 * noise * (odd ? trouble.power : 1) * (late ? trouble.job : 1));
      clock.value.push_back(1.8e9 * (odd ? trouble.clock : 1));
      errors += odd ? trouble.ecc_per_second : 0;
      ecc.value.push_back(errors);
      for (MetricSeries* series : {&power, &clock, &ecc}) series->time_ms.push_back(1'000'000 + 1000 * second);
    }
    table.series.insert(table.series.end(), {power, clock, ecc});
  }
  return table;
}

std::string TextOf(const Verdict& verdict) {
  std::string text;
  for (const Evidence& evidence : verdict.evidence) text += evidence.text() + "\n";
  return text;
}

TEST(CounterDiagnosisTest, AQuietJobIsHealthy) {
  JobReport report;
  AddCounters(Job({}), {}, &report);
  EXPECT_EQ(report.state, JobState::kHealthy);
  EXPECT_TRUE(report.verdicts.empty());
}

TEST(CounterDiagnosisTest, AMachineIsAccusedWhenTheJobIsDegradedWithIt) {
  JobReport report;
  AddCounters(Job({.power = 0.5, .job = 0.9, .clock = 0.6}), {}, &report);
  EXPECT_EQ(report.state, JobState::kSlow);
  ASSERT_EQ(report.verdicts.size(), 1u);
  const Verdict& verdict = report.verdicts[0];
  EXPECT_EQ(verdict.scope, VerdictScope::kMachine);
  EXPECT_EQ(verdict.verdict_class, VerdictClass::kClockThrottled);
  EXPECT_EQ(verdict.advice, Advice::kCordonAndReplace);
  EXPECT_EQ(verdict.culprits.at(0).host, "node-3");
  EXPECT_EQ(verdict.culprits.at(0).gpu, 2);
  EXPECT_NEAR(static_cast<double>(verdict.first_seen_ns) * 1e-9, 1000 + kOnset, 5);
  EXPECT_GT(verdict.cost.slowdown_fraction, 0.03);
  EXPECT_NE(TextOf(verdict).find("PFC pauses"), std::string::npos);
}

TEST(CounterDiagnosisTest, WithoutDegradationItIsAnObservation) {
  JobReport report;
  AddCounters(Job({.power = 0.5}), {}, &report);
  EXPECT_EQ(report.state, JobState::kHealthy);
  ASSERT_EQ(report.verdicts.size(), 1u);
  EXPECT_EQ(report.verdicts[0].scope, VerdictScope::kUnknown);
  EXPECT_EQ(report.verdicts[0].advice, Advice::kObserve);
  EXPECT_EQ(report.verdicts[0].culprits.at(0).host, "node-3");
}

TEST(CounterDiagnosisTest, ABrokenDeviceNeedsNoDegradation) {
  JobReport report;
  AddCounters(Job({.ecc_per_second = 0.2}), {}, &report);
  const auto accused = std::find_if(report.verdicts.begin(), report.verdicts.end(),
                                    [](const Verdict& verdict) { return verdict.scope == VerdictScope::kMachine; });
  ASSERT_NE(accused, report.verdicts.end());
  EXPECT_EQ(accused->verdict_class, VerdictClass::kGpuFault);
  EXPECT_EQ(accused->culprits.at(0).host, "node-3");
}

// Rows of memory that were remapped on host 5 before the job began, read every 15 s; at `more_from` another one is.
void AddRemappedRows(int more_from, MetricTable* table) {
  for (int32_t host = 0; host < kHosts; ++host) {
    MetricSeries rows = Series(host, Metric::kGpuRemappedRowsUncorrected, "gpu2");
    for (int second = 0; second < kSeconds; second += 15) {
      rows.time_ms.push_back(1'000'000 + 1000 * second);
      rows.value.push_back(host == 5 ? (second < more_from ? 3 : 4) : 0);
    }
    table->series.push_back(rows);
  }
}

TEST(CounterDiagnosisTest, WhatHasStoodSoForAsLongAsTheJobIsKnownDidNotDegradeIt) {
  const auto accuses = [](int more_from, const std::string& host) {
    MetricTable table = Job({.power = 0.5, .job = 0.9, .clock = 0.6});
    AddRemappedRows(more_from, &table);
    JobReport report;
    AddCounters(table, {}, &report);
    return std::any_of(report.verdicts.begin(), report.verdicts.end(), [&](const Verdict& verdict) {
      return verdict.type() == FindingType::kAccusation && verdict.culprits.at(0).host == host;
    });
  };
  EXPECT_FALSE(accuses(kSeconds, "node-5"));
  EXPECT_TRUE(accuses(kSeconds, "node-3")) << "whose power and clock fell";
  EXPECT_TRUE(accuses(kOnset, "node-5")) << "one row more is news";
}

// Of each series the samples that somebody would have who reads every `seconds`.
MetricTable ReadEvery(int seconds, MetricTable table) {
  for (MetricSeries& series : table.series) {
    size_t kept = 0;
    for (size_t i = 0; i < series.time_ms.size(); i += static_cast<size_t>(seconds), ++kept) {
      series.time_ms[kept] = series.time_ms[i];
      series.value[kept] = series.value[i];
    }
    series.time_ms.resize(kept);
    series.value.resize(kept);
  }
  return table;
}

TEST(CounterDiagnosisTest, JobsThatAreReadEveryTenOrFifteenSecondsAreJudged) {
  for (const int seconds : {6, 8, 10, 15}) {
    JobReport well;
    AddCounters(ReadEvery(seconds, Job({})), {}, &well);
    EXPECT_EQ(well.state, JobState::kHealthy) << seconds;
    EXPECT_TRUE(well.verdicts.empty()) << seconds;
    JobReport report;
    AddCounters(ReadEvery(seconds, Job({.power = 0.5, .job = 0.9, .clock = 0.6})), {}, &report);
    EXPECT_EQ(report.state, JobState::kSlow) << seconds;
    ASSERT_EQ(report.verdicts.size(), 1u) << seconds;
    EXPECT_EQ(report.verdicts[0].type(), FindingType::kAccusation) << seconds;
    EXPECT_EQ(report.verdicts[0].culprits.at(0).host, "node-3") << seconds;
  }
}

// All GPUs idle for 40 s.
MetricTable WithCheckpoint(int second, MetricTable table) {
  for (MetricSeries& series : table.series) {
    if (series.metric != Metric::kGpuPowerWatts) continue;
    for (int i = second; i < second + 40; ++i) series.value[static_cast<size_t>(i)] *= 0.15;
  }
  return table;
}

TEST(CounterDiagnosisTest, ACheckpointIsNeitherDegradationNorCost) {
  JobReport well;
  AddCounters(WithCheckpoint(kOnset, Job({})), {}, &well);
  EXPECT_EQ(well.state, JobState::kHealthy);
  JobReport report;
  AddCounters(WithCheckpoint(kOnset + 150, Job({.power = 0.5, .job = 0.9, .clock = 0.6})), {}, &report);
  ASSERT_EQ(report.verdicts.size(), 1u);
  EXPECT_EQ(report.verdicts[0].culprits.at(0).host, "node-3");
  EXPECT_NEAR(report.verdicts[0].cost.slowdown_fraction, 0.1, 0.03);
}

// An agent that was restarted, while another machine made the job slower.
TEST(CounterDiagnosisTest, AMachineWhoseSamplesComeAgainWasNotGone) {
  for (const bool comes_again : {false, true}) {
    MetricTable table = Job({.power = 0.5, .job = 0.9, .clock = 0.6});
    for (MetricSeries& series : table.series) {
      if (series.host != 9) continue;
      const auto end = comes_again ? 150 : kSeconds - kOnset - 50;
      series.time_ms.erase(series.time_ms.begin() + kOnset + 50, series.time_ms.begin() + kOnset + 50 + end);
      series.value.erase(series.value.begin() + kOnset + 50, series.value.begin() + kOnset + 50 + end);
    }
    JobReport report;
    AddCounters(table, {}, &report);
    ASSERT_EQ(report.verdicts.size(), 2u) << comes_again;
    EXPECT_EQ(report.verdicts[0].type(), FindingType::kAccusation);
    const auto is_silent = [](const Verdict& verdict) { return verdict.culprits.at(0).host == "node-9"; };
    const Verdict& silent = report.verdicts[is_silent(report.verdicts[0]) ? 0 : 1];
    ASSERT_TRUE(is_silent(silent)) << comes_again;
    EXPECT_NE(TextOf(silent).find("No counters of host node-9 came"), std::string::npos);
    EXPECT_EQ(silent.type() == FindingType::kAccusation, !comes_again);
    EXPECT_EQ(silent.cost.slowdown_fraction > 0, !comes_again);
    EXPECT_EQ(TextOf(silent).find("went on as usual"), std::string::npos);
  }
}

JobReport OfRecords(const std::string& host) {
  JobReport report{.state = JobState::kSlow};
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kComputeSlow);
  verdict.culprits = {{.host = host, .rank = 26, .gpu = 2, .confidence = 0.8}};
  verdict.cost.slowdown_fraction = 0.2;
  report.verdicts = {verdict};
  return report;
}

TEST(CounterDiagnosisTest, CountersThatAgreeWithTheRecordsNameTheCause) {
  JobReport report = OfRecords("node-3");
  AddCounters(Job({.power = 0.5, .job = 0.9, .clock = 0.6}), {.has_records = true}, &report);
  ASSERT_EQ(report.verdicts.size(), 1u);
  EXPECT_EQ(report.verdicts[0].verdict_class, VerdictClass::kClockThrottled);
  EXPECT_DOUBLE_EQ(report.verdicts[0].culprits[0].confidence, 0.9);
  EXPECT_NE(TextOf(report.verdicts[0]).find("gpu_sm_clock_hertz"), std::string::npos);
}

TEST(CounterDiagnosisTest, CountersAccuseNobodyAgainstTheRecords) {
  JobReport report = OfRecords("node-7");
  AddCounters(Job({.power = 0.5, .job = 0.9, .clock = 0.6, .ecc_per_second = 0.2}), {.has_records = true}, &report);
  ASSERT_GE(report.verdicts.size(), 2u);
  EXPECT_EQ(report.verdicts[0].verdict_class, VerdictClass::kComputeSlow);
  EXPECT_DOUBLE_EQ(report.verdicts[0].culprits[0].confidence, 0.8);
  for (size_t i = 1; i < report.verdicts.size(); ++i) EXPECT_EQ(report.verdicts[i].scope, VerdictScope::kUnknown);
}

// Racks of four, a leaf for two racks.
PlaceTable Racks(int hosts) {
  PlaceTable places;
  for (int host = 0; host < hosts; ++host) {
    Places& of_host = places.of_host["node-" + std::to_string(host)];
    of_host[static_cast<size_t>(PlaceKind::kRack)] = "r" + std::to_string(host / 4);
    of_host[static_cast<size_t>(PlaceKind::kLeaf)] = "l" + std::to_string(host / 8);
  }
  return places;
}

std::vector<std::string> HostsOf(const Verdict& verdict) {
  std::vector<std::string> hosts;
  for (const Culprit& culprit : verdict.culprits) hosts.push_back(culprit.host);
  return hosts;
}

TEST(CounterDiagnosisTest, MachinesOfOneRackAreTheRacksFault) {
  constexpr int kMany = 64;
  const MetricTable table =
      Job({.power = 0.5, .job = 0.9, .clock = 0.6, .hosts = kMany, .first_odd = 8, .last_odd = 12});
  const PlaceTable places = Racks(kMany);
  JobReport report;
  AddCounters(table, {.places = &places}, &report);
  ASSERT_EQ(report.verdicts.size(), 1u);
  const Verdict& verdict = report.verdicts[0];
  EXPECT_EQ(verdict.scope, VerdictScope::kMachine);
  EXPECT_EQ(verdict.verdict_class, VerdictClass::kClockThrottled);
  EXPECT_EQ(HostsOf(verdict), (std::vector<std::string>{"node-8", "node-9", "node-10", "node-11"}));
  EXPECT_NE(TextOf(verdict).find("4 of the 4 machines of rack r2 stand out together, 0 of the other 60"),
            std::string::npos)
      << TextOf(verdict);
  JobReport without;
  AddCounters(table, {}, &without);
  EXPECT_EQ(without.verdicts.size(), 4u);
}

TEST(CounterDiagnosisTest, AMachineOfAnOddRackCorroboratesWhatRecordsSayOfIt) {
  constexpr int kMany = 64;
  const PlaceTable places = Racks(kMany);
  JobReport report = OfRecords("node-9");
  AddCounters(Job({.power = 0.5, .job = 0.9, .clock = 0.6, .hosts = kMany, .first_odd = 8, .last_odd = 12}),
              {.has_records = true, .places = &places}, &report);
  EXPECT_EQ(report.verdicts[0].verdict_class, VerdictClass::kClockThrottled);
  EXPECT_DOUBLE_EQ(report.verdicts[0].culprits[0].confidence, 0.9);
}

// Too many for machines that fail independently: without a table of places nobody is accused.
TEST(CounterDiagnosisTest, ManyMachinesOfOneLeafAreTheLeafsFault) {
  constexpr int kMany = 32;
  const MetricTable table =
      Job({.power = 0.5, .job = 0.9, .clock = 0.6, .hosts = kMany, .first_odd = 8, .last_odd = 16});
  const PlaceTable places = Racks(kMany);
  JobReport report;
  AddCounters(table, {.places = &places}, &report);
  ASSERT_EQ(report.verdicts.size(), 1u);
  EXPECT_EQ(report.verdicts[0].scope, VerdictScope::kMachine);
  EXPECT_EQ(report.verdicts[0].culprits.size(), 8u);
  EXPECT_NE(TextOf(report.verdicts[0]).find("leaf l1"), std::string::npos);
  JobReport without;
  AddCounters(table, {}, &without);
  for (const Verdict& verdict : without.verdicts) EXPECT_EQ(verdict.scope, VerdictScope::kUnknown);
}

TEST(CounterDiagnosisTest, AnImageIsTheSoftwaresFault) {
  constexpr int kMany = 64;
  PlaceTable places;
  for (int host = 0; host < kMany; ++host) {
    const bool is_new = host % 16 == 5;
    places.of_host["node-" + std::to_string(host)][static_cast<size_t>(PlaceKind::kImage)] = is_new ? "v8" : "v7";
  }
  JobReport report;
  MetricTable table = Job({.job = 0.9, .hosts = kMany});
  const MetricTable slow =
      Job({.power = 0.5, .job = 0.9, .clock = 0.6, .hosts = kMany, .first_odd = 0, .last_odd = kMany});
  for (size_t i = 0; i < table.series.size(); ++i) {
    if (table.series[i].host % 16 == 5) table.series[i] = slow.series[i];
  }
  AddCounters(table, {.places = &places}, &report);
  ASSERT_EQ(report.verdicts.size(), 1u);
  EXPECT_EQ(report.verdicts[0].scope, VerdictScope::kSoftware);
  EXPECT_EQ(report.verdicts[0].advice, Advice::kCheckSoftware);
  EXPECT_NE(TextOf(report.verdicts[0]).find("4 of the 4 machines of image v8"), std::string::npos);
}

TEST(CounterDiagnosisTest, APlaceIsBlamedOnlyWhenTheJobIsDegraded) {
  constexpr int kMany = 64;
  const PlaceTable places = Racks(kMany);
  JobReport report;
  AddCounters(Job({.power = 0.5, .hosts = kMany, .first_odd = 8, .last_odd = 12}), {.places = &places}, &report);
  ASSERT_EQ(report.verdicts.size(), 1u);
  EXPECT_EQ(report.verdicts[0].scope, VerdictScope::kUnknown);
  EXPECT_EQ(report.verdicts[0].advice, Advice::kObserve);
  EXPECT_EQ(report.verdicts[0].culprits.size(), 4u);
}

TEST(CounterDiagnosisTest, MachinesOfDifferentRacksStayMachines) {
  constexpr int kMany = 64;
  PlaceTable places = Racks(kMany);
  for (int host = 8; host < 12; ++host) {
    places.of_host["node-" + std::to_string(host)] = places.of_host["node-" + std::to_string(12 * (host - 7))];
  }
  JobReport report;
  AddCounters(Job({.power = 0.5, .job = 0.9, .clock = 0.6, .hosts = kMany, .first_odd = 8, .last_odd = 12}),
              {.places = &places}, &report);
  EXPECT_EQ(report.verdicts.size(), 4u);
}

TEST(CounterDiagnosisTest, TooLittleToJudgeIsSaid) {
  MetricTable table = Job({});
  table.series.resize(3);  // one machine
  JobReport report;
  AddCounters(table, {}, &report);
  EXPECT_EQ(report.state, JobState::kUnknown);
  ASSERT_EQ(report.verdicts.size(), 1u);
  EXPECT_EQ(report.verdicts[0].evidence.at(0).kind, EvidenceKind::kAbstained);
}

}  // namespace
}  // namespace lockstep
