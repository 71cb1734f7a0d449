#include "formats/ops_csv_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "detector/model/input.h"
#include "formats/csv_cell.h"
#include "formats/file_writer.h"

namespace lockstep {
namespace {

constexpr char kHeader[] = "job,host,gpu,rank,comm,comm_rank,comm_size,seq,op,peer,bytes,enqueue_ns,start_ns,end_ns";
constexpr char kTakenHeader[] = ",taken_ns";  // only where it is known of some rank

// Position of a rank in a communicator.
using MemberRanks = absl::flat_hash_map<uint64_t, int32_t>;

uint64_t MemberKey(int32_t communicator, size_t rank_index) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(communicator)) << 32) | rank_index;
}

MemberRanks IndexMembers(const Trace& trace) {
  MemberRanks positions;
  for (size_t c = 0; c < trace.communicators.size(); ++c) {
    const std::vector<int32_t>& members = trace.communicators[c].members;
    for (size_t i = 0; i < members.size(); ++i) {
      if (members[i] < 0) continue;
      positions[MemberKey(static_cast<int32_t>(c), static_cast<size_t>(members[i]))] = static_cast<int32_t>(i);
    }
  }
  return positions;
}

void AppendTime(std::string& line, int64_t nanos) {
  line.push_back(',');
  if (nanos != kNoTime) absl::StrAppend(&line, nanos);
}

// job,host,gpu,rank: the same for all rows of a rank.
std::string RankCells(const Trace& trace, const TraceRank& rank) {
  std::string cells;
  AppendCsvCell(cells, trace.job);
  cells.push_back(',');
  if (rank.host >= 0) AppendCsvCell(cells, trace.hosts[static_cast<size_t>(rank.host)]);
  cells.push_back(',');
  if (rank.gpu >= 0) absl::StrAppend(&cells, rank.gpu);
  absl::StrAppend(&cells, ",", rank.rank, ",");
  return cells;
}

void AppendRow(const Trace& trace, const MemberRanks& positions, size_t rank_index, const TraceOperation& operation,
               std::string& line) {
  if (operation.communicator >= 0) {
    const TraceCommunicator& communicator = trace.communicators[static_cast<size_t>(operation.communicator)];
    AppendCsvCell(line, communicator.name);
    line.push_back(',');
    const auto position = positions.find(MemberKey(operation.communicator, rank_index));
    if (position != positions.end()) absl::StrAppend(&line, position->second);
    line.push_back(',');
    if (!communicator.members.empty()) absl::StrAppend(&line, communicator.members.size());
  } else {
    line.append(",,");
  }
  absl::StrAppend(&line, ",", operation.sequence, ",", Name(operation.kind), ",", operation.peer, ",");
  if (operation.bytes > 0) absl::StrAppend(&line, operation.bytes);
  AppendTime(line, operation.enqueue_ns);
  AppendTime(line, operation.start_ns);
  AppendTime(line, operation.end_ns);
}

}  // namespace

absl::Status WriteOpsCsv(const Trace& trace, absl::FunctionRef<absl::Status(absl::string_view)> append) {
  const bool tells_taken = std::any_of(trace.ranks.begin(), trace.ranks.end(),
                                       [](const TraceRank& rank) { return rank.last_seen_ns != kNoTime; });
  RETURN_IF_ERROR(append(absl::StrCat(kHeader, tells_taken ? kTakenHeader : "", "\n")));
  const MemberRanks positions = IndexMembers(trace);
  std::string line;
  for (size_t i = 0; i < trace.ranks.size(); ++i) {
    const std::string rank_cells = RankCells(trace, trace.ranks[i]);
    for (const TraceOperation& operation : trace.OperationsOf(i)) {
      line = rank_cells;
      AppendRow(trace, positions, i, operation, line);
      const bool is_last = &operation == &trace.OperationsOf(i).back();
      if (tells_taken) AppendTime(line, is_last ? trace.ranks[i].last_seen_ns : kNoTime);
      line.push_back('\n');
      RETURN_IF_ERROR(append(line));
    }
  }
  return absl::OkStatus();
}

absl::Status WriteOpsCsvFile(const Trace& trace, const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<FileWriter> file, FileWriter::Create(path));
  RETURN_IF_ERROR(WriteOpsCsv(trace, [&file](absl::string_view bytes) { return file->Append(bytes); }));
  return file->Close();
}

}  // namespace lockstep
