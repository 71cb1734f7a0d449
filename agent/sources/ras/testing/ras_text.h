// Answers of a RAS service, written for tests: the format of NCCL 2.29, or with the defect of 2.28.7 to 2.28.9.
//
// Pure. Values only; thread-compatible.

#ifndef LOCKSTEP_AGENT_SOURCES_RAS_TESTING_RAS_TEXT_H_
#define LOCKSTEP_AGENT_SOURCES_RAS_TESTING_RAS_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

struct RasTextMember {
  int rank = 0;
  std::string host = "10.0.0.1";
  int pid = 100;
  uint64_t all_reduces = 0;
  int async_error = 0;
  bool aborted = false;
  bool dead = false;  // of one that is missing
};

struct RasTextCommunicator {
  uint64_t id = 0;
  std::vector<RasTextMember> members;
  std::vector<RasTextMember> missing;
};

enum class RasTextStyle { kSound, kCommaMissing };

// 0.25 s of collection, one time-out.
std::string RasText(const std::vector<RasTextCommunicator>& communicators, RasTextStyle style = RasTextStyle::kSound);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RAS_TESTING_RAS_TEXT_H_
