#include "agent/recorder/job_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace lockstep::ring {
namespace {

// What tells the jobs apart that have one id.
enum class Runs {
  kOne,         // nothing: there is one
  kAllocation,  // of Slurm: it holds several runs, one after the other and at the same time
  kGroup,       // each group of a set is a job
  kCluster,     // it holds several runs
  kMpirun,      // where it was started: its id is 16 bits of a hash of host and pid
  kIndexed,     // a pod whose processes are a job by themselves, by its index
  kOrdinal,     // the same, by the number at the end of its name, which is not part of the set's
};
// Where a job id may come from, best first. `prefix` keeps ids of different launchers from colliding; what the user
// chose is taken as it is.
struct JobVariable {
  const char* name;
  const char* prefix;
  bool in_namespace;  // of Kubernetes, if the process is in any: another one may have the same
  Runs runs;
};
constexpr char kMpirunId[] = "OMPI_MCA_ess_base_jobid";
constexpr char kRunId[] = "TORCHELASTIC_RUN_ID";
constexpr JobVariable kJobVariables[] = {
    {"LOCKSTEP_JOB_ID", "", false, Runs::kOne},
    {"SLURM_JOB_ID", "slurm-", false, Runs::kAllocation},
    // Pods get these through the downward API: `lockstep enable-nccl --for kubernetes`.
    {"LOCKSTEP_PYTORCHJOB", "k8s-", true, Runs::kOne},
    {"LOCKSTEP_JOBSET", "k8s-", true, Runs::kOne},
    {"LOCKSTEP_LEADERWORKERSET", "k8s-", true, Runs::kGroup},
    {"LOCKSTEP_VOLCANO_JOB", "k8s-", true, Runs::kOne},
    {"LOCKSTEP_RAY_CLUSTER", "k8s-", true, Runs::kCluster},
    {"LOCKSTEP_KUBERNETES_JOB", "k8s-", true, Runs::kIndexed},
    {"LOCKSTEP_STATEFULSET_POD", "k8s-", true, Runs::kOrdinal},
    {kRunId, "torch-", true, Runs::kOne},
    {kMpirunId, "mpi-", false, Runs::kMpirun},
    {"PMIX_NAMESPACE", "mpi-", false, Runs::kOne},
};
// torchrun's run id where the user gave none.
constexpr char kNoRunId[] = "none";

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

int32_t Number(GetEnvironment get, const char* name) {
  const char* text = Text(get, name);
  if (text == nullptr) return -1;
  char* end = nullptr;
  errno = 0;
  const long value = strtol(text, &end, 10);
  const bool is_valid = errno == 0 && *end == '\0' && value >= 0 && value <= INT32_MAX;
  return is_valid ? static_cast<int32_t>(value) : -1;
}

bool IsOfThisMachine(const char* address) {
  constexpr const char* kLocal[] = {"localhost", "127.", "::1", "[::1]", "0.0.0.0"};
  return std::any_of(std::begin(kLocal), std::end(kLocal),
                     [address](const char* local) { return strncmp(address, local, strlen(local)) == 0; });
}

// Whether all ranks of the job are on this node, or in this pod.
bool IsOfOnePlace(GetEnvironment get) {
  const int32_t world = Number(get, "WORLD_SIZE"), mpi_world = Number(get, "OMPI_COMM_WORLD_SIZE");
  if (mpi_world > 0) return mpi_world == Number(get, "OMPI_COMM_WORLD_LOCAL_SIZE");
  return world == 1 || (world > 0 && world == Number(get, "LOCAL_WORLD_SIZE"));
}

// The number at the end of "NAME-NUMBER"; "" if there is none.
const char* OrdinalOf(const char* name) {
  const char* const last = strrchr(name, '-');
  if (last == nullptr || last == name) return "";
  const size_t digits = strspn(last + 1, "0123456789");
  return digits > 0 && last[1 + digits] == '\0' ? last + 1 : "";
}

// What an id of a pod is unique in, with a slash; "" outside of Kubernetes.
struct Namespace {
  char text[64] = {};

  explicit Namespace(const Surroundings& surroundings) {
    const char* given = Text(surroundings.get, "LOCKSTEP_POD_NAMESPACE");
    char name[sizeof(text) - 1] = {};
    if (given != nullptr) {
      snprintf(name, sizeof(name), "%s", given);
    } else if (Text(surroundings.get, "KUBERNETES_SERVICE_HOST") != nullptr) {
      surroundings.pod_namespace(name, sizeof(name));
    }
    if (name[0] != '\0') snprintf(text, sizeof(text), "%s/", name);
  }
};

// Where the processes of the job meet, as "address:port"; "" = not told.
struct MeetingPlace {
  char text[80] = {};

  explicit MeetingPlace(const Surroundings& surroundings) {
    const char* address = Text(surroundings.get, "MASTER_ADDR");
    const char* port = Text(surroundings.get, "MASTER_PORT");
    if (address == nullptr || port == nullptr) return;
    char host[64] = {};
    if (IsOfThisMachine(address)) {
      surroundings.host_name(host, sizeof(host));
      if (host[0] == '\0') return;
      address = host;
    }
    snprintf(text, sizeof(text), "%s:%s", address, port);
  }
};

// Which of the runs that one name holds the process is of.
struct Run {
  char text[sizeof(JobIdentity::job)] = {};  // "" = there is one alone, or nobody knows

  Run(const Surroundings& surroundings, Runs runs, const char* id) {
    if (runs == Runs::kAllocation) ReadAllocation(surroundings);
    if (runs == Runs::kCluster) ReadTorchrun(surroundings);
    if (runs == Runs::kGroup) Set(Text(surroundings.get, "LOCKSTEP_LEADERWORKERSET_GROUP"));
    if (runs == Runs::kMpirun) ReadMpirun(surroundings.get);
    if (runs == Runs::kIndexed && IsOfOnePlace(surroundings.get)) Set(Text(surroundings.get, "JOB_COMPLETION_INDEX"));
    if (runs == Runs::kOrdinal && IsOfOnePlace(surroundings.get)) Set(OrdinalOf(id));
  }

 private:
  void Set(const char* run) { snprintf(text, sizeof(text), "%s", run == nullptr ? "" : run); }

  // torchrun's id stays when it starts its workers again, and they meet at another port.
  void ReadTorchrun(const Surroundings& surroundings) {
    const char* id = Text(surroundings.get, kRunId);
    Set(id != nullptr && strcmp(id, kNoRunId) != 0 ? id : MeetingPlace(surroundings).text);
  }

  // "ID;tcp://ADDRESS,ADDRESS:PORT;..." of where mpirun listens; its processes get it as it is.
  void ReadMpirun(GetEnvironment get) {
    const char* uri = Text(get, "OMPI_MCA_orte_hnp_uri");
    const char* address = uri == nullptr ? nullptr : strstr(uri, "//");
    if (address == nullptr) return;
    address += strlen("//");
    snprintf(text, sizeof(text), "%.*s", static_cast<int>(strcspn(address, ",;")), address);
  }

  // mpirun starts its helpers on the other nodes in a step of their own. One torchrun per node, each in a step of its
  // own, are one run as well; torchruns of one node are a run each, also inside one step. What the batch script itself
  // starts has no step, or one of a number beyond all others.
  void ReadAllocation(const Surroundings& surroundings) {
    const GetEnvironment get = surroundings.get;
    const char* const mpirun = Text(get, kMpirunId);
    if (mpirun != nullptr) return Set(mpirun);
    const int32_t step = Number(get, "SLURM_STEP_ID");
    const int32_t local = Number(get, "LOCAL_WORLD_SIZE"), world = Number(get, "WORLD_SIZE");
    ReadTorchrun(surroundings);
    if (step < 0) return;
    const MeetingPlace place(surroundings);
    const bool is_of_several = local > 0 && world > local && Number(get, "SLURM_STEP_NUM_NODES") == 1;
    if (is_of_several && place.text[0] != '\0') return Set(place.text);
    const Run torchrun = *this;
    const bool is_of_one = local > 0 && world == local && text[0] != '\0';
    snprintf(text, sizeof(text), "%d%s%s", step, is_of_one ? "." : "", is_of_one ? torchrun.text : "");
  }
};

bool ReadJobOfLauncher(const Surroundings& surroundings, JobIdentity* identity) {
  for (const JobVariable& variable : kJobVariables) {
    const char* id = Text(surroundings.get, variable.name);
    if (id == nullptr || strcmp(id, kNoRunId) == 0) continue;
    const Run run(surroundings, variable.runs, id);
    const size_t ordinal = variable.runs == Runs::kOrdinal ? strlen(OrdinalOf(id)) : 0;
    const size_t length = strlen(id) - (ordinal > 0 ? ordinal + 1 : 0);
    snprintf(identity->job, sizeof(identity->job), "%s%s%.*s%s%s", variable.prefix,
             variable.in_namespace ? Namespace(surroundings).text : "", static_cast<int>(length), id,
             run.text[0] == '\0' ? "" : ".", run.text);
    return true;
  }
  return false;
}

void ReadMeetingPlace(const Surroundings& surroundings, JobIdentity* identity) {
  const MeetingPlace place(surroundings);
  if (place.text[0] == '\0') return;
  snprintf(identity->job, sizeof(identity->job), "torch-%s%s", Namespace(surroundings).text, place.text);
}

const char* ProcessEnvironment(const char* name) { return getenv(name); }

void OwnHostName(char* name, size_t size) {
  if (gethostname(name, size) != 0) name[0] = '\0';
  name[size - 1] = '\0';
}

// Reads a text of at most `size` - 1 bytes; "" if it cannot be read.
void ReadText(const char* path, char* text, size_t size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t length = file < 0 ? -1 : read(file, text, size - 1);
  if (file >= 0) close(file);
  text[length > 0 ? length : 0] = '\0';
}

// A pod may have been given no service account; it still finds the services of its namespace.
void OwnPodNamespace(char* name, size_t size) {
  ReadText("/var/run/secrets/kubernetes.io/serviceaccount/namespace", name, size);
  name[strcspn(name, "\r\n")] = '\0';
  if (name[0] != '\0') return;
  char resolver[4096];
  ReadText("/etc/resolv.conf", resolver, sizeof(resolver));
  NamespaceOfResolver(resolver, name, size);
}

}  // namespace

void NamespaceOfResolver(const char* text, char* name, size_t size) {
  constexpr const char* kSearch = "search ";
  name[0] = '\0';
  for (const char* line = text; line != nullptr; line = strchr(line, '\n')) {
    line += *line == '\n' ? 1 : 0;
    if (strncmp(line, kSearch, strlen(kSearch)) != 0) continue;
    const char* domain = line + strlen(kSearch);
    domain += strspn(domain, " \t");
    const size_t length = strcspn(domain, ". \t\r\n");
    if (length == 0 || length >= size || strncmp(domain + length, ".svc.", 5) != 0) continue;
    memcpy(name, domain, length);
    name[length] = '\0';
    return;
  }
}

JobIdentity ReadJobIdentity(const Surroundings& surroundings) {
  const int saved_errno = errno;
  const GetEnvironment get = surroundings.get;
  JobIdentity identity;
  if (!ReadJobOfLauncher(surroundings, &identity)) ReadMeetingPlace(surroundings, &identity);
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

JobIdentity ReadJobIdentity() { return ReadJobIdentity({ProcessEnvironment, OwnHostName, OwnPodNamespace}); }

}  // namespace lockstep::ring
