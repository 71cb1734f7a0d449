#include "cli/commands/train_command.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "cli/inputs/input_files.h"
#include "cli/render/json.h"
#include "cli/render/text_table.h"
#include "detector/model/metric_table.h"
#include "detector/verdict/counter_reasons.h"
#include "eval/minder/metric_grid.h"
#include "eval/minder/minder_model.h"
#include "eval/minder/minder_training.h"
#include "formats/byte_source.h"
#include "formats/evidence_builder.h"
#include "formats/fault_labels_reader.h"
#include "formats/file_writer.h"
#include "formats/read_result.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

constexpr int64_t kTickMs = 1000;
constexpr uint32_t kMostEpochs = 10'000;
constexpr uint32_t kMostWindows = 1'000'000;

// Only what is trained on needs a raster.
MetricGrid GridOf(MetricTable& table, const std::vector<std::string>& metrics) {
  std::erase_if(table.series, [&](const MetricSeries& series) {
    return std::find(metrics.begin(), metrics.end(), series.name) == metrics.end();
  });
  return BuildGrid(table, {.tick_ms = kTickMs});
}

class TrainCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {{"PATH", "metrics-csv files, captures, directories or globs: jobs that were mostly well", &paths_,
             /*required=*/true},
            {"--out", "file of the model", &out_, /*required=*/true},
            {"--labels", "CSV with job,begin_ms,end_ms of known faults: orders the metrics", &labels_},
            {"--metric", "train on this metric; default: the seven of the paper, as far as there are any", &metrics_},
            {"--seed", "equal seeds and inputs give equal bytes", &seed_},
            {"--epochs", "passes over the windows", &epochs_},
            {"--windows", "windows drawn per metric", &windows_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    RETURN_IF_ERROR(CheckArguments());
    ASSIGN_OR_RETURN(const std::vector<FaultLabel> labels, ReadLabels());
    InputFiles inputs = ReadInputFiles(paths_, std::nullopt, [](const ReadProgress&) {});
    for (const UnreadableInput& input : inputs.unreadable) {
      context.err << "lockstep: " << Printable(input.path) << ": " << Printable(input.error) << "\n";
    }
    const MinderModel model = Train(context, inputs.jobs, labels);
    if (model.metrics.empty()) {
      return absl::DataLossError(absl::StrCat("nothing to learn from: no history of ", Wanted().front(),
                                              Wanted().size() > 1 ? " or the other metrics" : "", " that varies"));
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<FileWriter> file, FileWriter::Create(out_));
    RETURN_IF_ERROR(file->Append(EncodeMinderModel(model)));
    RETURN_IF_ERROR(file->Close());
    Print(context, model);
    return inputs.unreadable.empty() ? ExitCode::kOk : ExitCode::kInputUnreadable;
  }

 private:
  absl::Status CheckArguments() const {
    if (epochs_ < 1 || epochs_ > kMostEpochs) {
      return absl::InvalidArgumentError(absl::StrCat("--epochs is 1 to ", kMostEpochs));
    }
    if (windows_ < 1 || windows_ > kMostWindows) {
      return absl::InvalidArgumentError(absl::StrCat("--windows is 1 to ", kMostWindows));
    }
    if (metrics_.size() > kMaxMinderMetrics) {
      return absl::InvalidArgumentError(absl::StrCat("at most ", kMaxMinderMetrics, " times --metric"));
    }
    std::set<std::string> names;
    for (const std::string& name : metrics_) {
      if (name.empty() || name.size() > kMaxMinderNameBytes || !names.insert(name).second) {
        return absl::InvalidArgumentError(absl::StrCat("--metric: '", name, "' is empty, too long or there twice"));
      }
    }
    return absl::OkStatus();
  }

  std::vector<std::string> Wanted() const {
    if (!metrics_.empty()) return metrics_;
    return {std::begin(kPublishedMinderMetrics), std::end(kPublishedMinderMetrics)};
  }

  absl::StatusOr<std::vector<FaultLabel>> ReadLabels() const {
    std::vector<FaultLabel> labels;
    if (labels_.empty()) return labels;
    ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source, ByteSource::Open(labels_));
    const ReadResult result = ReadFaultLabels(*source, labels);
    if (!result.status.ok()) {
      return absl::DataLossError(absl::StrCat(labels_, ": ", result.status.message()));
    }
    return labels;
  }

  MinderModel Train(CommandContext& context, std::vector<JobInput>& jobs, const std::vector<FaultLabel>& labels) const {
    const std::vector<std::string> metrics = Wanted();
    std::vector<MetricGrid> grids;
    std::vector<MinderHistory> histories;
    grids.reserve(jobs.size());
    for (JobInput& job : jobs) {
      MetricTable& table = job.evidence.metrics;
      grids.push_back(GridOf(table, metrics));
      const std::string losses = Sentence(LeftOut(grids.back().losses, table.hosts));
      if (!losses.empty())
        context.err << "lockstep: " << Printable(job.evidence.job) << ": " << Printable(losses) << "\n";
      MinderHistory history{.grid = &grids.back()};
      for (const FaultLabel& label : labels) {
        if (label.job == job.evidence.job) history.faults.push_back({label.begin_ms, label.end_ms});
      }
      histories.push_back(std::move(history));
      job.evidence = {};
    }
    MinderTrainingOptions options;
    options.network.seed = seed_;
    options.network.epochs = static_cast<int>(epochs_);
    options.max_windows = windows_;
    return TrainMinder(histories, metrics, options);
  }

  static void Print(CommandContext& context, const MinderModel& model) {
    TextTable table({{"PRIORITY", TextTable::Align::kRight}, {"MSE", TextTable::Align::kRight}, {"METRIC"}});
    nlohmann::ordered_json metrics = nlohmann::ordered_json::array();
    for (size_t i = 0; i < model.metrics.size(); ++i) {
      const MinderMetric& metric = model.metrics[i];
      table.AddRow({absl::StrCat(i + 1), absl::StrFormat("%.2e", metric.mean_squared_error), metric.name});
      metrics.push_back({{"metric", metric.name}, {"mean_squared_error", metric.mean_squared_error}});
    }
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText({{"metrics", metrics}}, /*indented=*/true) << "\n";
    } else {
      context.out << table.Render(context.width);
    }
  }

  std::vector<std::string> paths_;
  std::string out_;
  std::string labels_;
  std::vector<std::string> metrics_;
  uint64_t seed_ = 1;
  uint32_t epochs_ = 15;
  uint32_t windows_ = 16'384;
};

}  // namespace

std::unique_ptr<Command> MakeTrainCommand() { return std::make_unique<TrainCommand>(); }

}  // namespace lockstep
