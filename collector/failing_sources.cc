#include "collector/failing_sources.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "collector/convert/convert.h"

namespace lockstep {
namespace {

size_t IndexOf(const std::string& source) {
  const auto found = std::find(FailingSources::kNames.begin(), std::prev(FailingSources::kNames.end()), source);
  return static_cast<size_t>(found - FailingSources::kNames.begin());
}

}  // namespace

void FailingSources::Observe(const std::string& host, const wire::AgentReport& report, int64_t now_wall_ns) {
  Said said;
  said.heard_wall_ns = now_wall_ns;
  for (const wire::SourceStatus& source : report.sources()) {
    if (source.failing_ns() <= 0) continue;
    said.rows.push_back({host, source.name(), now_wall_ns - WaitedNanos(report) - source.failing_ns(),
                         source.outcome() == wire::SourceStatus::OUTCOME_TIMED_OUT,
                         source.error().substr(0, kMaxWhyBytes)});
  }
  MutexLock lock(mutex_);
  const auto known = hosts_.find(host);
  if (known != hosts_.end()) {
    rows_ -= known->second.rows.size();
    hosts_.erase(known);
  }
  if (said.rows.empty()) return;
  if (rows_ + said.rows.size() > kMaxRows) {
    refused_ += said.rows.size();
    return;
  }
  rows_ += said.rows.size();
  hosts_.emplace(host, std::move(said));
}

std::vector<FailingSource> FailingSources::List(int64_t now_wall_ns) const {
  std::vector<FailingSource> rows;
  MutexLock lock(mutex_);
  for (const auto& [host, said] : hosts_) {
    if (now_wall_ns - said.heard_wall_ns <= kKeepNanos) rows.insert(rows.end(), said.rows.begin(), said.rows.end());
  }
  return rows;
}

std::array<int, FailingSources::kNames.size()> FailingSources::Count(int64_t now_wall_ns) const {
  std::array<int, kNames.size()> counts = {};
  for (const FailingSource& row : List(now_wall_ns)) ++counts[IndexOf(row.source)];
  return counts;
}

void FailingSources::ForgetSilent(int64_t now_wall_ns) {
  MutexLock lock(mutex_);
  for (auto host = hosts_.begin(); host != hosts_.end();) {
    if (now_wall_ns - host->second.heard_wall_ns <= kKeepNanos) {
      ++host;
      continue;
    }
    rows_ -= host->second.rows.size();
    host = hosts_.erase(host);
  }
}

uint64_t FailingSources::TakeRefused() {
  MutexLock lock(mutex_);
  return std::exchange(refused_, 0);
}

}  // namespace lockstep
