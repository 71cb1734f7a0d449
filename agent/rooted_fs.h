// The file system as the sources see it: rooted at "/" when live, at the host's file system mounted elsewhere in a
// container, at a folder of fixtures in tests. Sources never open a path in any other way.
//
// Paths are relative to the root and never start with '/' or contain a "..": such a path is INVALID_ARGUMENT. Symbolic
// links, absolute ones too, are resolved inside the root (on kernels before 5.6, which cannot do that, links are
// followed as usual).
//
// Errors: NOT_FOUND where there is no such file (ENOENT, ENOTDIR, and ENODEV or ENXIO of a device that went away);
// PERMISSION_DENIED; OUT_OF_RANGE for a file or folder larger than the caller's limit; otherwise what the errno says.

#ifndef LOCKSTEP_AGENT_ROOTED_FS_H_
#define LOCKSTEP_AGENT_ROOTED_FS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/unique_fd.h"

namespace lockstep {

// Owns a descriptor of its root: each source has its own RootedFs, so that one that hangs shares nothing. Movable.
// Thread-safe.
class RootedFs {
 public:
  // Entries of one folder; enough for every /proc, while a hostile folder cannot fill the memory.
  static constexpr size_t kMaxDirectoryEntries = 65'536;

  static absl::StatusOr<RootedFs> Open(absl::string_view root);

  // The whole file. A pseudo file is read until it says end-of-file: one of /proc may come in several pieces.
  absl::StatusOr<std::string> ReadFile(absl::string_view path, size_t max_bytes) const;

  // Names in a folder, sorted, without "." and "..".
  absl::StatusOr<std::vector<std::string>> ReadDir(absl::string_view path) const;

  // The target of a symbolic link, as it is written there.
  absl::StatusOr<std::string> ReadLink(absl::string_view path) const;

  // True for anything that the path leads to. False also where the root may not be searched.
  bool Exists(absl::string_view path) const;

  // A descriptor with `flags` of open(2) (O_CLOEXEC is added), for what has to stay open: devices, memory maps.
  absl::StatusOr<UniqueFd> OpenFile(absl::string_view path, int flags) const;

  // The folder that this handle is rooted at, as it was given.
  const std::string& root() const { return root_; }

 private:
  RootedFs(std::string root, UniqueFd directory) : root_(std::move(root)), directory_(std::move(directory)) {}

  absl::StatusOr<UniqueFd> OpenAt(absl::string_view path, int flags) const;

  std::string root_;
  UniqueFd directory_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_ROOTED_FS_H_
