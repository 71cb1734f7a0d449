#include "cli/inputs/input_files.h"

#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/inputs/capture_evidence.h"
#include "cli/inputs/input_paths.h"
#include "formats/byte_source.h"
#include "formats/flight_recorder_reader.h"
#include "formats/kineto_reader.h"
#include "formats/metrics_csv_reader.h"
#include "formats/nccl_inspector_reader.h"
#include "formats/ops_csv_reader.h"
#include "formats/read_result.h"

namespace lockstep {
namespace {

constexpr size_t kQuotedBytes = 24;

struct KnownFile {
  InputPath path;
  InputFormat format;
};

absl::StatusOr<std::string> Beginning(const std::string& path) {
  // A capture hides in zstd frames and must be recognised before anything decompresses it.
  std::string raw(kSniffBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(raw.data(), static_cast<std::streamsize>(raw.size()));
  raw.resize(static_cast<size_t>(file.gcount()));
  if (SniffFormat(raw) == InputFormat::kCapture) return raw;
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source, ByteSource::Open(path));
  std::string plain(kSniffBytes, '\0');
  size_t size = 0;
  while (size < plain.size()) {
    ASSIGN_OR_RETURN(const size_t count, source->Read(plain.data() + size, plain.size() - size));
    if (count == 0) break;
    size += count;
  }
  plain.resize(size);
  return plain;
}

// What a message may repeat of a file.
std::string Quoted(const std::string& bytes) {
  return bytes.empty() ? "an empty file" : absl::StrCat("'", absl::CHexEscape(bytes.substr(0, kQuotedBytes)), "'");
}

// "rank_3.json" and "rank_12.json" are both "rank_#.json".
std::string NameWithoutNumbers(const std::string& path) {
  std::string name;
  for (const char c : path.substr(path.find_last_of('/') + 1)) {
    if (!absl::ascii_isdigit(c)) {
      name.push_back(c);
    } else if (name.empty() || name.back() != '#') {
      name.push_back('#');
    }
  }
  return name;
}

class InputReader {
 public:
  InputReader(std::optional<InputFormat> format, const std::function<void(const ReadProgress&)>& progress)
      : format_(format), progress_(progress), dumps_(builder_), inspector_(builder_) {}

  void Find(const std::vector<std::string>& arguments) {
    for (const std::string& argument : arguments) {
      const absl::StatusOr<std::vector<InputPath>> paths = ExpandPath(argument, kMaxInputFiles - files_.size());
      if (!paths.ok()) {
        Fail(argument, paths.status());
        continue;
      }
      const size_t before = files_.size() + files_failed_;
      const size_t first = files_.size();
      empty_.clear();
      for (const InputPath& path : *paths) Recognise(path);
      FailEmpty(first);
      if (files_.size() + files_failed_ == before) {
        Fail(argument, absl::DataLossError(absl::StrCat("expected files of a known format (", InputFormatNames(),
                                                        "), found none among ", paths->size())));
      }
    }
  }

  InputFiles Finish() {
    for (const InputFormat format : {InputFormat::kOpsCsv, InputFormat::kMetricsCsv, InputFormat::kCapture}) {
      ReadAll(format);
    }
    const std::vector<std::string> named = builder_.JobNames();
    if (named.size() == 1) only_job_ = named[0];
    for (const InputFormat format : {InputFormat::kKineto, InputFormat::kFlightRecorder, InputFormat::kNcclInspector}) {
      ReadAll(format);
    }
    dumps_.Finish();
    inspector_.Finish();
    for (JobInput& job : builder_.Finish()) {
      const JobEvidence& evidence = job.evidence;
      const bool empty = evidence.trace.ranks.empty() && evidence.metrics.series.empty() && evidence.events.empty();
      if (!empty) found_.jobs.push_back(std::move(job));
    }
    return std::move(found_);
  }

 private:
  void Fail(const std::string& path, const absl::Status& status) {
    ++files_failed_;
    found_.unreadable.push_back({path, std::string(status.message())});
  }

  void Recognise(const InputPath& path) {
    if (format_.has_value()) {
      files_.push_back({path, *format_});
      return;
    }
    const absl::StatusOr<std::string> beginning = Beginning(path.path);
    if (!beginning.ok()) {
      Fail(path.path, beginning.status());
      return;
    }
    const std::optional<InputFormat> sniffed = SniffFormat(*beginning);
    if (sniffed.has_value()) {
      files_.push_back({path, *sniffed});
    } else if (!path.was_named && beginning->empty()) {
      empty_.push_back(path.path);
    } else if (path.was_named) {
      Fail(path.path, absl::DataLossError(absl::StrCat("byte 0: expected a known format (", InputFormatNames(),
                                                       "), found ", Quoted(*beginning))));
    }
  }

  // Of the empty files of a folder those that are called like a file of it, from `first` on, whose format is known:
  // they ought to hold records. Others are nobody's business.
  void FailEmpty(size_t first) {
    std::set<std::string> kinds;
    for (size_t i = first; i < files_.size(); ++i) kinds.insert(NameWithoutNumbers(files_[i].path.path));
    for (const std::string& path : empty_) {
      if (kinds.count(NameWithoutNumbers(path)) != 0) {
        Fail(path, absl::DataLossError("expected records, found an empty file"));
      }
    }
  }

  void ReadAll(InputFormat format) {
    for (const KnownFile& file : files_) {
      if (file.format != format) continue;
      ++progress_now_.file;
      progress_now_.files = files_.size();
      const uint64_t before = progress_now_.bytes;
      const ReadResult result = Read(file, [&](uint64_t file_bytes) {
        progress_now_.bytes = before + file_bytes;
        progress_(progress_now_);
      });
      if (!result.status.ok()) Fail(file.path.path, Explained(result));
    }
  }

  static absl::Status Explained(const ReadResult& result) {
    if (result.malformed < 2) return result.status;
    return absl::DataLossError(
        absl::StrCat(result.status.message(), " (", result.malformed, " such, ", result.records, " records taken)"));
  }

  ReadResult Read(const KnownFile& file, std::function<void(uint64_t)> progress) {
    const std::string& path = file.path.path;
    if (file.format == InputFormat::kCapture) {
      std::ifstream bytes(path, std::ios::binary);
      return ReadCaptureEvidence("capture", bytes, builder_);
    }
    absl::StatusOr<std::unique_ptr<ByteSource>> source = ByteSource::Open(path);
    if (!source.ok()) return {source.status()};
    (*source)->ReportProgress(std::move(progress));
    const std::string& job = only_job_.has_value() ? *only_job_ : file.path.origin;
    switch (file.format) {
      case InputFormat::kOpsCsv:
        return ReadOpsCsv(**source, job, builder_);
      case InputFormat::kMetricsCsv:
        return ReadMetricsCsv(**source, job, builder_);
      case InputFormat::kKineto:
        return ReadKineto(path, **source, builder_.Job(job), builder_);
      case InputFormat::kFlightRecorder:
        return dumps_.Read(path, **source, builder_.Job(job));
      case InputFormat::kNcclInspector:
        return inspector_.Read(**source, builder_.Job(job));
      case InputFormat::kCapture:
        break;
    }
    return {};
  }

  const std::optional<InputFormat> format_;
  const std::function<void(const ReadProgress&)>& progress_;
  EvidenceBuilder builder_;
  FlightRecorderReader dumps_;
  NcclInspectorReader inspector_;
  std::vector<KnownFile> files_;
  std::vector<std::string> empty_;  // of the folder that is looked through
  size_t files_failed_ = 0;
  std::optional<std::string> only_job_;
  ReadProgress progress_now_;
  InputFiles found_;
};

}  // namespace

InputFiles ReadInputFiles(const std::vector<std::string>& paths, std::optional<InputFormat> format,
                          const std::function<void(const ReadProgress&)>& progress) {
  InputReader reader(format, progress);
  reader.Find(paths);
  return reader.Finish();
}

}  // namespace lockstep
