// Names as small numbers, in order of first mention.
//
// Rows of a file mostly repeat the name of the row before, which costs one comparison. Not thread-safe.

#ifndef LOCKSTEP_FORMATS_NAME_TABLE_H_
#define LOCKSTEP_FORMATS_NAME_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace lockstep {

class NameTable {
 public:
  explicit NameTable(size_t max_names) : max_names_(max_names) {}

  // The number of `name`, or -1 when the table is full and does not know it.
  int32_t Intern(absl::string_view name) {
    if (last_ >= 0 && names_[static_cast<size_t>(last_)] == name) return last_;
    const auto known = index_.find(name);
    if (known != index_.end()) return last_ = known->second;
    if (names_.size() == max_names_) return -1;
    last_ = static_cast<int32_t>(names_.size());
    names_.emplace_back(name);
    index_.emplace(names_.back(), last_);
    return last_;
  }

  const std::vector<std::string>& names() const { return names_; }

 private:
  const size_t max_names_;
  std::vector<std::string> names_;
  absl::flat_hash_map<std::string, int32_t> index_;
  int32_t last_ = -1;
};

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_NAME_TABLE_H_
