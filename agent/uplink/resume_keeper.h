// Where the agent after this one goes on, if it cannot wait for the disk of the spool, or has no spool: the resume
// point of the newest report that survives this process, in a file of its own.
//
// A report survives once it is written to the spool, or a collector has acknowledged it. The file belongs on a file
// system in memory (/run): it says nothing after a boot but that there was an agent before it, and nobody waits for a
// disk here. It is replaced as a whole. Not thread-safe.

#ifndef LOCKSTEP_AGENT_UPLINK_RESUME_KEEPER_H_
#define LOCKSTEP_AGENT_UPLINK_RESUME_KEEPER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

namespace lockstep {

class ResumeKeeper {
 public:
  // Points of reports that do not survive yet; beyond them the oldest go, and the file stays as it is for longer.
  static constexpr size_t kMaxWaiting = 64;
  static constexpr size_t kMaxFileBytes = 4 << 20;

  // In `directory`, which must exist; "" = nothing is kept. `boot_id` of the running kernel; "" = not known, nothing is
  // kept either. Reads what the agent before this one has left, if that called itself `host` as well.
  ResumeKeeper(const std::string& directory, std::string boot_id, std::string host);

  // A wire::ResumePoint; "" = there is none.
  const std::string& left() const { return left_; }

  // The resume point of report `sequence`, which rises; "" = it has none.
  void Add(uint64_t sequence, std::string point);

  // Reports up to `sequence` survive.
  void Survives(uint64_t sequence);

 private:
  void Store(const std::string& point);

  const std::string path_;  // "" = nothing is kept
  const std::string boot_id_;
  const std::string host_;
  std::string left_;
  std::deque<std::pair<uint64_t, std::string>> waiting_;
  bool told_ = false;  // that it cannot be kept
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_UPLINK_RESUME_KEEPER_H_
