// The pods of this node as the kubelet leaves them on its disk: for jobs that tell nothing of themselves, the names
// that the kubelet knows. No question to the API server, and no right there, is needed.
//
// The UID of a pod is in the cgroup of its processes; namespace and name are in that of its folder of logs
// (/var/log/pods/NAMESPACE_NAME_UID), its GPUs in the checkpoint of the device manager. A machine without these has no
// pods. Names of cgroups inside a container are its own business and are not believed (pod_uid.h).

#ifndef LOCKSTEP_AGENT_KUBELET_POD_TABLE_H_
#define LOCKSTEP_AGENT_KUBELET_POD_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "agent/rooted_fs.h"
#include "base/clock.h"

namespace lockstep {

struct Pod {
  std::string name_space;              // a DNS label
  std::string name;                    // a DNS name
  std::vector<std::string> gpu_uuids;  // that it may use; empty = none, or not known
};

// Of the name of a folder of logs, and its UID; nothing for another folder. Pure.
absl::optional<std::pair<std::string, Pod>> ParsePodLogFolder(absl::string_view folder);

// Not thread-safe. Reads nothing but proc/, var/log/pods and the checkpoint, below its root.
class PodTable {
 public:
  // Between two looks at the kubelet's files, which are made only while a process's pod is not known.
  static constexpr int64_t kRescanNanos = 10 * kNanosPerSecond;
  static constexpr size_t kMaxPods = 4096;
  static constexpr size_t kMaxCheckpointBytes = 8 << 20;

  enum class Answer {
    kFound,
    kNoPod,   // the process is in none, or this is no node of Kubernetes
    kNotYet,  // in a pod that the kubelet's files do not tell of, so far
  };
  struct Result {
    Answer answer = Answer::kNoPod;
    Pod pod;  // of one that was found
  };

  // `root` is where proc/ and var/ are; it must live as long.
  explicit PodTable(const RootedFs& root) : root_(root) {}

  // The pod of the process with this pid of the host.
  Result Find(int32_t host_pid, int64_t now_ns);

 private:
  void Scan(int64_t now_ns);

  const RootedFs& root_;
  std::map<std::string, Pod> pods_;  // by UID, as the last scan saw them
  bool is_node_ = false;
  absl::optional<int64_t> scanned_ns_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_KUBELET_POD_TABLE_H_
