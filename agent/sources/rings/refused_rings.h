// The ring files that are not followed: why, and when each is looked at again. What was wrong may have been a recorder
// in the middle of its start, or a limit that has room again.
//
// A file is looked at again after 1 s, then after pauses that double up to a minute. For each of its reasons it is
// counted and logged once. A recorder that is still starting has ten seconds before that counts as one. The limits of
// what is remembered hold for each user who owns files as well: a file without a place here is left alone, uncounted,
// until others of its owner are gone; its caller counts it as waiting. Not thread-safe. No I/O but the log.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_REFUSED_RINGS_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_REFUSED_RINGS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/sources/rings/ring_reader.h"
#include "base/clock.h"

namespace lockstep {

class RefusedRings {
 public:
  static constexpr size_t kMaxFiles = 1024;
  static constexpr size_t kMaxFilesPerOwner = 256;
  static constexpr int64_t kFirstPauseNanos = kNanosPerSecond;
  static constexpr int64_t kLongestPauseNanos = 60 * kNanosPerSecond;
  static constexpr int64_t kStartingNanos = 10 * kNanosPerSecond;
  // Lines in one tick; what is counted beyond them is seen in the metric.
  static constexpr int kMaxLinesPerTick = 16;

  // Tells a file from another one of the same name.
  using FileId = std::pair<uint64_t, uint64_t>;  // device, inode
  using Counts = std::array<uint64_t, kRingRefusalReasons>;

  // Whose file it is.
  struct File {
    std::string name;
    FileId id;
    uint32_t owner = 0;
  };

  // A new tick, in which `names` exist (sorted); others are forgotten.
  void BeginTick(const std::vector<std::string>& names);
  // Forgets nothing: the listing is not complete.
  void BeginTick() { lines_ = 0; }

  // Whether `name` may be looked at: it is not known here, or its pause is over.
  bool IsDue(const std::string& name, int64_t now_ns) const;

  // False = there is no place to remember it.
  bool Refuse(const File& file, const RingRefusal& refusal, int64_t now_ns);

  // One that was followed and is damaged: counted and logged as above, but not remembered here.
  void CountDamaged(const std::string& name, const std::string& detail);

  void Forget(const std::string& name);

  // When to look again after `looks` looks that came to nothing.
  static int64_t PauseNanos(int looks);

  size_t size() const { return files_.size(); }
  const Counts& counts() const { return counts_; }  // since the start, by RingRefusalReason

 private:
  struct Refused {
    FileId id;
    uint32_t owner = 0;
    int64_t first_ns = 0;
    int64_t due_ns = 0;
    int looks = 0;
    uint32_t said = 0;  // bit r = counted and logged for reason r
  };

  using Files = std::map<std::string, Refused>;

  Files::iterator Erase(Files::iterator file);
  void Say(const std::string& name, const RingRefusal& refusal);

  Files files_;
  std::map<uint32_t, size_t> owned_;  // files by owner
  Counts counts_ = {};
  int lines_ = 0;  // in this tick
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_REFUSED_RINGS_H_
