// Which job a process belongs to and which rank of it the process is, read from its environment.
//
// Launchers disagree on names, so that every field has a table of variables in order of precedence (job_identity.cc):
// what the user set for Lockstep first, then the launcher closest to the program, then the batch system, then the
// generic RANK / WORLD_SIZE / LOCAL_RANK. Fields are found independently of each other, except that rank and world size
// always come from the same launcher. All members of a job read the same job id without communicating.
//
// Pure: the environment is an argument. Allocates nothing.

#ifndef LOCKSTEP_AGENT_RECORDER_JOB_IDENTITY_H_
#define LOCKSTEP_AGENT_RECORDER_JOB_IDENTITY_H_

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

// Unset, empty, negative and unparsable values count as absent.
JobIdentity ReadJobIdentity(GetEnvironment get);

// From the environment of this process.
JobIdentity ReadJobIdentity();

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_JOB_IDENTITY_H_
