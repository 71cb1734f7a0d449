// How processes of a job ended, which first, and the sentences. Pure values.

#ifndef LOCKSTEP_DETECTOR_VERDICT_END_REASONS_H_
#define LOCKSTEP_DETECTOR_VERDICT_END_REASONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/model/process_end.h"
#include "detector/verdict/wording.h"

namespace lockstep {

// What is known of the end of one process, and from whom.
struct ProcessEnded {
  RankName rank;
  int32_t pid = 0;
  ProcessEnd end;
  MemoryKill for_memory = MemoryKill::kNone;
  bool first = false;  // before all others, as far as can be told
  bool operator==(const ProcessEnded&) const = default;
};

// The last that the recorder of a dead rank wrote.
struct LastRecorded {
  int32_t rank = -1;
  OperationName operation;
  bool inside = false;  // it had called it and not left it
  double seconds = 0;   // inside of it; else since it had left it, when the process ended
  bool operator==(const LastRecorded&) const = default;
};

// Who died after the first.
struct DeathsThatFollowed {
  uint64_t dead = 0;
  uint64_t all = 0;              // ranks of the job
  std::vector<std::string> how;  // "2 by SIGTERM", most first
  double first_seconds = 0;      // after the first death
  double last_seconds = 0;
  bool operator==(const DeathsThatFollowed&) const = default;
};

// Several may have been the first.
struct DeathsTooNear {
  std::vector<int32_t> ranks;
  bool across_hosts = false;
  double sure_seconds = 0;  // moments of several hosts are compared to this
  bool operator==(const DeathsTooNear&) const = default;
};

// A job died while something else held it up.
struct DiedInHang {
  bool operator==(const DiedInHang&) const = default;
};

// "was killed by SIGSEGV (signal 11, core dumped)", "ended with exit code 3", "is gone, how it ended is not known".
std::string HowText(const ProcessEnd& end);
// "SIGSEGV", "exit code 3", "" = not known.
std::string ShortEndText(const ProcessEnd& end);

std::string Sentence(const ProcessEnded& reason);
std::string Sentence(const LastRecorded& reason);
std::string Sentence(const DeathsThatFollowed& reason);
std::string Sentence(const DeathsTooNear& reason);
std::string Sentence(const DiedInHang& reason);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_END_REASONS_H_
