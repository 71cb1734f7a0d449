#include "agent/recorder/job_identity.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <string>

namespace lockstep::ring {
namespace {

using Environment = std::map<std::string, std::string>;

Environment g_environment;

const char* Get(const char* name) {
  const auto found = g_environment.find(name);
  return found == g_environment.end() ? nullptr : found->second.c_str();
}

JobIdentity Read(const Environment& environment) {
  g_environment = environment;
  return ReadJobIdentity(Get);
}

struct Case {
  const char* title;
  Environment environment;
  const char* job;
  int32_t rank;
  int32_t world_size;
  int32_t local_rank;
};

void ExpectAll(std::initializer_list<Case> cases) {
  for (const Case& expected : cases) {
    const JobIdentity identity = Read(expected.environment);
    EXPECT_STREQ(identity.job, expected.job) << expected.title;
    EXPECT_EQ(identity.rank, expected.rank) << expected.title;
    EXPECT_EQ(identity.world_size, expected.world_size) << expected.title;
    EXPECT_EQ(identity.local_rank, expected.local_rank) << expected.title;
  }
}

TEST(JobIdentity, UserAndSlurm) {
  ExpectAll({
      {"nothing is known", {}, "", -1, -1, -1},
      {"the user's word comes first",
       {{"LOCKSTEP_JOB_ID", "pretrain"}, {"SLURM_JOB_ID", "7"}, {"OMPI_MCA_ess_base_jobid", "9"}},
       "pretrain",
       -1,
       -1,
       -1},
      {"Slurm alone",
       {{"SLURM_JOB_ID", "7"},
        {"SLURM_STEP_ID", "0"},
        {"SLURM_PROCID", "3"},
        {"SLURM_NTASKS", "16"},
        {"SLURM_LOCALID", "1"}},
       "slurm-7.0",
       3,
       16,
       1},
      {"Slurm without a step", {{"SLURM_JOB_ID", "7"}}, "slurm-7", -1, -1, -1},
  });
}

TEST(JobIdentity, LaunchersInAllocationsAndAlone) {
  ExpectAll({
      {"mpirun in an allocation: its helpers run in steps that differ by node",
       {{"SLURM_JOB_ID", "7"},
        {"SLURM_STEP_ID", "4294967291"},
        {"SLURM_PROCID", "0"},
        {"SLURM_NTASKS", "2"},
        {"OMPI_MCA_ess_base_jobid", "55"},
        {"OMPI_COMM_WORLD_RANK", "5"},
        {"OMPI_COMM_WORLD_SIZE", "8"},
        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}},
       "slurm-7.55",
       5,
       8,
       1},
      {"torchrun in an allocation: ranks are torchrun's",
       {{"SLURM_JOB_ID", "7"},
        {"SLURM_STEP_ID", "0"},
        {"SLURM_PROCID", "1"},
        {"SLURM_NTASKS", "2"},
        {"TORCHELASTIC_RUN_ID", "abc"},
        {"RANK", "9"},
        {"WORLD_SIZE", "16"},
        {"LOCAL_RANK", "1"}},
       "slurm-7.0",
       9,
       16,
       1},
      {"torchrun alone",
       {{"TORCHELASTIC_RUN_ID", "abc"}, {"RANK", "2"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "2"}},
       "torch-abc",
       2,
       4,
       2},
      {"mpirun alone",
       {{"OMPI_MCA_ess_base_jobid", "55"},
        {"PMIX_NAMESPACE", "56"},
        {"OMPI_COMM_WORLD_RANK", "1"},
        {"OMPI_COMM_WORLD_SIZE", "4"},
        {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}},
       "mpi-55",
       1,
       4,
       0},
      {"a PMIx launcher", {{"PMIX_NAMESPACE", "slurm.pmix.7.0"}}, "mpi-slurm.pmix.7.0", -1, -1, -1},
      {"MPICH", {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}}, "", 1, 2, 1},
      {"the world size comes from where the rank comes from",
       {{"RANK", "1"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "64"}},
       "",
       1,
       -1,
       -1},
      {"empty, negative and garbled values are absent",
       {{"LOCKSTEP_JOB_ID", ""}, {"RANK", "-1"}, {"LOCAL_RANK", "1x"}, {"SLURM_PROCID", "99999999999"}},
       "",
       -1,
       -1,
       -1},
  });
}

TEST(JobIdentity, ALongJobIdIsCut) {
  const JobIdentity identity = Read({{"LOCKSTEP_JOB_ID", std::string(1000, 'j')}});
  EXPECT_EQ(std::string(identity.job), std::string(sizeof(identity.job) - 1, 'j'));
}

}  // namespace
}  // namespace lockstep::ring
