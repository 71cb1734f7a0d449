// 3-sigma and median ratio: comparisons of what ranks do outside of operations, without any graph.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "base/median.h"
#include "eval/baselines/baseline.h"
#include "eval/baselines/joined_trace.h"

namespace lockstep {
namespace {

constexpr double kSigmas = 3;
constexpr double kMedianRatio = 0.75;

// What an operation is called for, as far as ranks of other communicators share it.
using Signature = std::tuple<OperationKind, uint64_t, size_t>;  // kind, bytes, communicator size

// Median time before each kind of operation, and how much time that is in all.
struct Section {
  double median_ns = 0;
  double total_ns = 0;
};
using Sections = std::map<Signature, Section>;

Sections SectionsOf(const Trace& trace, size_t rank) {
  const absl::Span<const TraceOperation> operations = trace.OperationsOf(rank);
  const std::vector<int64_t> gaps = GapsBefore(operations);
  std::map<Signature, std::vector<int64_t>> samples;
  for (size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].communicator < 0) continue;
    const auto communicator = static_cast<size_t>(operations[i].communicator);
    samples[{operations[i].kind, operations[i].bytes, trace.communicators[communicator].members.size()}].push_back(
        gaps[i]);
  }
  Sections sections;
  for (auto& [signature, values] : samples) {
    double total_ns = 0;
    for (const int64_t value : values) total_ns += static_cast<double>(value);
    sections[signature] = {static_cast<double>(UpperMedian(&values)), total_ns};
  }
  return sections;
}

}  // namespace

Ranking RankByThreeSigma(const JoinedTrace& joined) {
  const Trace& trace = joined.trace();
  const size_t ranks = trace.ranks.size();
  std::vector<double> own_ns(ranks, 0);
  double sum = 0, squares = 0;
  for (size_t rank = 0; rank < ranks; ++rank) {
    for (const int64_t gap : GapsBefore(trace.OperationsOf(rank))) own_ns[rank] += static_cast<double>(gap);
    sum += own_ns[rank];
  }
  const double mean = ranks == 0 ? 0 : sum / static_cast<double>(ranks);
  for (const double own : own_ns) squares += (own - mean) * (own - mean);
  const double deviation = ranks < 2 ? 0 : std::sqrt(squares / static_cast<double>(ranks - 1));
  std::vector<bool> accused(ranks, false);
  for (size_t rank = 0; rank < ranks; ++rank) {
    own_ns[rank] = deviation > 0 ? (own_ns[rank] - mean) / deviation : 0;
    accused[rank] = own_ns[rank] > kSigmas;
  }
  return RankedByScore(own_ns, accused);
}

// The source scores kernels seen on all ranks and leaves communication out; the nearest thing in operation records is
// the time before operations of one signature. The score is the mean ratio, weighted by time.
Ranking RankByMedianRatio(const JoinedTrace& joined) {
  const Trace& trace = joined.trace();
  const size_t ranks = trace.ranks.size();
  std::vector<Sections> sections(ranks);
  std::map<Signature, std::pair<size_t, double>> best;  // ranks that have it, least median
  for (size_t rank = 0; rank < ranks; ++rank) {
    sections[rank] = SectionsOf(trace, rank);
    for (const auto& [signature, section] : sections[rank]) {
      auto& [seen, least_ns] = best.try_emplace(signature, 0, std::numeric_limits<double>::infinity()).first->second;
      ++seen;
      least_ns = std::min(least_ns, section.median_ns);
    }
  }
  std::vector<double> scores(ranks, 0);
  std::vector<bool> accused(ranks, false);
  for (size_t rank = 0; rank < ranks; ++rank) {
    double weighted = 0, weight = 0;
    for (const auto& [signature, section] : sections[rank]) {
      const auto& [seen, least_ns] = best[signature];
      if (seen < ranks || section.median_ns <= 0) continue;
      weighted += section.total_ns * least_ns / section.median_ns;
      weight += section.total_ns;
    }
    const double ratio = weight > 0 ? weighted / weight : 1;
    scores[rank] = -ratio;
    accused[rank] = ratio < kMedianRatio;
  }
  return RankedByScore(scores, accused);
}

}  // namespace lockstep
