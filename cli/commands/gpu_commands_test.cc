// GPUs by all of their names, as `history` takes and shows them and `hosts gpus` lists them: of a host on which a GPU
// has fallen off the bus, so that the one behind it has its index now.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/testing/sim_clock.h"
#include "cli/command.h"
#include "cli/commands/history_command.h"
#include "cli/commands/hosts_command.h"
#include "cli/exit_code.h"
#include "cli/testing/fake_query_server.h"
#include "cli/testing/run_command.h"
#include "nlohmann/json.hpp"
#include "proto/query.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr int64_t kNow = SimClock::kStartWallNanos;  // 2026-01-02 03:04:05 UTC
constexpr int64_t kChanged = kNow - 20 * kNanosPerSecond;

class GpuCommandsTest : public testing::Test {
 protected:
  GpuCommandsTest() {
    answers_.status.set_now_wall_ns(kNow);
    answers_.on_history = [this](const wire::GetHistoryRequest& request) { hosts_asked_.push_back(request.host()); };
    AddGpu("node-1", 3, "GPU-A", "0000:3b:00.0", 0, kChanged);
    AddGpu("node-1", 3, "GPU-B", "0000:5e:00.0", kChanged, 0);
    wire::GpuRank& on_it = *answers_.gpus.mutable_gpus()->rbegin()->add_ranks();
    on_it.set_job("train");
    on_it.set_rank(17);
    AddGpu("node-1", 4, "GPU-B", "0000:5e:00.0", 0, kChanged);
    AddGpu("node-2", 3, "GPU-C", "0000:3b:00.0", 0, 0);
    AddSeries("node-1", "gpu3", {31, 32, 33, 34});
    AddSeries("node-1", "gpu4", {41, 42});
    AddSeries("node-2", "gpu3", {231, 232, 233, 234});
    AddSeries("node-2", "gpu3/mig1", {7});
    answers_.job = "train";
    AddRank(17, "node-1", "GPU-B");
    AddRank(18, "node-2", "MIG-1");
    answers_.ranks.add_ranks()->set_rank(19);
    answers_.ranks.mutable_ranks()->rbegin()->set_gpu(-1);
  }

  void AddGpu(const std::string& host, int32_t index, const std::string& uuid, const std::string& address,
              int64_t from_wall_ns, int64_t to_wall_ns) {
    wire::Gpu& gpu = *answers_.gpus.add_gpus();
    gpu.set_host(host);
    gpu.set_index(index);
    gpu.set_uuid(uuid);
    gpu.set_pci_address(address);
    gpu.set_from_wall_ns(from_wall_ns);
    gpu.set_to_wall_ns(to_wall_ns);
  }

  // One value every ten seconds, the first 35 s ago.
  void AddSeries(const std::string& host, const std::string& device, const std::vector<double>& values) {
    wire::Series& series = *answers_.history.add_series();
    series.set_metric("gpu_power_watts");
    series.set_host(host);
    series.set_device(device);
    for (size_t i = 0; i < values.size(); ++i) {
      series.add_wall_ns(kNow - (35 - 10 * static_cast<int64_t>(i)) * kNanosPerSecond);
      series.add_values(values[i]);
    }
  }

  void AddRank(int32_t number, const std::string& host, const std::string& uuid) {
    wire::Rank& rank = *answers_.ranks.add_ranks();
    rank.set_rank(number);
    rank.set_host(host);
    rank.set_gpu(3);
    rank.set_gpu_uuid(uuid);
  }

  CommandResult History(const std::string& labels, OutputFormat format = OutputFormat::kTable) {
    const FakeQueryServer server(answers_);
    hosts_asked_.clear();
    const std::string query = absl::StrCat("gpu_power_watts{", labels, "}");
    return RunCommand(MakeHistoryCommand(), {{"QUERY", query}, {"--since", "40s"}}, format, server.address());
  }

  // "HOST/DEVICE VALUES; UUIDS" of each series.
  std::vector<std::string> Rows(const std::string& labels) {
    const CommandResult result = History(labels, OutputFormat::kJson);
    EXPECT_EQ(result.exit_code, ExitCode::kOk) << result.error;
    std::vector<std::string> rows;
    const nlohmann::json answer = nlohmann::json::parse(result.out);
    for (const auto& series : answer["series"]) {
      std::string& row =
          rows.emplace_back(absl::StrCat(series["host"].get<std::string>(), "/", series["device"].get<std::string>()));
      for (const auto& point : series["points"]) absl::StrAppend(&row, " ", point[1].get<double>());
      absl::StrAppend(&row, ";");
      for (const auto& gpu : series["gpus"]) absl::StrAppend(&row, " ", gpu["uuid"].get<std::string>());
    }
    return rows;
  }

  FakeQueryServer::Answers answers_;
  std::vector<std::string> hosts_asked_;
};

TEST_F(GpuCommandsTest, HistoryTakesAGpuByAnyOfItsNames) {
  const auto moved = ElementsAre("node-1/gpu3 33 34; GPU-B", "node-1/gpu4 41 42; GPU-B");
  EXPECT_THAT(Rows(R"(gpu="GPU-B")"), moved) << "under the index that it had when";
  EXPECT_THAT(Rows(R"(gpu="0000:5e:00.0")"), moved);
  EXPECT_THAT(Rows(R"(gpu="00000000:5E:00.0")"), moved) << "as nvidia-smi writes it";
  EXPECT_THAT(hosts_asked_, ElementsAre("node-1"));
  EXPECT_THAT(Rows(R"(gpu="gpu3")"),
              UnorderedElementsAre("node-1/gpu3 31 32 33 34; GPU-A GPU-B", "node-2/gpu3 231 232 233 234; GPU-C",
                                   "node-2/gpu3/mig1 7; GPU-C"));
  EXPECT_THAT(Rows(R"(gpu="3",host="node-2",device!~"*mig*")"), ElementsAre("node-2/gpu3 231 232 233 234; GPU-C"));
  EXPECT_THAT(hosts_asked_, ElementsAre("node-2"));
  EXPECT_THAT(
      Rows(R"(gpu="0000:3b:00.0")"),
      ElementsAre("node-1/gpu3 31 32; GPU-A", "node-2/gpu3 231 232 233 234; GPU-C", "node-2/gpu3/mig1 7; GPU-C"));
}

TEST_F(GpuCommandsTest, HistoryTakesTheGpuOfARank) {
  EXPECT_THAT(Rows(R"(job="train",rank="17")"), ElementsAre("node-1/gpu3 33 34; GPU-B", "node-1/gpu4 41 42; GPU-B"));
  EXPECT_THAT(hosts_asked_, ElementsAre("node-1"));
  EXPECT_THAT(Rows(R"(job="train",rank="18")"),
              ElementsAre("node-2/gpu3 231 232 233 234; GPU-C", "node-2/gpu3/mig1 7; GPU-C"))
      << "of an instance the whole GPU";
  EXPECT_THAT(Rows(R"(job="train")").size(), 4);
}

TEST_F(GpuCommandsTest, WhatTheCollectorDoesNotKnowIsNotFound) {
  for (const char* labels : {R"(gpu="GPU-X")", R"(gpu="GPU-B",host="node-2")", R"(job="other",rank="17")",
                             R"(job="train",rank="99")", R"(job="train",rank="19")"}) {
    const CommandResult result = History(labels);
    EXPECT_EQ(result.exit_code, ExitCode::kNotFound) << labels;
    EXPECT_NE(result.error, "") << labels;
  }
  EXPECT_THAT(History(R"(job="train",rank="19")").error, HasSubstr("the collector knows no GPU of rank 19 of job"));
}

TEST_F(GpuCommandsTest, AnIndexThatHasBecomeAnotherGpuIsSaidWithItsTime) {
  EXPECT_EQ(
      History(R"(host="node-1",gpu="gpu3")").out,
      "HOST    DEVICE  STEPS  MIN  MEAN  MAX  LAST  CURVE\n"
      "node-1  gpu3        4   31  32.5   34    34   ▁▃▆█\n"
      "\n"
      "HOST    GPU   UUID   PCI ADDRESS   FROM                     UNTIL                    RANKS\n"
      "node-1  gpu3  GPU-A  0000:3b:00.0  -                        2026-01-02 03:03:45 UTC  -\n"
      "node-1  gpu3  GPU-B  0000:5e:00.0  2026-01-02 03:03:45 UTC  -                        17 of train\n"
      "gpu3 of node-1 has been another GPU since 2026-01-02 03:03:45 UTC: what is older is of GPU-A (0000:3b:00.0)\n");
  EXPECT_THAT(History(R"(gpu="GPU-B")").out, testing::Not(HasSubstr("another GPU")));
  EXPECT_EQ(History(R"(host="node-2",device="gpu3")").out,
            "HOST    DEVICE  STEPS  MIN   MEAN  MAX  LAST  CURVE\n"
            "node-2  gpu3        4  231  232.5  234   234   ▁▃▆█\n"
            "\n"
            "HOST    GPU   UUID   PCI ADDRESS   RANKS\n"
            "node-2  gpu3  GPU-C  0000:3b:00.0  -\n");
}

TEST_F(GpuCommandsTest, AChangeBeforeTheTimeThatIsAskedForIsNotPartOfIt) {
  const FakeQueryServer server(answers_);
  const CommandResult result =
      RunCommand(MakeHistoryCommand(), {{"QUERY", R"(gpu_power_watts{host="node-1",gpu="gpu3"})"}, {"--since", "15s"}},
                 OutputFormat::kTable, server.address());
  EXPECT_THAT(result.out, HasSubstr("GPU-B"));
  EXPECT_THAT(result.out, testing::Not(HasSubstr("GPU-A")));
}

TEST_F(GpuCommandsTest, HostsListsGpus) {
  const FakeQueryServer server(answers_);
  const CommandResult result =
      RunCommand(MakeHostsCommand(), {{"ACTION", "gpus"}, {"HOST", "node-2"}}, OutputFormat::kTable, server.address());
  EXPECT_EQ(result.out,
            "HOST    GPU   UUID   PCI ADDRESS   RANKS\n"
            "node-2  gpu3  GPU-C  0000:3b:00.0  -\n");
  const CommandResult json =
      RunCommand(MakeHostsCommand(), {{"ACTION", "gpus"}}, OutputFormat::kJson, server.address());
  EXPECT_EQ(nlohmann::json::parse(json.out)["gpus"].size(), 4);
  EXPECT_EQ(nlohmann::json::parse(json.out)["gpus"][1]["ranks"][0]["rank"], 17);
}

}  // namespace
}  // namespace lockstep
