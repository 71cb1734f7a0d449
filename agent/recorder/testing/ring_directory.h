// A temporary directory in which a recorder under test makes its ring, and the bytes that a reader would see there.
//
// Not thread-safe. Removes the directory at the end of its life.

#ifndef LOCKSTEP_AGENT_RECORDER_TESTING_RING_DIRECTORY_H_
#define LOCKSTEP_AGENT_RECORDER_TESTING_RING_DIRECTORY_H_

#include <string>
#include <vector>

#include "agent/recorder/ring_format.h"

namespace lockstep::ring {

// The content of a file; empty when it cannot be read.
std::string ReadFile(const std::string& path);

class RingDirectory {
 public:
  // Below `parent`; "" = the usual place for temporary files.
  explicit RingDirectory(const std::string& parent = "");
  ~RingDirectory();
  RingDirectory(const RingDirectory&) = delete;
  RingDirectory& operator=(const RingDirectory&) = delete;

  const std::string& path() const { return path_; }

  // Names of all files in it, sorted; also temporary ones.
  std::vector<std::string> Files() const;

  // The content of the one ring in it; empty unless there is exactly one file.
  std::string OnlyRing() const;

 private:
  std::string path_;
};

// Views of a ring's bytes, which must outlive it. The caller vouches that they came from RingWriter.
struct RingView {
  explicit RingView(const std::string& bytes);

  const RingHeader& header;
  const CommunicatorEntry* communicators;
  const OperationSlot* slots;

  uint64_t InFlight() const;
  // enqueued == finished + in flight + lost
  bool IsAccountingExact() const;
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_TESTING_RING_DIRECTORY_H_
