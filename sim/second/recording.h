// What the recorders of an episode's hosts wrote down: rows as ops-csv has them, on clocks that differ, with what got
// lost left out.
//
// Pure functions and values; thread-compatible.

#ifndef LOCKSTEP_SIM_SECOND_RECORDING_H_
#define LOCKSTEP_SIM_SECOND_RECORDING_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "detector/model/job_evidence.h"
#include "formats/file_writer.h"
#include "formats/trace_collection.h"
#include "sim/second/layout.h"
#include "sim/second/player.h"
#include "sim/second/world.h"

namespace lockstep::second {

inline constexpr char kJobName[] = "train-second";

// Host and communicator of a row are numbers; -1 or kNoTime stands for an empty cell, 0 bytes too.
struct Row {
  int host = -1;
  int group = -1;
  OperationRow cells;  // without the names
};

struct Recording {
  std::vector<std::string> host_names;  // by host, in no order
  std::vector<std::string> group_names;
  std::vector<Row> rows;
};

// Hosts that leave no records, that began late, and that do not know when operations began. By number, rising.
std::vector<int> SilentHosts(const World& world);
std::vector<int> LateHosts(const World& world);
std::vector<int> HostsWithoutBegins(const World& world);

std::vector<std::string> HostNames(const World& world);

Recording Record(const World& world, const Layout& layout, const Playback& playback);

// The same as a reader of the file would hand over.
JobEvidence EvidenceOf(const Recording& recording);

// ops-csv; columns in an order of their own where rows are shuffled. The caller closes `file`.
absl::Status WriteRows(const Recording& recording, const World& world, FileWriter& file);

}  // namespace lockstep::second

#endif  // LOCKSTEP_SIM_SECOND_RECORDING_H_
