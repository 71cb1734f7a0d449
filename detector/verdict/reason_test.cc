#include "detector/verdict/reason.h"

#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(ReasonTest, ProfilesSayTheirNumbers) {
  const std::pair<Reason, const char*> cases[] = {
      {WorkTakesLonger{.work = "data loading",
                       .ranks = {3},
                       .compared = 8,
                       .share = 0.25,
                       .usual_share = 0.01,
                       .distance = 20,
                       .threshold = 2.5},
       "Rank 3 waits for data loading in 25.0% of the time, the 7 others of equal duty in 1.0% (median): a distance of "
       "20.0 in units of the scatter, where 2.5 is the most that counts as usual."},
      {WorkTakesLonger{.work = "recompilation", .compared = 8, .share = 0.25, .usual_share = 0.01},
       "All 8 ranks that were profiled wait for recompilation in 25.0% of the time (median); at most 1% is expected."},
      {FunctionTakesLonger{.function = "gc.collect",
                           .kind = "Python",
                           .share = 0.2,
                           .usual_share = 0.1,
                           .mean_seconds = 0.04,
                           .usual_mean_seconds = 0.02,
                           .calls_per_second = 5,
                           .usual_calls_per_second = 5,
                           .has_peers = true},
       "gc.collect (Python) takes 20.0%: 40.0 ms a call, 5 calls per second; on the others 10.0%: 20.0 ms a call, 5 "
       "calls "
       "per second."},
      {ProfilesAlike{.ranks = 8, .duties = 2, .largest_duty = 4, .idle = 0.05},
       "The profiles of 8 ranks show no function that takes more time than is expected, or than on ranks of equal duty "
       "(2 kinds of ranks). In 5.0% of the time nothing ran that the profiler sees."},
      {ProfilesLeftOut{.rows = 7, .functions = 8192, .repeated = 1},
       "Left out of the comparison: 7 functions of ranks, beyond the first 8192 names of the job; 1 further profile of "
       "ranks that had one already."},
      {ProfilesLeftOut{.repeated = 2}, "Left out of the comparison: 2 further profiles of ranks that had one already."},
  };
  for (const auto& [reason, text] : cases) EXPECT_EQ(Sentence(reason), text);
}

TEST(ReasonTest, EveryReasonSaysItsNumbers) {
  const CommunicatorName world{.name = "0x1f", .hint = "dp", .members = 8};
  const OperationName operation{.kind = OperationKind::kAllReduce, .sequence = 7, .communicator = world};
  const std::pair<Reason, const char*> cases[] = {
      {NoRecords{}, "There are no operation records to judge."},
      {FewSteps{.steps = 2, .required = 4}, "The records hold 2 whole steps; no judgement is made on fewer than 4."},
      {MissingRanks{.missing = 3, .all = 8},
       "3 of 8 ranks left no records: any of them may be the one that the others wait for."},
      {RanksWithoutTimes{.without = 1, .all = 8},
       "1 of 8 ranks left operations without times that tell work from waits: their own work was not judged."},
      {LostRecords{.lost = 30, .all = 100}, "30 of 100 records are lost: too many to tell that nothing is wrong."},
      {NoRecordsSent{}, "No agent sent operation records."},
      {TimesOfHandingOver{}, "The records tell when operations were handed over, not when they began and ended."},
      {StepLengthUnknown{}, "The length of its steps is not known yet."},
      {NoMeeting{}, "No two ranks are known to take part in the same operation: who waits for whom cannot be told."},
      {FewCounters{.machines = 1, .seconds = 30, .required_seconds = 300},
       "Counters of 1 machines over 30 s do not tell how the job fares: that needs at least 2, 300 s and the power or "
       "traffic of GPUs or NICs."},
      {InputNote{"The file was cut."}, "The file was cut."},
      {OwnTimeExcess{.rank = {.rank = 3, .host = "b"},
                     .own_seconds = 1.5,
                     .peers = 7,
                     .peer_seconds = 1,
                     .excess_seconds = 0.5,
                     .share_of_steps = 1,
                     .first_step = 4,
                     .last_step = 20,
                     .significance = 12},
       "Rank 3 (host b) spends 1.5 s of each step on its own work, outside all waiting, while its 7 peers spend 1 s: "
       "0.5 s more in 100% of steps 4 to 20, 12.0 standard errors of the noise."},
      {GrewAlone{
           .rank = {.rank = 3, .host = "b"}, .before_seconds = 1, .own_seconds = 2, .first_step = 4, .significance = 9},
       "Rank 3 (host b) spends 2 s of each step on its own work since step 4, and 1 s before: 9.0 standard errors of "
       "the "
       "noise. No other host's work changed then; nobody of equal duty is elsewhere to compare with."},
      {CounterfactualOwnTime{.replayed = true, .seconds = 0.25, .step_seconds = 2},
       "Replayed with the own time of its peers, an affected step would take 0.25 s less of 2 s (12.5%)."},
      {SlowPathTransfers{.place = {.kind = PathCauseKind::kLink, .hosts = {"a", "b"}},
                         .times = 2,
                         .in_some_steps = true,
                         .slow_steps = 5,
                         .first_step = 1,
                         .last_step = 9,
                         .paths = 2,
                         .predicted = 2,
                         .compared = 40},
       "What goes between host a and host b takes 2.00 times as long as the same transfers elsewhere, in 5 of the "
       "steps from 1 to 9, on 2 of the 2 paths that have this in common; 40 paths were compared."},
      {HeldUpRanks{.ranks = {.ranks = {1, 2}}, .operation = operation},
       "Ranks 1, 2 have not entered AllReduce 7 of communicator 0x1f (dp, 8 members) and wait for nobody."},
      {Victims{.ranks = {4}}, "Rank 4 only waits: it is a victim."},
      {Victims{.ranks = {4, 5}, .more = 3}, "Ranks 4, 5 and 3 more only wait: they are victims."},
      {KernelLine{.host = "a", .event = KernelEventKind::kXid, .code = 79, .device = "gpu0", .meaning = "it fell"},
       "The kernel of host a reported Xid 79 on gpu0 (it fell)."},
      {RasSays{.claim = {.kind = RasClaimKind::kDead}, .rank = 2, .answers = 2, .age_seconds = 3.2},
       "NCCL's RAS service, asked 3.2 s ago, says that rank 2 is dead, now for the 2nd time in a row."},
      {PlaceStandsOut{.places = {{PlaceKind::kRack, "r1"}},
                      .deviating = 3,
                      .machines = 4,
                      .machines_elsewhere = 60,
                      .chance = 1e-4},
       "3 of the 4 machines of rack r1 stand out together, 0 of the other 60 do: by chance so many gather in one place "
       "with a probability of 0.0001."},
      {LongStage{.stage = 2, .times = 1.5, .replicas = 4},
       "Pipeline stage 2 works 1.50 times as long on its own as the middle stage, in every one of its 4 replicas: it "
       "has more to do; no machine is slow."},
  };
  for (const auto& [reason, sentence] : cases) EXPECT_EQ(Sentence(reason), sentence);
}

template <typename Kind>
void ExpectASentence() {
  constexpr bool kMayBeEmpty = std::is_same_v<Kind, InputNote> || std::is_same_v<Kind, SamplesLeftOut>;
  EXPECT_EQ(Sentence(Reason(Kind{})).empty(), kMayBeEmpty) << typeid(Kind).name();
}

template <typename... Kinds>
void ExpectSentences(ReasonKindList<Kinds...>) {
  (ExpectASentence<Kinds>(), ...);
}

TEST(ReasonTest, EveryKindHasASentence) { ExpectSentences(ReasonKinds()); }

TEST(ReasonTest, ReasonsAreEqualWhenKindAndNumbersAre) {
  const Reason reason = FewSteps{.steps = 2, .required = 4};
  const Reason copy = reason;
  EXPECT_EQ(copy, reason);
  EXPECT_EQ(Reason(FewSteps{.steps = 2, .required = 4}), reason);
  EXPECT_FALSE(Reason(FewSteps{.steps = 3, .required = 4}) == reason);
  EXPECT_FALSE(Reason(NoMeeting()) == reason);
  EXPECT_EQ(Reason(), Reason(NoRecords()));
  ASSERT_NE(copy.As<FewSteps>(), nullptr);
  EXPECT_EQ(copy.As<FewSteps>()->steps, 2);
  EXPECT_EQ(copy.As<NoMeeting>(), nullptr);
}

TEST(ReasonTest, StepsAreCountedFromWhereItIsTold) {
  const Reason slow = SlowWithoutCause{.first_step = 11, .before_seconds = 1, .after_seconds = 1.4};
  EXPECT_EQ(slow.WithStepsMoved(27),
            Reason(SlowWithoutCause{.first_step = 38, .before_seconds = 1, .after_seconds = 1.4}));
  EXPECT_EQ(Reason(CommonPause{.step = 2}).WithStepsMoved(-5), Reason(CommonPause{.step = 0}))
      << "there are none before";
  const Reason unknown = OwnTimeExcess{.first_step = -1, .last_step = 4};
  EXPECT_EQ(unknown.WithStepsMoved(10), Reason(OwnTimeExcess{.first_step = -1, .last_step = 14}));
  EXPECT_EQ(Reason(NoMeeting{}).WithStepsMoved(3), Reason(NoMeeting{})) << "it has none";
}

TEST(ReasonTest, CrowdsAreCounted) {
  EXPECT_EQ(
      Sentence(CrowdOfMachines{.machines = 5, .all = 8}),
      "5 of 8 machines stand out at one time by their counters, each in its own way: that tells nothing about any "
      "of them.");
}

TEST(ReasonTest, WhichRanksWereNotJudgedIsSaid) {
  EXPECT_EQ(Sentence(RanksWithoutTimes{.without = 2, .all = 8, .ranks = {3, 5}}),
            "2 of 8 ranks left operations without times that tell work from waits (ranks 3, 5): their own work was not "
            "judged.");
  EXPECT_EQ(Sentence(MissingRanks{.missing = 1, .all = 8, .ranks = {7}}),
            "1 of 8 ranks left no records (rank 7): any of them may be the one that the others wait for.");
}

TEST(ReasonTest, AnOpenWaitCountsOtherCausesIfThereAreAny) {
  OpenWait wait{.waiting = 6, .ranks = 8, .waited_for = {2}};
  EXPECT_EQ(Sentence(wait).find("other causes"), std::string::npos);
  EXPECT_NE(Sentence(wait).find("6 of 8 ranks wait for rank 2, and"), std::string::npos);
  wait.other_causes = 2;
  EXPECT_NE(Sentence(wait).find("rank 2 (and some for 2 other causes), and"), std::string::npos);
  wait.waited_for = {};
  wait.communicator = {.name = "0x1f", .members = 4};
  EXPECT_NE(Sentence(wait).find("wait for communicator 0x1f (4 members) (and"), std::string::npos);
  EXPECT_NE(Sentence(OpenWait{.waiting = 6, .ranks = 8}).find("6 of 8 ranks wait, most of them"), std::string::npos);
  EXPECT_NE(Sentence(OpenWait{.waiting = 7, .ranks = 8, .since_ever = false})
                .find("all ranks that left some, 7 of 8, are inside of an operation"),
            std::string::npos);
}

TEST(ReasonTest, AnUnknownHolderSaysWhatIsNotRecorded) {
  HolderUnknown held{
      .operation = {OperationKind::kAllReduce, 7, {.name = "dp", .members = 8}}, .inside = 8, .begins_seen = false};
  EXPECT_EQ(
      Sentence(held),
      "8 members have come to AllReduce 7 of communicator dp (8 members), which does not end. Who holds it is not "
      "known: when GPUs begin was not recorded, and one may be stuck in earlier work.");
  held.unrecorded = {3};
  held.begins_seen = true;
  EXPECT_NE(Sentence(held).find("not known: of rank 3 nothing was recorded there, not even"), std::string::npos);
  held.unrecorded = {};
  held.more_unrecorded = 2;
  held.sizes_known = false;
  EXPECT_NE(Sentence(held).find("of 2 members nothing"), std::string::npos);
  EXPECT_NE(Sentence(held).find("; sizes were not recorded"), std::string::npos);
}

TEST(ReasonTest, SlownessWithoutACauseSaysHowMuchAndOnWhom) {
  const SlowWithoutCause slow{
      .first_step = 10, .before_seconds = 1, .after_seconds = 1.25, .unexplained_seconds = 0.25, .error_seconds = 0.01};
  EXPECT_EQ(Sentence(slow),
            "Since step 10 steps take 1.25 s instead of 1 s, and 0.25 s of it (20.0 % of a step, error 0.01 s) are not "
            "explained: the job is slow, and the cause is unknown.");
  const SlowWithoutCause at_times{.first_step = 4,
                                  .before_seconds = 1,
                                  .after_seconds = 2,
                                  .unexplained_seconds = 0.25,
                                  .error_seconds = 0.01,
                                  .share = 0.25};
  EXPECT_EQ(Sentence(at_times),
            "Since step 4, 25 % of the steps take 2 s instead of 1 s, and 0.25 s per step in the mean (20.0 %, error "
            "0.01 s) are not explained: the job is slow at times, and the cause is unknown.");
  LongerWork work{.ranks = 8};
  EXPECT_EQ(Sentence(work), "No rank's own work grew by half of that: it passes in operations, or in waits for them.");
  work.longer_ranks = 2;
  work.most_grown = {.rank = 3, .host = "node-b"};
  work.most_seconds = 0.2;
  EXPECT_EQ(Sentence(work),
            "Own work of 2 of 8 ranks grew by half of that or more, most on rank 3 (host node-b): by 0.2 s.");
}

TEST(ReasonTest, EndsOfProcessesSayHowAndWhoTold) {
  ProcessEnded ended{.rank = {.rank = 2, .host = "node-a"}, .pid = 77, .first = true};
  ended.end = {.source = EndSource::kConnector, .signal = 11, .core_dumped = true};
  EXPECT_EQ(
      Sentence(ended),
      "The process of rank 2 (host node-a), pid 77 was the first to end: it was ended by SIGSEGV (signal 11, core "
      "dumped), as the kernel told its agent (process connector).");
  ended.first = false;
  ended.end = {.source = EndSource::kZombie, .code = 3};
  EXPECT_EQ(Sentence(ended), "The process of rank 2 (host node-a), pid 77 ended with exit code 3, as its zombie told.");
  ended.end = {};
  ended.for_memory = MemoryKill::kNamed;
  EXPECT_EQ(Sentence(ended),
            "The process of rank 2 (host node-a), pid 77 is gone; by which signal or exit code nobody could tell; the "
            "kernel of its host killed it because memory ran out.");
  ended.end = {.source = EndSource::kZombie, .signal = 9};
  ended.for_memory = MemoryKill::kCounted;
  EXPECT_EQ(Sentence(ended),
            "The process of rank 2 (host node-a), pid 77 was ended by SIGKILL (signal 9), as its zombie told; at that "
            "moment the kernel of its host killed because memory ran out.");
  EXPECT_EQ(ShortEndText({.source = EndSource::kPidfd, .signal = 40}), "signal 40");
  EXPECT_EQ(ShortEndText({}), "");
}

TEST(ReasonTest, WhoFollowsADeathIsNotToBlame) {
  const DeathsThatFollowed followed{
      .dead = 3, .all = 4, .how = {"2 by SIGTERM", "1 not known how"}, .first_seconds = 0.01, .last_seconds = 2};
  EXPECT_EQ(Sentence(followed),
            "3 others of 4 ranks ended 10.0 ms to 2.0 s after that (2 by SIGTERM, 1 not known how): they followed, and "
            "are not to blame.");
  const DeathsTooNear near{.ranks = {1, 5}, .across_hosts = true, .sure_seconds = 0.5};
  EXPECT_EQ(Sentence(near),
            "Which of ranks 1, 5 was the first cannot be told: their ends are too near to each other, and moments of "
            "several hosts are compared to 500.0 ms only.");
}

}  // namespace
}  // namespace lockstep
