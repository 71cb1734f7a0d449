// What the agents of a played job still hold of the operations that they have reported, and how they answer a pull.
//
// Deterministic; keeps everything. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_TESTING_PULL_ARCHIVE_H_
#define LOCKSTEP_DETECTOR_TESTING_PULL_ARCHIVE_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "detector/model/input.h"

namespace lockstep {

class PullArchive {
 public:
  // Takes in what an agent reports, before anybody alters or loses the report.
  void Add(const HostReport& report);

  // The answer with the next report of the host, made when its clock stands at `host_ns`.
  PullAnswer Answer(const PullRequest& request, int64_t host_ns) const;

 private:
  using Owner = std::tuple<std::string, int32_t, uint64_t, CommunicatorId>;  // host, rank, process start, communicator

  std::map<Owner, std::vector<Operation>> held_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_TESTING_PULL_ARCHIVE_H_
