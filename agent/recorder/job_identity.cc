#include "agent/recorder/job_identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

namespace lockstep::ring {
namespace {

// Where a job id may come from, best first. `prefix` keeps ids of different launchers from colliding; what the user
// chose is taken as it is. An allocation holds several runs one after the other, which the suffix tells apart.
struct JobVariable {
  const char* name;
  const char* prefix;
  bool is_allocation;
};
constexpr JobVariable kJobVariables[] = {
    {"LOCKSTEP_JOB_ID", "", false},           {"SLURM_JOB_ID", "slurm-", true},
    {"TORCHELASTIC_RUN_ID", "torch-", false}, {"OMPI_MCA_ess_base_jobid", "mpi-", false},
    {"PMIX_NAMESPACE", "mpi-", false},
};

// What tells the runs inside one allocation apart, best first. mpirun starts its helpers on the other nodes in a Slurm
// step of their own, so that its own id has to come before the step's.
constexpr const char* kRunVariables[] = {"OMPI_MCA_ess_base_jobid", "SLURM_STEP_ID"};

// Rank and world size of one launcher, best first. A launcher that is started by another (mpirun inside a Slurm
// allocation) is closer to the program and therefore comes before it.
struct RankVariables {
  const char* rank;
  const char* world_size;
};
constexpr RankVariables kRankVariables[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"RANK", "WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"},
};
constexpr const char* kLocalRankVariables[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "LOCAL_RANK",
                                               "SLURM_LOCALID"};

const char* Text(GetEnvironment get, const char* name) {
  const char* value = get(name);
  return value != nullptr && value[0] != '\0' ? value : nullptr;
}

template <size_t kCount>
const char* FirstText(GetEnvironment get, const char* const (&names)[kCount]) {
  for (const char* name : names) {
    const char* value = Text(get, name);
    if (value != nullptr) return value;
  }
  return nullptr;
}

int32_t Number(GetEnvironment get, const char* name) {
  const char* text = Text(get, name);
  if (text == nullptr) return -1;
  char* end = nullptr;
  errno = 0;
  const long value = strtol(text, &end, 10);
  const bool is_valid = errno == 0 && *end == '\0' && value >= 0 && value <= INT32_MAX;
  return is_valid ? static_cast<int32_t>(value) : -1;
}

void ReadJob(GetEnvironment get, JobIdentity* identity) {
  for (const JobVariable& variable : kJobVariables) {
    const char* id = Text(get, variable.name);
    if (id == nullptr) continue;
    const char* suffix = variable.is_allocation ? FirstText(get, kRunVariables) : nullptr;
    snprintf(identity->job, sizeof(identity->job), "%s%s%s%s", variable.prefix, id, suffix == nullptr ? "" : ".",
             suffix == nullptr ? "" : suffix);
    return;
  }
}

const char* ProcessEnvironment(const char* name) { return getenv(name); }

}  // namespace

JobIdentity ReadJobIdentity(GetEnvironment get) {
  const int saved_errno = errno;
  JobIdentity identity;
  ReadJob(get, &identity);
  for (const RankVariables& variables : kRankVariables) {
    identity.rank = Number(get, variables.rank);
    if (identity.rank < 0) continue;
    identity.world_size = Number(get, variables.world_size);
    break;
  }
  for (const char* name : kLocalRankVariables) {
    identity.local_rank = Number(get, name);
    if (identity.local_rank >= 0) break;
  }
  errno = saved_errno;
  return identity;
}

JobIdentity ReadJobIdentity() { return ReadJobIdentity(ProcessEnvironment); }

}  // namespace lockstep::ring
