#include "eval/live/report_delivery.h"

#include <map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kTicks = 200;
constexpr size_t kHosts = 5;
constexpr int kRecords = 3;  // in each report

MadeReport Report(size_t host, int32_t tick) {
  MadeReport made{.host = host, .made_ns = tick * kNanosPerSecond};
  made.report.set_sequence(static_cast<uint64_t>(tick));
  wire::OperationBatch& batch = *made.report.add_processes()->add_communicators()->mutable_operations();
  for (int i = 0; i < kRecords; ++i) batch.add_kinds(1);
  return made;
}

// All arrivals, taken every half second.
std::vector<ReportDelivery::Arrival> Deliver(const DeliverySpec& spec, DeliveryCounts* counts = nullptr) {
  ReportDelivery delivery(spec, kHosts, 11);
  std::vector<ReportDelivery::Arrival> all;
  for (int32_t half = 0; half <= 2 * kTicks + 60; ++half) {
    if (half % 2 == 0 && half / 2 >= 1 && half / 2 <= kTicks) {
      for (size_t host = 0; host < kHosts; ++host) delivery.Send(Report(host, half / 2));
    }
    for (ReportDelivery::Arrival& arrival : delivery.TakeUntil(half * kNanosPerSecond / 2)) {
      all.push_back(std::move(arrival));
    }
  }
  if (counts != nullptr) *counts = delivery.counts();
  return all;
}

uint64_t DroppedIn(const wire::AgentReport& report) {
  uint64_t count = 0;
  for (const wire::Dropped& dropped : report.dropped()) count += dropped.count();
  return count;
}

TEST(ReportDeliveryTest, WithoutTroubleEverythingArrivesAtOnce) {
  const auto arrivals = Deliver({});
  ASSERT_EQ(arrivals.size(), kTicks * kHosts);
  for (const auto& arrival : arrivals) {
    EXPECT_EQ(arrival.arrived_ns, static_cast<int64_t>(arrival.report.sequence()) * kNanosPerSecond);
    EXPECT_EQ(DroppedIn(arrival.report), 0u);
  }
}

TEST(ReportDeliveryTest, ReportsOfAHostArriveInOrderAndNeverBeforeTheyWereMade) {
  DeliveryCounts counts;
  const auto arrivals = Deliver({.latency_seconds = 0.4, .stall_share = 0.05, .stall_seconds = 4}, &counts);
  ASSERT_EQ(arrivals.size(), kTicks * kHosts);
  EXPECT_GT(counts.delayed, 20u);
  std::map<size_t, uint64_t> newest;
  int64_t last_ns = 0, latest_ns = 0;
  for (const auto& arrival : arrivals) {
    EXPECT_EQ(arrival.report.sequence(), ++newest[arrival.host]);
    EXPECT_GE(arrival.arrived_ns, last_ns);
    last_ns = arrival.arrived_ns;
    const int64_t on_the_way_ns =
        arrival.arrived_ns - static_cast<int64_t>(arrival.report.sequence()) * kNanosPerSecond;
    EXPECT_GE(on_the_way_ns, 0);
    latest_ns = std::max(latest_ns, on_the_way_ns);
  }
  EXPECT_GT(latest_ns, 3 * kNanosPerSecond);
  EXPECT_LT(latest_ns, static_cast<int64_t>((kMaxStallSeconds + 5) * kNanosPerSecond));
}

TEST(ReportDeliveryTest, WhatIsLostIsCountedInTheNextReport) {
  DeliveryCounts counts;
  const auto arrivals = Deliver({.lost_share = 0.2}, &counts);
  EXPECT_NEAR(static_cast<double>(counts.lost), 0.2 * kTicks * kHosts, 60);
  EXPECT_EQ(arrivals.size() + counts.lost, kTicks * kHosts);
  std::map<size_t, uint64_t> newest;
  for (const auto& arrival : arrivals) {
    uint64_t& last = newest[arrival.host];
    EXPECT_EQ(DroppedIn(arrival.report), kRecords * (arrival.report.sequence() - last - 1));
    last = arrival.report.sequence();
  }
}

TEST(ReportDeliveryTest, AnAgentThatComesLateHasMissedWhatWasBefore) {
  DeliveryCounts counts;
  const auto arrivals = Deliver({.late_agent_share = 1, .late_agent_seconds = 50}, &counts);
  EXPECT_GT(counts.before_agent, 0u);
  std::map<size_t, uint64_t> first;
  for (const auto& arrival : arrivals) first.emplace(arrival.host, arrival.report.sequence());
  ASSERT_EQ(first.size(), kHosts);
  uint64_t missed = 0;
  for (const auto& [host, sequence] : first) {
    EXPECT_LE(sequence, 51u);
    missed += sequence - 1;
  }
  EXPECT_EQ(missed, counts.before_agent);
}

TEST(ReportDeliveryTest, TheSameSeedGivesTheSameArrivals) {
  const DeliverySpec spec{.latency_seconds = 0.1, .stall_share = 0.02, .stall_seconds = 2, .lost_share = 0.01};
  const auto a = Deliver(spec), b = Deliver(spec);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].arrived_ns, b[i].arrived_ns);
    EXPECT_EQ(a[i].report.SerializeAsString(), b[i].report.SerializeAsString());
  }
}

}  // namespace
}  // namespace lockstep
