// From the PATH arguments of a command to evidence by job: finds the files, tells their formats, reads them all.
//
// A file that cannot be read, or not whole, is listed and does not stop the others; what it gave before the damage
// counts. In a directory, files of no known format are passed over. Files that name no job (traces of PyTorch and NCCL)
// belong to the only job that is named, or else to one that is called after their directory.
// Thread-compatible.

#ifndef LOCKSTEP_CLI_INPUTS_INPUT_FILES_H_
#define LOCKSTEP_CLI_INPUTS_INPUT_FILES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/inputs/input_format.h"
#include "formats/evidence_builder.h"

namespace lockstep {

inline constexpr size_t kMaxInputFiles = 200'000;

struct UnreadableInput {
  std::string path;
  std::string error;  // one line: line or byte offset, what was expected, what was found
};

struct ReadProgress {
  size_t file = 0;  // from 1
  size_t files = 0;
  uint64_t bytes = 0;  // of all files so far, as they lie on the disk
};

struct InputFiles {
  std::vector<JobInput> jobs;  // those of which anything is known
  std::vector<UnreadableInput> unreadable;
};

// `format` empty = decide for each file by its content. `paths` are files, directories or globs.
InputFiles ReadInputFiles(const std::vector<std::string>& paths, std::optional<InputFormat> format,
                          const std::function<void(const ReadProgress&)>& progress);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_INPUTS_INPUT_FILES_H_
