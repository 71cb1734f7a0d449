#include "detector/model/roles.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "detector/model/input.h"
#include "detector/model/operation_instances.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// rank = tensor + 4 * (data + the number of those * stage); four ranks to a host; each stage sends to the next and gets
// its gradient back.
constexpr int32_t kTensor = 4;

struct Shape {
  int32_t stages = 3;
  bool experts = false;  // AllToAll over the data index
  bool world = false;    // a barrier of all
  bool losses = false;   // a sum over all, in a communicator of its own
  bool hints = false;
  uint64_t lose_every = 0;  // records; 0 = none
  int32_t ring = 1;  // ranks of a data group beside one another that pass keys and values round before each layer
  int32_t data = 2;
  int32_t number_step = 1;  // the rank in the n-th place has the number n times this, modulo the ranks
};

class JobBuilder {
 public:
  explicit JobBuilder(const Shape& shape) : shape_(shape), builder_("job") {}

  Trace Build() {
    for (int32_t rank = 0; rank < ranks(); ++rank) {
      handles_.push_back(builder_.AddRank(
          {.rank = rank * shape_.number_step % ranks(), .host = builder_.AddHost(absl::StrCat("h", rank / kTensor))}));
    }
    for (int32_t step = 0; step < 4; ++step) Step();
    return builder_.Build();
  }

 private:
  int32_t ranks() const { return kTensor * shape_.data * shape_.stages; }
  int32_t At(int32_t tensor, int32_t data, int32_t stage) const {
    return tensor + kTensor * (data + shape_.data * stage);
  }

  void Step() {
    for (int32_t stage = 0; stage < shape_.stages; ++stage) {
      for (int32_t tensor = 0; tensor < kTensor; ++tensor) {
        for (int32_t data = 0; data < shape_.data; ++data) {
          if (stage > 0) Transfer(At(tensor, data, stage - 1), At(tensor, data, stage));
        }
      }
      Layers(stage);
    }
    for (int32_t stage = shape_.stages - 1; stage > 0; --stage) {
      for (int32_t tensor = 0; tensor < kTensor; ++tensor) {
        for (int32_t data = 0; data < shape_.data; ++data)
          Transfer(At(tensor, data, stage), At(tensor, data, stage - 1));
      }
    }
    for (int32_t stage = 0; stage < shape_.stages; ++stage) {
      for (int32_t tensor = 0; tensor < kTensor; ++tensor) {
        std::vector<int32_t> members;
        for (int32_t data = 0; data < shape_.data; ++data) members.push_back(At(tensor, data, stage));
        Collective(absl::StrCat("b", stage, ".", tensor), "data_parallel", members, OperationKind::kReduceScatter);
      }
    }
    std::vector<int32_t> all;
    for (int32_t rank = 0; rank < ranks(); ++rank) all.push_back(rank);
    if (shape_.world) Collective("z", "default_pg", all, OperationKind::kBarrier);
    if (shape_.losses) Collective("l", "", all, OperationKind::kAllReduce);
  }

  void Layers(int32_t stage) {
    for (int32_t layer = 0; layer < 3; ++layer) {
      if (shape_.ring > 1) PassRound(stage);
      for (int32_t data = 0; data < shape_.data; ++data) {
        std::vector<int32_t> members;
        for (int32_t tensor = 0; tensor < kTensor; ++tensor) members.push_back(At(tensor, data, stage));
        Collective(absl::StrCat("a", stage, ".", data), "tp_group", members, OperationKind::kAllReduce);
      }
      for (int32_t tensor = 0; shape_.experts && tensor < kTensor; ++tensor) {
        Collective(absl::StrCat("e", stage, ".", tensor), "expert_model", {At(tensor, 0, stage), At(tensor, 1, stage)},
                   OperationKind::kAllToAll);
      }
    }
  }

  void PassRound(int32_t stage) {
    for (int32_t tensor = 0; tensor < kTensor; ++tensor) {
      for (int32_t data = 0; data < shape_.data; ++data) {
        const int32_t first = data / shape_.ring * shape_.ring, place = data - first;
        const int32_t next = (place + 1) % shape_.ring;
        SendTo(absl::StrCat("c", stage, ".", tensor, ".", first), "", shape_.ring, {At(tensor, data, stage), place},
               {At(tensor, first + next, stage), next});
      }
    }
  }

  void Collective(const std::string& name, const std::string& hint, const std::vector<int32_t>& members,
                  OperationKind kind) {
    const int32_t communicator =
        builder_.AddCommunicator(name, shape_.hints ? hint : "", static_cast<int32_t>(members.size()));
    const uint64_t sequence = ++sequences_[name];
    now_ns_ += 1'000'000;
    for (size_t place = 0; place < members.size(); ++place) {
      builder_.AddMember(communicator, static_cast<int32_t>(place), Handle(members[place]));
      Add(members[place], {.sequence = sequence, .communicator = communicator, .kind = kind});
    }
  }

  void Transfer(int32_t from, int32_t to) {
    const int32_t in_stage = kTensor * shape_.data;
    SendTo(absl::StrCat("p", std::min(from, to) % in_stage), shape_.hints ? "pipeline" : "", shape_.stages,
           {from, from / in_stage}, {to, to / in_stage});
  }

  struct Side {
    int32_t rank;
    int32_t place;
  };
  void SendTo(const std::string& name, const std::string& hint, int32_t size, Side from, Side to) {
    const int32_t communicator = builder_.AddCommunicator(name, hint, size);
    builder_.AddMember(communicator, from.place, Handle(from.rank));
    builder_.AddMember(communicator, to.place, Handle(to.rank));
    const uint64_t sequence = ++sequences_[absl::StrCat(name, ":", from.place, ">", to.place)];
    now_ns_ += 1'000'000;
    Add(from.rank,
        {.sequence = sequence, .communicator = communicator, .peer = to.place, .kind = OperationKind::kSend});
    Add(to.rank,
        {.sequence = sequence, .communicator = communicator, .peer = from.place, .kind = OperationKind::kRecv});
  }

  int32_t Handle(int32_t rank) const { return handles_[static_cast<size_t>(rank)]; }

  void Add(int32_t rank, TraceOperation operation) {
    if (shape_.lose_every > 0 && random_.Below(shape_.lose_every) == 0) return;
    operation.enqueue_ns = operation.start_ns = now_ns_;
    operation.end_ns = now_ns_ + 10'000;
    operation.bytes = 4 << 20;
    builder_.Add(Handle(rank), operation);
  }

  Shape shape_;
  TraceBuilder builder_;
  Random random_{1};
  std::vector<int32_t> handles_;
  std::map<std::string, uint64_t> sequences_;
  int64_t now_ns_ = 0;
};

JobRoles RolesOf(const Trace& trace) { return InferRoles(trace, MatchOperations(trace)); }

// By the first letter of the communicators' names: the role that all of that letter have; kUnknown if they differ.
std::map<char, GroupRole> RoleOfLetter(const Trace& trace, const JobRoles& roles) {
  std::map<char, GroupRole> role;
  for (size_t i = 0; i < trace.communicators.size(); ++i) {
    const auto [it, fresh] = role.try_emplace(trace.communicators[i].name[0], roles.communicators[i].role);
    if (!fresh && it->second != roles.communicators[i].role) it->second = GroupRole::kUnknown;
  }
  return role;
}

void ExpectStages(const Trace& trace, const JobRoles& roles, int32_t stages) {
  ASSERT_EQ(roles.classes.size(), static_cast<size_t>(stages));
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const size_t in_stage = trace.ranks.size() / static_cast<size_t>(stages);
    EXPECT_EQ(roles.class_of_rank[rank], static_cast<int32_t>(rank / in_stage));
    EXPECT_EQ(roles.PeersOf(rank).size(), in_stage);
  }
}

TEST(RolesTest, StagesAreTheSetsThatGroupsInsideThemConnect) {
  for (const int32_t stages : {2, 3, 5}) {
    const Trace trace = JobBuilder({.stages = stages}).Build();
    ExpectStages(trace, RolesOf(trace), stages);
  }
}

TEST(RolesTest, RolesFollowFromMixHostAndRateWhereNothingIsNamed) {
  const Trace trace = JobBuilder({.experts = true}).Build();
  const JobRoles roles = RolesOf(trace);
  const std::map<char, GroupRole> expected = {
      {'a', GroupRole::kTensor}, {'b', GroupRole::kData}, {'e', GroupRole::kExpert}, {'p', GroupRole::kPipeline}};
  EXPECT_EQ(RoleOfLetter(trace, roles), expected);
  for (const CommunicatorRole& role : roles.communicators) EXPECT_LT(role.confidence, 0.95);
}

// The gradients of all of a stage are reduced together, of those too that pass keys and values round.
TEST(RolesTest, WhoPassesDataRoundIsNoPipeline) {
  for (const int32_t ring : {2, 4}) {
    const Trace trace = JobBuilder({.stages = 3, .ring = ring, .data = 8}).Build();
    const JobRoles roles = RolesOf(trace);
    ExpectStages(trace, roles, 3);
    EXPECT_EQ(RoleOfLetter(trace, roles).at('c'), GroupRole::kContext);
    EXPECT_EQ(RoleOfLetter(trace, roles).at('p'), GroupRole::kPipeline);
  }
  const Trace alone = JobBuilder({.stages = 1, .ring = 4, .data = 8}).Build();
  ExpectStages(alone, RolesOf(alone), 1);
}

TEST(RolesTest, NamesOfTheFrameworkGoFirst) {
  const Trace trace = JobBuilder({.experts = true, .world = true, .hints = true}).Build();
  const JobRoles roles = RolesOf(trace);
  const std::map<char, GroupRole> expected = {{'a', GroupRole::kTensor},
                                              {'b', GroupRole::kData},
                                              {'e', GroupRole::kExpert},
                                              {'p', GroupRole::kPipeline},
                                              {'z', GroupRole::kWorld}};
  EXPECT_EQ(RoleOfLetter(trace, roles), expected);
  for (const CommunicatorRole& role : roles.communicators) EXPECT_EQ(role.confidence, 0.95);
}

TEST(RolesTest, AGroupOfAllStagesJoinsNobodyAsPeers) {
  const Trace trace = JobBuilder({.world = true}).Build();
  const JobRoles roles = RolesOf(trace);
  ExpectStages(trace, roles, 3);
  EXPECT_EQ(RoleOfLetter(trace, roles).at('z'), GroupRole::kWorld);
}

TEST(RolesTest, WithoutSendRecvOneStageHoldsAll) {
  const Trace trace = JobBuilder({.stages = 1, .world = true}).Build();
  const JobRoles roles = RolesOf(trace);
  EXPECT_EQ(roles.classes.size(), 1u);
  EXPECT_EQ(roles.pipeline_of_rank, std::vector<int32_t>(trace.ranks.size(), -1));
}

TEST(RolesTest, LostRecordsChangeNothing) {
  for (const uint64_t lose_every : {100, 30}) {
    const Trace trace = JobBuilder({.experts = true, .lose_every = lose_every}).Build();
    const JobRoles roles = RolesOf(trace);
    ExpectStages(trace, roles, 3);
    EXPECT_EQ(RoleOfLetter(trace, roles).at('a'), GroupRole::kTensor);
    EXPECT_EQ(RoleOfLetter(trace, roles).at('e'), GroupRole::kExpert);
  }
}

// 24 ranks: 5 and 7 deal their numbers out in orders in which no group has a stride.
TEST(RolesTest, FamiliesAreGroupsOfOneShapeAndUseWhateverTheRanksAreCalled) {
  for (const int32_t number_step : {1, 5, 7}) {
    const Trace trace = JobBuilder({.experts = true, .number_step = number_step}).Build();
    const JobRoles roles = RolesOf(trace);
    std::map<int32_t, char> letter_of_family;
    for (size_t i = 0; i < trace.communicators.size(); ++i) {
      const char letter = trace.communicators[i].name[0];
      EXPECT_EQ(letter_of_family.try_emplace(roles.communicators[i].family, letter).first->second, letter);
    }
    EXPECT_EQ(roles.families, 4) << number_step;
  }
}

// One for gradients and one for losses, for example: what takes long in one of them is no matter of the other.
TEST(RolesTest, CommunicatorsOfTheSameMembersAreOfFamiliesOfTheirOwn) {
  const Trace trace = JobBuilder({.world = true, .losses = true}).Build();
  const JobRoles roles = RolesOf(trace);
  std::map<char, int32_t> family_of_letter;
  for (size_t i = 0; i < trace.communicators.size(); ++i) {
    family_of_letter[trace.communicators[i].name[0]] = roles.communicators[i].family;
  }
  EXPECT_NE(family_of_letter.at('z'), family_of_letter.at('l'));
}

TEST(RolesTest, NothingIsNoJob) {
  const JobRoles roles = RolesOf(TraceBuilder("job").Build());
  EXPECT_TRUE(roles.classes.empty());
  EXPECT_TRUE(roles.communicators.empty());
}

}  // namespace
}  // namespace lockstep
