// Reads the output of NCCL's Inspector plugin: JSON objects one after the other, of one process or of many.
//
// A record names its communicator, its rank there, the host and the process, but not the rank in the job. That is taken
// to be the rank in the largest communicator of the process; where this gives two processes of a job one number, all of
// its processes are numbered by host and process id instead, and a note says so. It takes all files, so that records
// wait until Finish.
// Numbers count each function of a communicator for itself; function_counts.h makes one count of them.
// The newest dump of a process is the moment at which its rank was last looked at: what has no end by then was in
// flight, and what it has no record of had not happened.
//
// Memory: about 150 bytes per record, up to kMaxInspectorRecords; one object of the file. Not thread-safe.

#ifndef LOCKSTEP_FORMATS_NCCL_INSPECTOR_READER_H_
#define LOCKSTEP_FORMATS_NCCL_INSPECTOR_READER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "detector/model/trace.h"
#include "formats/byte_source.h"
#include "formats/evidence_builder.h"
#include "formats/name_table.h"
#include "formats/plain_document.h"
#include "formats/read_result.h"

namespace lockstep {

inline constexpr size_t kMaxInspectorRecords = size_t{32} << 20;
inline constexpr size_t kMaxInspectorCommunicators = size_t{1} << 20;

class NcclInspectorReader {
 public:
  // `builder` is borrowed.
  explicit NcclInspectorReader(EvidenceBuilder& builder)
      : builder_(builder), communicators_(kMaxInspectorCommunicators) {}

  ReadResult Read(ByteSource& source, JobIndex job);

  // Call once, after the last file.
  void Finish();

 private:
  struct Record {
    JobIndex job;
    int32_t process;  // position in processes_
    int32_t communicator_rank;
    int32_t communicator_size;
    TraceOperation operation;  // communicator: number in communicators_
  };
  struct Process {
    JobIndex job = -1;
    std::string host;
    int32_t pid = 0;
    int32_t largest_size = -1;
    int32_t rank_in_largest = -1;
    int64_t dumped_ns = kNoTime;  // the newest dump
  };

  bool Take(const PlainDocument& document, JobIndex job);
  int32_t ProcessOf(JobIndex job, const std::string& host, int32_t pid);
  std::vector<int32_t> NumberRanks() const;
  void DropEnded();
  void NumberCalls();

  EvidenceBuilder& builder_;
  NameTable communicators_;
  std::vector<Process> processes_;
  std::map<std::tuple<JobIndex, std::string, int32_t>, int32_t> process_by_identity_;
  std::vector<Record> records_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_NCCL_INSPECTOR_READER_H_
