#include "agent/sources/rings/ring_listing.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "agent/recorder/ring_format.h"
#include "agent/unique_fd.h"

namespace lockstep {

absl::StatusOr<RingListing> ListRings(int directory) {
  // Opened anew: a duplicate would share its position with the original.
  UniqueFd own(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(own.valid() ? fdopendir(own.get()) : nullptr, closedir);
  if (stream == nullptr) return absl::ErrnoToStatus(errno, "list the ring directory");
  own.Release();  // closedir closes it
  RingListing listing;
  for (size_t entries = 0;; ++entries) {
    errno = 0;
    const dirent* const entry = readdir(stream.get());
    if (entry == nullptr && errno != 0) return absl::ErrnoToStatus(errno, "list the ring directory");
    if (entry == nullptr) break;
    const absl::string_view name = entry->d_name;
    listing.is_complete = entries < kMaxListedEntries && listing.names.size() < kMaxListedRings;
    if (!listing.is_complete) break;
    if (name.size() > kMaxRingNameBytes || name[0] == '.' || !absl::EndsWith(name, ring::kFileSuffix)) continue;
    listing.names.emplace_back(name);
  }
  std::sort(listing.names.begin(), listing.names.end());
  return listing;
}

}  // namespace lockstep
