#include "agent/recorder/job_identity.h"

#include <gtest/gtest.h>

#include <cstdio>
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

void HostName(char* name, size_t size) { snprintf(name, size, "node-7"); }
void PodNamespace(char* name, size_t size) { snprintf(name, size, "team-a"); }

JobIdentity Read(const Environment& environment) {
  g_environment = environment;
  return ReadJobIdentity({Get, HostName, PodNamespace});
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

TEST(JobIdentity, WithoutALauncherTheMeetingPlaceNamesTheJob) {
  const auto job = [](const Environment& environment) { return std::string(Read(environment).job); };
  const Environment met = {{"MASTER_ADDR", "10.0.0.5"}, {"MASTER_PORT", "29500"}, {"RANK", "3"}, {"WORLD_SIZE", "8"}};
  EXPECT_EQ(job(met), "torch-10.0.0.5:29500");
  const auto with = [&met](std::initializer_list<Environment::value_type> more) {
    Environment environment = more;
    environment.insert(met.begin(), met.end());
    return environment;
  };
  EXPECT_EQ(job(with({{"TORCHELASTIC_RUN_ID", "none"}})), "torch-10.0.0.5:29500") << "torchrun without --rdzv-id";
  EXPECT_EQ(job(with({{"TORCHELASTIC_RUN_ID", "a"}})), "torch-a") << "the port changes with each restart of workers";
  EXPECT_EQ(job(with({{"MASTER_PORT", ""}})), "");
  for (const char* local : {"localhost", "127.0.0.1", "127.0.1.1", "::1"}) {
    EXPECT_EQ(job(with({{"MASTER_ADDR", local}})), "torch-node-7:29500") << local;
  }
  EXPECT_EQ(job(with({{"MASTER_ADDR", "train-master-0"}, {"KUBERNETES_SERVICE_HOST", "10.96.0.1"}})),
            "torch-team-a/train-master-0:29500")
      << "each namespace may have a service of that name";
}

// srun -w NODE torchrun ... & for each node of the allocation.
TEST(JobIdentity, StepsOfOneNodeEachAreOneRun) {
  const auto job = [](const Environment& environment) { return std::string(Read(environment).job); };
  Environment step = {{"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "3"},    {"SLURM_STEP_NUM_NODES", "1"},
                      {"WORLD_SIZE", "16"},  {"LOCAL_WORLD_SIZE", "8"}, {"RANK", "9"},
                      {"MASTER_ADDR", "n1"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ(job(step), "slurm-7.n1:29500");
  step["LOCAL_WORLD_SIZE"] = "16";
  EXPECT_EQ(job(step), "slurm-7.3.n1:29500") << "a run of one node, maybe not the first one at that place";
  step["LOCAL_WORLD_SIZE"] = "8";
  step["SLURM_STEP_NUM_NODES"] = "2";
  EXPECT_EQ(job(step), "slurm-7.3");
  step["SLURM_STEP_NUM_NODES"] = "1";
  step.erase("MASTER_PORT");
  EXPECT_EQ(job(step), "slurm-7.3");
}

// Two of four GPUs each: torchrun ... --master-port 29501 & torchrun ... --master-port 29502 & wait
TEST(JobIdentity, TorchrunsBesideEachOtherInAnAllocationAreARunEach) {
  const auto job = [](const Environment& environment) { return std::string(Read(environment).job); };
  Environment run = {{"SLURM_JOB_ID", "7"}, {"WORLD_SIZE", "4"},      {"LOCAL_WORLD_SIZE", "4"},      {"RANK", "1"},
                     {"MASTER_ADDR", "n1"}, {"MASTER_PORT", "29501"}, {"TORCHELASTIC_RUN_ID", "none"}};
  EXPECT_EQ(job(run), "slurm-7.n1:29501") << "of the batch script";
  run["SLURM_STEP_ID"] = "4294967291";
  EXPECT_EQ(job(run), "slurm-7.n1:29501") << "as Slurm numbers the step of the batch script";
  run["SLURM_STEP_ID"] = "3";
  EXPECT_EQ(job(run), "slurm-7.3.n1:29501") << "of one step";
  run["TORCHELASTIC_RUN_ID"] = "abc";
  EXPECT_EQ(job(run), "slurm-7.3.abc") << "the port changes with each restart of workers";
  run["WORLD_SIZE"] = "8";
  EXPECT_EQ(job(run), "slurm-7.3") << "of several nodes of the step";
  run.erase("SLURM_STEP_ID");
  EXPECT_EQ(job(run), "slurm-7.abc");
}

// ORTE's id is of 16 bits: of 1,000 jobs that run at the same time 15 would have that of another.
TEST(JobIdentity, AnMpirunIsToldByWhereItWasStartedToo) {
  const auto job = [](const char* uri) {
    return std::string(Read({{"OMPI_MCA_ess_base_jobid", "55"}, {"OMPI_MCA_orte_hnp_uri", uri}}).job);
  };
  EXPECT_EQ(job("54.0;tcp://192.0.2.2:59447;tcp6://[fd00::2]:38719"), "mpi-55.192.0.2.2:59447");
  EXPECT_EQ(job("54.0;tcp://192.0.2.2,198.51.100.1:59447"), "mpi-55.192.0.2.2");
  for (const char* other : {"", "54.0", "54.0;tcp://", "//"}) EXPECT_EQ(job(other), "mpi-55") << other;
}

TEST(JobIdentity, ARunIdIsThatOfANamespace) {
  EXPECT_STREQ(Read({{"TORCHELASTIC_RUN_ID", "100"}, {"LOCKSTEP_POD_NAMESPACE", "b"}}).job, "torch-b/100");
}

TEST(JobIdentity, APodWithoutAServiceAccountKnowsItsNamespaceByItsResolver) {
  const auto name_of = [](const char* text) {
    char name[16];
    NamespaceOfResolver(text, name, sizeof(name));
    return std::string(name);
  };
  EXPECT_EQ(name_of("search team-a.svc.cluster.local svc.cluster.local\nnameserver 10.96.0.10\n"), "team-a");
  EXPECT_EQ(name_of("nameserver 10.96.0.10\noptions ndots:5\nsearch  b.svc.c"), "b");
  for (const char* other : {"", "\n", "search ", "search example.com svc.cluster.local\n", "search svc.cluster.local\n",
                            "search a-namespace-of-more-than-fits.svc.cluster.local\n", "# search a.svc.b\n"}) {
    EXPECT_EQ(name_of(other), "") << other;
  }
}

TEST(JobIdentity, PodsAreToldByTheDownwardApi) {
  const auto job = [](const Environment& environment) { return std::string(Read(environment).job); };
  const Environment pod = {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"LOCKSTEP_KUBERNETES_JOB", "train-workers-0"}};
  EXPECT_EQ(job(pod), "k8s-team-a/train-workers-0");
  const auto with = [&pod](std::initializer_list<Environment::value_type> more) {
    Environment environment = more;
    environment.insert(pod.begin(), pod.end());
    return environment;
  };
  EXPECT_EQ(job(with({{"LOCKSTEP_JOBSET", "train"}})), "k8s-team-a/train") << "a set has several jobs";
  EXPECT_EQ(job(with({{"LOCKSTEP_PYTORCHJOB", "train"}, {"LOCKSTEP_POD_NAMESPACE", "b"}})), "k8s-b/train");
  EXPECT_EQ(job(with({{"LOCKSTEP_PYTORCHJOB", ""}, {"LOCKSTEP_JOBSET", ""}})), "k8s-team-a/train-workers-0");
  EXPECT_EQ(job(with({{"TORCHELASTIC_RUN_ID", "a"}})), "k8s-team-a/train-workers-0");
  EXPECT_EQ(job(with({{"LOCKSTEP_VOLCANO_JOB", "v"}})), "k8s-team-a/v");
  EXPECT_EQ(job(with({{"LOCKSTEP_LEADERWORKERSET", "llm"}})), "k8s-team-a/llm");
  EXPECT_EQ(job(with({{"LOCKSTEP_LEADERWORKERSET", "llm"}, {"LOCKSTEP_LEADERWORKERSET_GROUP", "2"}})),
            "k8s-team-a/llm.2")
      << "each group is a job";
  const Environment::value_type ray = {"LOCKSTEP_RAY_CLUSTER", "ray"};
  EXPECT_EQ(job(with({ray})), "k8s-team-a/ray");
  EXPECT_EQ(job(with({ray, {"MASTER_ADDR", "10.0.0.5"}, {"MASTER_PORT", "4000"}})), "k8s-team-a/ray.10.0.0.5:4000")
      << "a cluster has several jobs";
}

TEST(JobIdentity, PodsThatAreAJobEachAreToldApartByTheirNumber) {
  const auto job = [](const Environment& environment) { return std::string(Read(environment).job); };
  const auto with = [](const Environment& pod, std::initializer_list<Environment::value_type> more) {
    Environment environment = more;
    environment.insert(pod.begin(), pod.end());
    environment.emplace("KUBERNETES_SERVICE_HOST", "10.96.0.1");
    return environment;
  };
  const Environment indexed = {{"LOCKSTEP_KUBERNETES_JOB", "sweep"}, {"JOB_COMPLETION_INDEX", "3"}};
  const Environment replica = {{"LOCKSTEP_STATEFULSET_POD", "sweep-3"}};
  for (const Environment& pod : {indexed, replica}) {
    EXPECT_EQ(job(with(pod, {{"WORLD_SIZE", "8"}, {"LOCAL_WORLD_SIZE", "8"}})), "k8s-team-a/sweep.3");
    EXPECT_EQ(job(with(pod, {{"WORLD_SIZE", "1"}})), "k8s-team-a/sweep.3");
    EXPECT_EQ(job(with(pod, {{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}})),
              "k8s-team-a/sweep.3");
    EXPECT_EQ(job(with(pod, {{"WORLD_SIZE", "16"}, {"LOCAL_WORLD_SIZE", "8"}})), "k8s-team-a/sweep");
    EXPECT_EQ(job(with(pod, {{"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}})), "k8s-team-a/sweep");
    EXPECT_EQ(job(with(pod, {{"WORLD_SIZE", "16"}})), "k8s-team-a/sweep") << "nobody says that it is alone";
  }
  EXPECT_EQ(job(with({{"LOCKSTEP_KUBERNETES_JOB", "sweep"}}, {{"WORLD_SIZE", "1"}})), "k8s-team-a/sweep");
  for (const char* odd : {"sweep", "sweep-", "-3", "sweep-3a"}) {
    EXPECT_EQ(job(with({{"LOCKSTEP_STATEFULSET_POD", odd}}, {{"WORLD_SIZE", "1"}})), std::string("k8s-team-a/") + odd);
  }
}

TEST(JobIdentity, ALongJobIdIsCut) {
  const JobIdentity identity = Read({{"LOCKSTEP_JOB_ID", std::string(1000, 'j')}});
  EXPECT_EQ(std::string(identity.job), std::string(sizeof(identity.job) - 1, 'j'));
}

}  // namespace
}  // namespace lockstep::ring
