#include "collector/maintenance_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "base/testing/status_matchers.h"
#include "collector/store/testing/memory_store.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNow = 1'000'000 * kSecond;

wire::MaintenanceWindow Window(const std::vector<std::string>& hosts, const std::vector<std::string>& jobs,
                               int64_t begin_ns, int64_t end_ns) {
  wire::MaintenanceWindow window;
  for (const std::string& host : hosts) window.add_hosts(host);
  for (const std::string& job : jobs) window.add_jobs(job);
  window.set_begin_wall_ns(begin_ns);
  window.set_end_wall_ns(end_ns);
  window.set_by("alice");
  return window;
}

wire::Incident About(const std::string& job, const std::vector<std::pair<std::string, std::string>>& culprits) {
  wire::Incident incident;
  incident.set_job(job);
  for (const auto& [host, peer] : culprits) {
    wire::Culprit& culprit = *incident.mutable_verdict()->add_culprits();
    culprit.set_host(host);
    culprit.set_peer_host(peer);
  }
  return incident;
}

class MaintenanceBookTest : public testing::Test {
 protected:
  MemoryStore store_;
};

TEST_F(MaintenanceBookTest, CoversAJobAndWhatAccusesNobodyElseFromBeginToEnd) {
  MaintenanceBook book(store_);
  ASSERT_OK(book.Add(Window({"a", "b"}, {"train"}, kNow + kSecond, kNow + 9 * kSecond), kNow));
  const int64_t within = kNow + kSecond;
  EXPECT_EQ(book.WindowOf(About("train", {{"z", ""}}), within), 1u);
  EXPECT_EQ(book.WindowOf(About("other", {{"a", ""}, {"b", ""}}), within), 1u);
  EXPECT_EQ(book.WindowOf(About("other", {{"z", "a"}}), within), 1u) << "one end of the link is worked on";
  EXPECT_EQ(book.WindowOf(About("other", {{"a", ""}, {"z", ""}}), within), 0u) << "z may be to blame";
  EXPECT_EQ(book.WindowOf(About("other", {}), within), 0u);
  EXPECT_EQ(book.WindowOf(About("train", {}), kNow), 0u) << "before it begins";
  EXPECT_EQ(book.WindowOf(About("train", {}), kNow + 9 * kSecond), 0u) << "when it is over";
}

TEST_F(MaintenanceBookTest, TheSameWindowAgainIsTheOneThatThereIsAlsoAfterARestart) {
  const wire::MaintenanceWindow wanted = Window({"a"}, {}, kNow, kNow + 9 * kSecond);
  {
    MaintenanceBook book(store_);
    EXPECT_EQ(book.Add(wanted, kNow)->id(), 1u);
    EXPECT_EQ(book.Add(wanted, kNow + kSecond)->id(), 1u);
  }
  MaintenanceBook book(store_);
  ASSERT_OK(book.Restore());
  EXPECT_EQ(book.Add(wanted, kNow + 2 * kSecond)->id(), 1u);
  EXPECT_EQ(book.WindowOf(About("", {{"a", ""}}), kNow + 2 * kSecond), 1u);
  wire::MaintenanceWindow of_bob = wanted;
  of_bob.set_by("bob");
  EXPECT_EQ(book.Add(of_bob, kNow)->id(), 2u);
}

TEST_F(MaintenanceBookTest, AWindowThatSomebodyEndsIsOverAndStaysListedAsPast) {
  MaintenanceBook book(store_);
  ASSERT_OK(book.Add(Window({"a"}, {}, 0, kNow + 9 * kSecond), kNow));
  EXPECT_EQ(book.List(/*with_past=*/false, kNow).at(0).begin_wall_ns(), kNow) << "0 is now";
  const auto ended = book.End(1, "bob", kNow + kSecond);
  ASSERT_OK(ended);
  EXPECT_EQ(ended->end_wall_ns(), kNow + kSecond);
  EXPECT_EQ(ended->ended_by(), "bob");
  EXPECT_EQ(book.End(1, "carol", kNow + 2 * kSecond)->ended_by(), "bob") << "it is over already";
  EXPECT_TRUE(book.List(/*with_past=*/false, kNow + kSecond).empty());
  EXPECT_EQ(book.List(/*with_past=*/true, kNow + kSecond).size(), 1u);
  EXPECT_EQ(store_.LoadMaintenance()->at(0).ended_by(), "bob");
  EXPECT_THAT(book.End(7, "bob", kNow), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no window")));
}

TEST_F(MaintenanceBookTest, WhatMakesNoSenseIsRefusedInWords) {
  MaintenanceBook book(store_);
  const auto refused = [&](const wire::MaintenanceWindow& wanted, const std::string& why) {
    EXPECT_THAT(book.Add(wanted, kNow), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  refused(Window({}, {}, 0, kNow + 1), "needs a host or a job");
  refused(Window({""}, {}, 0, kNow + 1), "a host has a name");
  refused(Window({"a\nb"}, {}, 0, kNow + 1), "host");
  refused(Window({"a"}, {}, 0, kNow), "is over");
  refused(Window({"a"}, {}, kNow + 5, kNow + 4), "before it begins");
  refused(Window({"a"}, {}, 0, kNow + MaintenanceBook::kLongestNanos + 1), "90 days");
  refused(Window(std::vector<std::string>(MaintenanceBook::kMaxNames + 1, "a"), {}, 0, kNow + 1), "at most 1000");
  store_.set_refuses(true);
  EXPECT_FALSE(book.Add(Window({"a"}, {}, 0, kNow + 1), kNow).ok());
  EXPECT_TRUE(book.List(/*with_past=*/true, kNow).empty()) << "what is not on disk does not count";
}

TEST_F(MaintenanceBookTest, AFullBookLetsThePastGoAndRefusesBeyond) {
  MaintenanceBook book(store_);
  const auto add = [&](int64_t begin_ns, int64_t end_ns) {
    return book.Add(Window({"a"}, {}, begin_ns, end_ns), kNow).status();
  };
  ASSERT_OK(add(kNow, kNow + 1));
  for (size_t i = 1; i < MaintenanceBook::kMaxWindows; ++i) ASSERT_OK(add(kNow, kNow + 100 * kSecond + int64_t(i)));
  EXPECT_THAT(add(kNow, kNow + kSecond), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("1000")));
  const auto later = book.Add(Window({"b"}, {}, 0, kNow + 200 * kSecond), kNow + 1);
  ASSERT_OK(later) << "the first is over";
  EXPECT_EQ(later->id(), MaintenanceBook::kMaxWindows + 1);
  EXPECT_EQ(store_.LoadMaintenance()->size(), MaintenanceBook::kMaxWindows);
  EXPECT_EQ(store_.LoadMaintenance()->at(0).id(), 2u);
}

TEST_F(MaintenanceBookTest, ABookThatIsFullByItsBytesLetsThePastGoAndRefusesBeyond) {
  uint64_t removed = 0;
  MaintenanceBook book(store_, [&removed](uint64_t windows) { removed += windows; });
  std::vector<std::string> names;
  for (int i = 0; i < MaintenanceBook::kMaxNames; ++i) {
    names.push_back(std::string(MaintenanceBook::kMaxNameBytes - 4, 'n') + std::to_string(1'000 + i));
  }
  const auto add = [&](int64_t end_ns, int64_t now_ns) { return book.Add(Window(names, {}, 0, end_ns), now_ns); };
  const auto bytes = [&] {
    const std::vector<wire::MaintenanceWindow> kept = store_.LoadMaintenance().value();
    size_t sum = 0;
    for (const wire::MaintenanceWindow& window : kept) sum += window.ByteSizeLong();
    return sum;
  };
  int64_t end_ns = kNow + kSecond;
  absl::StatusOr<wire::MaintenanceWindow> added = add(end_ns, kNow);
  while (added.ok()) added = add(++end_ns, kNow);
  EXPECT_THAT(added, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("bytes")));
  EXPECT_LE(bytes(), MaintenanceBook::kMaxBytes);
  EXPECT_LT(store_.LoadMaintenance()->size(), 40u) << "long before there are too many";
  EXPECT_EQ(removed, 0u);
  ASSERT_OK(add(end_ns + kSecond, kNow + kSecond)) << "the first is over";
  EXPECT_EQ(removed, 1u);
  EXPECT_LE(bytes(), MaintenanceBook::kMaxBytes);
}

}  // namespace
}  // namespace lockstep
