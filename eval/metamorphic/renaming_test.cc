#include "eval/metamorphic/renaming.h"

#include <cstddef>
#include <string>

#include "detector/model/job_evidence.h"
#include "detector/model/trace.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "eval/metamorphic/reread.h"
#include "eval/testing/small_trace.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

std::string TextNamedBack(const std::string& text, const Renaming& renaming) {
  JobReport report;
  report.verdicts.push_back(Verdict::Observation(VerdictClass::kPause));
  report.verdicts[0].evidence.push_back({EvidenceKind::kWhatIf, InputNote{text}});
  return NamedBack(report, renaming).verdicts[0].evidence[0].text();
}

TEST(RenamingTest, TextsGoBackWordByWord) {
  const Renaming renaming = {.names = {{"node-1", "hostx000007x"}, {"0xab", "commx000001x"}},
                             .ranks = {{1, 8}, {2, 4}, {12, 9}}};
  EXPECT_EQ(TextNamedBack("Rank 8 (host hostx000007x) waits in commx000001x.", renaming),
            "Rank 1 (host node-1) waits in 0xab.");
  EXPECT_EQ(TextNamedBack("ranks 4, 8, 9 take 8.4 ms, 4 times as long", renaming),
            "ranks 1, 2, 12 take 8.4 ms, 4 times as long");
  EXPECT_EQ(TextNamedBack("ranks 4, 8 and 70 more wait", renaming), "ranks ... and 70 more wait");
}

TEST(RenamingTest, RanksMoveWithWhatTheyDid) {
  JobEvidence recording;
  recording.job = "job";
  recording.trace = DataParallelTrace({10, 20, 30, 40}, 3, 0, 1);
  recording.trace.job = "job";
  recording = Reread(recording);
  Renaming renaming = RenamingInOrder(recording);
  renaming.ranks = {{0, 3}, {3, 0}, {1, 1}, {2, 2}};
  const JobEvidence renamed = Renamed(recording, renaming);
  const TraceOperation& before = recording.trace.OperationsOf(3)[1];
  const TraceOperation& after = renamed.trace.OperationsOf(0)[1];
  EXPECT_EQ(after.start_ns, before.start_ns);
  EXPECT_EQ(renamed.trace.hosts[static_cast<size_t>(renamed.trace.ranks[0].host)],
            renaming.names.at(recording.trace.hosts[static_cast<size_t>(recording.trace.ranks[3].host)]));
}

}  // namespace
}  // namespace lockstep
