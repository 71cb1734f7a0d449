#include "cli/commands/train_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/testing/temporary_directory.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/testing/run_command.h"
#include "cli/whole_file.h"
#include "detector/model/metric_table.h"
#include "eval/minder/minder_model.h"
#include "formats/file_writer.h"
#include "formats/metrics_csv_writer.h"
#include "nlohmann/json.hpp"
#include "sim/counters/counter_simulation.h"
#include "sim/counters/counter_spec.h"
#include "sim/fault_spec.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

CommandResult Train(const std::map<std::string, std::string>& arguments, OutputFormat format = OutputFormat::kTable) {
  return RunCommand(MakeTrainCommand(), arguments, format);
}

class TrainTest : public ::testing::Test {
 protected:
  TrainTest() {
    CounterSpec spec;
    spec.hosts = 6;
    spec.devices_per_host = 1;
    spec.activity = {{.end_ms = 300'000}};
    const CounterFault fault{.kind = FaultKind::kHostSlow, .host = 2, .begin_ms = 150'000, .end_ms = 300'000};
    const MetricTable table = SimulateCounters(spec, {&fault, 1}, /*seed=*/4);
    const std::unique_ptr<FileWriter> file = *FileWriter::Create(Path("metrics.csv"));
    EXPECT_TRUE(WriteMetricsCsv(table, *file).ok());
    EXPECT_TRUE(file->Close().ok());
    std::ofstream(Path("labels.csv")) << "job,begin_ms,end_ms\njob-1,150000,300000\n";
  }

  std::string Path(const std::string& name) const { return directory_.path() / name; }

  std::map<std::string, std::string> Quick() const {
    return {{"PATH", Path("metrics.csv")}, {"--out", Path("a.model")}, {"--epochs", "1"}, {"--windows", "200"}};
  }

  TemporaryDirectory directory_;
};

TEST_F(TrainTest, WritesAModelAndSaysHowGoodItIs) {
  std::map<std::string, std::string> arguments = Quick();
  arguments["--labels"] = Path("labels.csv");
  const CommandResult result = Train(arguments, OutputFormat::kJson);
  ASSERT_EQ(result.exit_code, ExitCode::kOk) << result.error;
  const auto printed = nlohmann::json::parse(result.out);
  ASSERT_EQ(printed["metrics"].size(), 7u);
  EXPECT_EQ(printed["metrics"][0]["metric"], "host_cpu_busy_ratio") << "what a slow host shows in";
  const absl::StatusOr<MinderModel> model = DecodeMinderModel(*ReadWholeFileOrEmpty(Path("a.model")));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->metrics.size(), 7u);
  EXPECT_EQ(model->metrics[0].mean_squared_error, printed["metrics"][0]["mean_squared_error"].get<double>());
  EXPECT_TRUE(model->integrated.has_value());
}

TEST_F(TrainTest, SameSeedSameBytes) {
  std::map<std::string, std::string> arguments = Quick();
  arguments["--metric"] = "gpu_power_watts";
  ASSERT_EQ(Train(arguments).exit_code, ExitCode::kOk);
  arguments["--out"] = Path("b.model");
  EXPECT_THAT(Train(arguments).out, HasSubstr("gpu_power_watts"));
  arguments["--out"] = Path("c.model");
  arguments["--seed"] = "2";
  ASSERT_EQ(Train(arguments).exit_code, ExitCode::kOk);
  EXPECT_EQ(*ReadWholeFileOrEmpty(Path("a.model")), *ReadWholeFileOrEmpty(Path("b.model")));
  EXPECT_NE(*ReadWholeFileOrEmpty(Path("a.model")), *ReadWholeFileOrEmpty(Path("c.model")));
}

TEST_F(TrainTest, SaysWhyItCannot) {
  std::map<std::string, std::string> arguments = Quick();
  arguments["--metric"] = "unheard_of";
  CommandResult result = Train(arguments);
  EXPECT_EQ(result.exit_code, ExitCode::kInputUnreadable);
  EXPECT_THAT(result.error, HasSubstr("no history of unheard_of"));
  arguments = Quick();
  arguments["--epochs"] = "0";
  EXPECT_EQ(Train(arguments).exit_code, ExitCode::kUsage);
  arguments = Quick();
  arguments["--labels"] = Path("metrics.csv");
  EXPECT_EQ(Train(arguments).exit_code, ExitCode::kInputUnreadable);
  arguments = Quick();
  arguments["PATH"] = Path("absent.csv");
  EXPECT_EQ(Train(arguments).exit_code, ExitCode::kInputUnreadable);
}

}  // namespace
}  // namespace lockstep
