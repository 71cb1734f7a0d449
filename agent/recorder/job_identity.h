// Which job a process belongs to and which rank of it the process is, read from its environment.
//
// Launchers disagree on names, so that every field has a table of variables in order of precedence (job_identity.cc):
// what the user set for Lockstep first, then the launcher closest to the program, then the batch system, then the
// generic RANK / WORLD_SIZE / LOCAL_RANK. Fields are found independently of each other, except that rank and world size
// always come from the same launcher. All members of a job read the same job id without communicating.
//
// Where no launcher tells a job, the address where its processes meet does (MASTER_ADDR and MASTER_PORT): two jobs
// cannot listen at one at the same time. What only one machine or namespace calls by that name is told apart by the
// name of the machine or the pod's namespace; the collector knows several names of one place by the communicators of
// those who met there (collector/job_names.h). A process without any of these has no job here; the agent names it by
// its communicators (agent/sources/rings/job_fingerprint.h).
//
// Pure: the surroundings are an argument. Allocates nothing.

#ifndef LOCKSTEP_AGENT_RECORDER_JOB_IDENTITY_H_
#define LOCKSTEP_AGENT_RECORDER_JOB_IDENTITY_H_

#include <cstddef>
#include <cstdint>

namespace lockstep::ring {

struct JobIdentity {
  char job[128] = {};  // "" = unknown; cut to fit
  int32_t rank = -1;   // -1 = unknown
  int32_t world_size = -1;
  int32_t local_rank = -1;
};

// Like getenv(3): nullptr = not set. The text must live until ReadJobIdentity returns.
using GetEnvironment = const char* (*)(const char* name);

// What tells where the process runs; each writes at most `size` bytes with the NUL, "" = not known.
struct Surroundings {
  GetEnvironment get;
  void (*host_name)(char* name, size_t size);
  void (*pod_namespace)(char* name, size_t size);
};

// The namespace of the pod whose resolver has the configuration `text`: that of the first domain which it searches,
// "team-a.svc.cluster.local"; "" if that is none of Kubernetes. Writes at most `size` bytes with the NUL.
void NamespaceOfResolver(const char* text, char* name, size_t size);

// Unset, empty, negative and unparsable values count as absent.
JobIdentity ReadJobIdentity(const Surroundings& surroundings);

// Of this process.
JobIdentity ReadJobIdentity();

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_JOB_IDENTITY_H_
