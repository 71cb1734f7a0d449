#include "agent/sources/nvml/nvml_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "agent/gpu_names.h"
#include "agent/kernel_xids.h"
#include "agent/metric_block.h"
#include "agent/source_runner.h"
#include "agent/sources/nvml/gpu_events.h"
#include "agent/sources/nvml/gpu_inventory.h"
#include "agent/sources/nvml/nvml_api.h"
#include "agent/sources/nvml/nvml_library.h"
#include "agent/sources/nvml/nvml_readers.h"
#include "agent/testing/report_view.h"
#include "base/clock.h"
#include "base/metric_catalog.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

std::string FakeLibrary() { return std::filesystem::absolute("agent/sources/nvml/testing/libnvidia-ml-fake.so"); }

class NvmlSourceTest : public ::testing::Test {
 protected:
  NvmlSourceTest() : source_(FakeLibrary(), names_, kernel_xids_) { Script(""); }

  void Script(const std::string& text) { setenv("LOCKSTEP_FAKE_NVML", directory_.Write("script", text).c_str(), 1); }

  wire::AgentReport Collect(int64_t second = 0) {
    wire::AgentReport report;
    last_ = source_.Collect(Tick{.monotonic_ns = second * kNanosPerSecond}, report);
    return report;
  }

  // Of a process on whichever GPU lists it.
  wire::ProcessReport Named(int32_t pid) const {
    wire::AgentReport report;
    report.add_processes()->set_pid(pid);
    report.mutable_processes(0)->set_gpu_index(-1);
    names_->Apply(report);
    return report.processes(0);
  }

  TemporaryDirectory directory_;
  const std::shared_ptr<GpuNames> names_ = std::make_shared<GpuNames>();
  const std::shared_ptr<KernelXids> kernel_xids_ = std::make_shared<KernelXids>();
  NvmlSource source_;
  absl::Status last_;
};

TEST_F(NvmlSourceTest, TellsWhichProcessesAreOnWhichGpu) {
  Collect();
  EXPECT_EQ(Named(101).gpu_index(), 1);
  EXPECT_EQ(Named(101).gpu_uuid(), "GPU-00000000-0000-0000-0000-000000000001");
  EXPECT_EQ(Named(101).gpu_pci_address(), "0000:3c:00.0");
  EXPECT_EQ(Named(99).gpu_index(), -1) << "it is on both";
  EXPECT_EQ(names_->UuidOfMinor(11), "GPU-00000000-0000-0000-0000-000000000001");
  Script("unsupported nvmlDeviceGetComputeRunningProcesses_v3\n");
  Collect(10);
  EXPECT_EQ(Named(101).gpu_index(), -1);
}

TEST_F(NvmlSourceTest, ReadsEveryMetricInOurUnits) {
  const struct {
    Metric metric;
    double value;
  } kExpected[] = {
      {Metric::kGpuUtilizationRatio, 0.97},
      {Metric::kGpuMemoryUtilizationRatio, 0.40},
      {Metric::kGpuMemoryUsedBytes, 600},
      {Metric::kGpuMemoryTotalBytes, 1000},
      {Metric::kGpuTemperatureCelsius, 60},
      {Metric::kGpuMemoryTemperatureCelsius, 88},
      {Metric::kGpuPowerWatts, 650.5},
      {Metric::kGpuPowerLimitWatts, 700},
      {Metric::kGpuSmClockHertz, 1.98e9},
      {Metric::kGpuMemoryClockHertz, 2.619e9},
      {Metric::kGpuClockEventReasons, 0x44},
      {Metric::kGpuPcieLinkGeneration, 4},
      {Metric::kGpuPcieLinkWidth, 8},
      {Metric::kGpuPcieLinkGenerationMax, 5},
      {Metric::kGpuPcieLinkWidthMax, 16},
      {Metric::kGpuPcieReplaysTotal, 3},
      {Metric::kGpuPcieReceiveBytesPerSecond, 20'000},
      {Metric::kGpuPcieTransmitBytesPerSecond, 10'000},
      {Metric::kGpuEccCorrectedTotal, 5},
      {Metric::kGpuEccUncorrectedTotal, 1},
      {Metric::kGpuRemappedRowsCorrected, 1},
      {Metric::kGpuRemappedRowsUncorrected, 2},
      {Metric::kGpuRowRemapPending, 1},
      {Metric::kGpuRowRemapFailure, 0},
      {Metric::kGpuEnergyJoulesTotal, 123.456},
      {Metric::kGpuNvlinkCrcErrorsTotal, 20},
      {Metric::kGpuNvlinkReplayErrorsTotal, 10},
      {Metric::kGpuNvlinkRecoveryErrorsTotal, 10},
      {Metric::kGpuNvlinkActiveLinks, 3},
      {Metric::kGpuNvlinkReceiveBytesTotal, 5 * 1024},
      {Metric::kGpuNvlinkTransmitBytesTotal, 3 * 1024},
      {Metric::kGpuPowerViolationSecondsTotal, 1.5},
      {Metric::kGpuThermalViolationSecondsTotal, 2.5},
      {Metric::kGpuSyncBoostViolationSecondsTotal, 3.5},
      {Metric::kGpuBoardLimitViolationSecondsTotal, 4.5},
      {Metric::kGpuReliabilityViolationSecondsTotal, 5.5},
      {Metric::kGpuFabricState, 3},
      {Metric::kGpuFabricFailure, 0},
      {Metric::kGpuFabricDegraded, 0},
      {Metric::kGpuMigInstances, 0},
      {Metric::kGpuProcesses, 2},
  };
  Script("fabric done\n");
  const wire::AgentReport report = Collect();
  ASSERT_OK(last_);
  EXPECT_THAT(DevicesOf(report), ElementsAre("gpu0", "gpu1"));
  for (const auto& expected : kExpected) {
    EXPECT_THAT(ValueOf(report, "gpu0", expected.metric), Optional(DoubleNear(expected.value, 1e-6)))
        << FindMetric(expected.metric)->name;
  }
  int metrics = 0;
  for (const wire::MetricBlock& block : report.metrics())
    metrics += block.device() == "gpu0" ? block.metrics_size() : 0;
  EXPECT_EQ(metrics, static_cast<int>(std::size(kExpected)));
  EXPECT_EQ(ValueOf(report, "gpu1", Metric::kGpuTemperatureCelsius), 61);
}

TEST_F(NvmlSourceTest, KnowsItsGpus) {
  Collect();
  ASSERT_EQ(source_.gpus().size(), 2u);
  EXPECT_EQ(source_.gpus()[1].index, 1u);
  EXPECT_EQ(source_.gpus()[1].uuid, "GPU-00000000-0000-0000-0000-000000000001");
  EXPECT_EQ(source_.gpus()[1].pci_address, "0000:3c:00.0");
}

TEST_F(NvmlSourceTest, TheGpusThatCanBeOpenedArePartsByTheirAddresses) {
  Collect();
  EXPECT_THAT(source_.parts(), ElementsAre("0000:3b:00.0", "0000:3c:00.0"));
}

TEST_F(NvmlSourceTest, WhatIsNotSupportedCostsOnlyItself) {
  Script("unsupported nvmlDeviceGetTotalEccErrors\nunsupported nvmlDeviceGetFieldValues\n");
  const wire::AgentReport report = Collect();
  EXPECT_OK(last_);
  EXPECT_FALSE(ValueOf(report, "gpu0", Metric::kGpuEccCorrectedTotal).has_value());
  EXPECT_FALSE(ValueOf(report, "gpu0", Metric::kGpuMemoryTemperatureCelsius).has_value());
  EXPECT_EQ(ValueOf(report, "gpu0", Metric::kGpuPowerWatts), 650.5);
}

TEST_F(NvmlSourceTest, ALostGpuIsNamedAndTheOthersAreRead) {
  Collect(0);
  Script("lost 1\n");
  const wire::AgentReport report = Collect(1);
  EXPECT_THAT(last_, StatusIs(absl::StatusCode::kUnavailable, "gpu1 (0000:3c:00.0) is lost: GPU is lost"));
  EXPECT_THAT(DevicesOf(report), ElementsAre("gpu0"));
}

TEST_F(NvmlSourceTest, ALostGpuIsAnEventAtOnceAndAgainEveryMinute) {
  Collect(0);
  Script("lost 1\n");
  const wire::AgentReport report = Collect(1);
  ASSERT_EQ(report.kernel_events_size(), 1);
  const wire::KernelEvent& event = report.kernel_events(0);
  EXPECT_EQ(event.kind(), wire::KernelEvent::KIND_NVML);
  EXPECT_EQ(event.code(), 15);
  EXPECT_EQ(event.device(), "0000:3c:00.0") << "as the kernel names it";
  EXPECT_EQ(event.text(), "NVML: gpu1 (0000:3c:00.0) is lost: GPU is lost");
  EXPECT_EQ(event.monotonic_ns(), kNanosPerSecond);
  for (int second = 2; second <= 60; ++second) EXPECT_EQ(Collect(second).kernel_events_size(), 0) << second;
  EXPECT_EQ(Collect(61).kernel_events_size(), 1);
  Script("");
  EXPECT_EQ(Collect(62).kernel_events_size(), 0);
  Script("lost 1\n");
  EXPECT_EQ(Collect(63).kernel_events_size(), 1) << "lost once more";
}

TEST_F(NvmlSourceTest, AnXidIsAnEventOneTickAfterNvmlTellsOfIt) {
  Collect(0);
  Script("xid 1:79\nxid 1:79\nxid 0:13\n");
  EXPECT_EQ(Collect(1).kernel_events_size(), 0) << "the kernel log may tell of it, and more";
  const wire::AgentReport report = Collect(2);
  ASSERT_EQ(report.kernel_events_size(), 2);
  const wire::KernelEvent& event = report.kernel_events(0);
  EXPECT_EQ(event.kind(), wire::KernelEvent::KIND_XID);
  EXPECT_EQ(event.code(), 79);
  EXPECT_EQ(event.device(), "0000:3c:00.0");
  EXPECT_EQ(event.text(), "NVML: gpu1 (0000:3c:00.0) Xid 79");
  EXPECT_EQ(event.monotonic_ns(), kNanosPerSecond) << "when NVML told of it";
  EXPECT_EQ(event.repeated(), 1u);
  EXPECT_EQ(report.kernel_events(1).code(), 13);
  EXPECT_EQ(Collect(3).kernel_events_size(), 0);
}

TEST_F(NvmlSourceTest, WhatTheKernelLogTellsAsWellIsOneEvent) {
  Collect(0);
  Script("xid 1:79\nxid 1:31\nxid 0:79\n");
  Collect(1);
  kernel_xids_->Note("0000:3c:00.0", 79, kNanosPerSecond + 1);  // read in the next tick, before NVML is asked
  const wire::AgentReport report = Collect(2);
  ASSERT_EQ(report.kernel_events_size(), 2);
  EXPECT_EQ(report.kernel_events(0).code(), 31) << "another Xid";
  EXPECT_EQ(report.kernel_events(1).device(), "0000:3b:00.0") << "another GPU";
  Collect(59);
  Script("xid 1:79\nxid 1:31\nxid 0:79\nxid 1:79\n");
  Collect(60);
  EXPECT_EQ(Collect(61).kernel_events_size(), 1) << "a minute later it is another fault";
}

TEST_F(NvmlSourceTest, AFaultIsOneEventAlsoWhereTheDriverHungMeanwhile) {
  Collect(0);
  kernel_xids_->Note("0000:3c:00.0", 79, 5 * kNanosPerSecond);
  Script("xid 1:79\n");
  Collect(100);
  EXPECT_EQ(Collect(101).kernel_events_size(), 0) << "nobody could ask between 0 and 100 s";
}

TEST_F(NvmlSourceTest, ADoubleBitErrorIsTheXidThatTheDriverLogsForIt) {
  Collect(0);
  Script("ecc 0\nxid 0:48\n");
  Collect(1);
  const wire::AgentReport report = Collect(2);
  ASSERT_EQ(report.kernel_events_size(), 1);
  EXPECT_EQ(report.kernel_events(0).code(), 48);
  EXPECT_EQ(report.kernel_events(0).text(), "NVML: gpu0 (0000:3b:00.0) Xid 48, a double-bit ECC error");
  EXPECT_EQ(report.kernel_events(0).repeated(), 0u);
}

TEST_F(NvmlSourceTest, TakesOnlySoManyEventsAtOnceAndLosesNone) {
  Collect(0);
  std::string script;
  for (int i = 0; i < 100; ++i) script += "xid 0:" + std::to_string(1000 + i) + "\n";
  Script(script);
  EXPECT_EQ(Collect(1).kernel_events_size(), 0);
  EXPECT_EQ(Collect(2).kernel_events_size(), 64);
  EXPECT_EQ(Collect(3).kernel_events_size(), 36);
}

TEST_F(NvmlSourceTest, ALibraryWithoutEventsIsReadAsBefore) {
  for (const char* missing : {"nvmlEventSetCreate", "nvmlDeviceGetSupportedEventTypes", "nvmlDeviceRegisterEvents"}) {
    NvmlSource source(FakeLibrary(), names_, kernel_xids_);
    Script(std::string("unsupported ") + missing + "\nxid 1:79\n");
    for (int second = 0; second < 3; ++second) {
      wire::AgentReport report;
      EXPECT_OK(source.Collect(Tick{.monotonic_ns = second * kNanosPerSecond}, report)) << missing;
      EXPECT_EQ(report.kernel_events_size(), 0) << missing;
      EXPECT_EQ(ValueOf(report, "gpu0", Metric::kGpuPowerWatts), 650.5) << missing;
    }
  }
  GpuEvents events(kernel_xids_);
  const GpuInfo gpu = {.device = "gpu0", .handle = reinterpret_cast<NvmlDevice>(1)};
  events.Listen(NvmlApi{}, {gpu});
  wire::AgentReport report;
  for (int second = 0; second < 3; ++second) events.Collect(Tick{.monotonic_ns = second}, {gpu}, report);
  EXPECT_EQ(report.kernel_events_size(), 0) << "its functions are missing altogether";
}

TEST_F(NvmlSourceTest, CountsAsManyNvlinksAsThereAre) {
  Script("links 36\nunsupported nvmlDeviceGetFieldValues\n");
  const wire::AgentReport report = Collect();
  EXPECT_EQ(ValueOf(report, "gpu0", Metric::kGpuNvlinkActiveLinks), 35);
  EXPECT_EQ(ValueOf(report, "gpu0", Metric::kGpuNvlinkReplayErrorsTotal), 36 * 37 / 2) << "link by link";
  EXPECT_EQ(ValueOf(report, "gpu0", Metric::kGpuNvlinkCrcErrorsTotal), 36 * 37);
  EXPECT_FALSE(ValueOf(report, "gpu0", Metric::kGpuNvlinkReceiveBytesTotal).has_value());
}

TEST_F(NvmlSourceTest, ReadsTheFieldsOfNvlinkFive) {
  Script("nvlink 5\nunsupported nvmlDeviceGetNvLinkErrorCounter\n");
  const wire::AgentReport report = Collect();
  EXPECT_EQ(ValueOf(report, "gpu0", Metric::kGpuNvlinkReceiveBytesTotal), 2000);
  EXPECT_EQ(ValueOf(report, "gpu0", Metric::kGpuNvlinkTransmitBytesTotal), 1000);
  EXPECT_EQ(ValueOf(report, "gpu0", Metric::kGpuNvlinkRecoveryErrorsTotal), 4);
  EXPECT_EQ(ValueOf(report, "gpu0", Metric::kGpuNvlinkMalformedPacketsTotal), 11);
  EXPECT_EQ(ValueOf(report, "gpu0", Metric::kGpuNvlinkBufferOverrunsTotal), 12);
  EXPECT_EQ(ValueOf(report, "gpu0", Metric::kGpuNvlinkReceiveErrorsTotal), 13);
  EXPECT_EQ(ValueOf(report, "gpu0", Metric::kGpuNvlinkIntegrityErrorsTotal), 14);
  EXPECT_EQ(ValueOf(report, "gpu0", Metric::kGpuNvlinkTransmitDiscardsTotal), 15);
  EXPECT_EQ(ValueOf(report, "gpu0", Metric::kGpuNvlinkRecoveryFailuresTotal), 2);
  EXPECT_FALSE(ValueOf(report, "gpu0", Metric::kGpuNvlinkCrcErrorsTotal).has_value());
}

TEST_F(NvmlSourceTest, TellsOfAFabricThatFailedOrIsDegraded) {
  const struct {
    const char* script;
    absl::optional<double> state, failure, degraded;
  } kCases[] = {
      {"", absl::nullopt, absl::nullopt, absl::nullopt},
      {"fabric waiting\n", 2, 0, 0},
      {"fabric done\n", 3, 0, 0},
      {"fabric failed\n", 3, 1, 0},
      {"fabric degraded\n", 3, 0, 1},
  };
  for (const auto& expected : kCases) {
    NvmlSource source(FakeLibrary(), names_, kernel_xids_);
    Script(expected.script);
    wire::AgentReport report;
    EXPECT_OK(source.Collect(Tick{}, report));
    EXPECT_EQ(ValueOf(report, "gpu1", Metric::kGpuFabricState), expected.state) << expected.script;
    EXPECT_EQ(ValueOf(report, "gpu1", Metric::kGpuFabricFailure), expected.failure) << expected.script;
    EXPECT_EQ(ValueOf(report, "gpu1", Metric::kGpuFabricDegraded), expected.degraded) << expected.script;
  }
}

TEST_F(NvmlSourceTest, AnOldLibraryTellsOfAFabricThatFailed) {
  const absl::StatusOr<NvmlApi> loaded = LoadNvml(FakeLibrary());
  ASSERT_OK(loaded);
  NvmlApi api = *loaded;
  api.fabric_info = nullptr;
  NvmlDevice device = nullptr;
  ASSERT_EQ(api.device_by_index(0, &device), kNvmlSuccess);
  Script("fabric failed\n");
  wire::AgentReport report;
  MetricBlockBuilder block(report, "gpu0", 0);
  for (const NvmlReader& reader : NvmlReaders()) {
    if (reader.what != "fabric") continue;
    EXPECT_EQ(reader.read(api, device, block), kNvmlSuccess);
  }
  EXPECT_EQ(ValueOf(report, "gpu0", Metric::kGpuFabricFailure), 1);
}

TEST_F(NvmlSourceTest, AGpuInInstancesIsToldInAllOfThem) {
  Script("mig 1\n");
  const wire::AgentReport report = Collect();
  EXPECT_OK(last_);
  EXPECT_THAT(DevicesOf(report), ElementsAre("gpu0", "gpu1", "gpu1/mig0", "gpu1/mig2"));
  EXPECT_EQ(ValueOf(report, "gpu0", Metric::kGpuMigInstances), 0);
  EXPECT_EQ(ValueOf(report, "gpu1", Metric::kGpuMigInstances), 2);
  EXPECT_EQ(ValueOf(report, "gpu1", Metric::kGpuMemoryUsedBytes), 600);
  EXPECT_EQ(ValueOf(report, "gpu1/mig2", Metric::kGpuMemoryUsedBytes), 300);
  EXPECT_EQ(ValueOf(report, "gpu1/mig2", Metric::kGpuMemoryTotalBytes), 500);
  EXPECT_EQ(ValueOf(report, "gpu1", Metric::kGpuProcesses), 2) << "NVML lists them by instance alone";
  EXPECT_EQ(ValueOf(report, "gpu1/mig0", Metric::kGpuProcesses), 1);
  EXPECT_EQ(Named(202).gpu_index(), 1);
  EXPECT_EQ(Named(202).gpu_uuid(), "MIG-00000000-0000-0000-0001-000000000002") << "as CUDA_VISIBLE_DEVICES has it";
  const std::string divided = "GPU-00000000-0000-0000-0000-000000000001";
  EXPECT_EQ(names_->DeviceOf(divided, 9), "gpu1/mig2") << "by the id of its GPU instance";
  EXPECT_EQ(names_->DeviceOf(divided, 2), "") << "an index is no id";
  Script("");
  EXPECT_EQ(ValueOf(Collect(10), "gpu1", Metric::kGpuMigInstances), 0);
  EXPECT_EQ(Named(202).gpu_index(), -1);
}

TEST_F(NvmlSourceTest, AGpuThatIsDividedIsAskedAgainWhatItSupports) {
  Script("mig 0\nunsupported nvmlDeviceGetUtilizationRates\n");
  Collect(0);
  Script("");
  Collect(10);
  EXPECT_EQ(ValueOf(Collect(11), "gpu0", Metric::kGpuUtilizationRatio), 0.97);
}

TEST_F(NvmlSourceTest, AGpuThatWasLostFromTheStartIsNamedToo) {
  Script("lost 0\n");
  const wire::AgentReport report = Collect();
  ASSERT_EQ(report.kernel_events_size(), 1);
  EXPECT_EQ(report.kernel_events(0).device(), "gpu0") << "its address is not known";
  EXPECT_THAT(last_, StatusIs(absl::StatusCode::kUnavailable, AllOf(HasSubstr("gpu0"), HasSubstr("GPU is lost"))));
  EXPECT_THAT(DevicesOf(report), ElementsAre("gpu1"));
}

TEST_F(NvmlSourceTest, AnErrorIsSaidAndTriedAgain) {
  Script("fail nvmlDeviceGetPowerUsage\n");
  EXPECT_FALSE(ValueOf(Collect(0), "gpu0", Metric::kGpuPowerWatts).has_value());
  EXPECT_THAT(last_, StatusIs(absl::StatusCode::kUnavailable,
                              AllOf(HasSubstr("gpu0"), HasSubstr("gpu1"), HasSubstr("power: Unknown Error"))));
  Script("");
  EXPECT_EQ(ValueOf(Collect(1), "gpu0", Metric::kGpuPowerWatts), 650.5);
  EXPECT_OK(last_);
}

TEST_F(NvmlSourceTest, SpreadsWhatIsExpensive) {
  Collect(0);
  const wire::AgentReport second = Collect(1);
  EXPECT_FALSE(ValueOf(second, "gpu0", Metric::kGpuEccCorrectedTotal).has_value());
  EXPECT_FALSE(ValueOf(second, "gpu0", Metric::kGpuPcieReceiveBytesPerSecond).has_value());
  EXPECT_TRUE(ValueOf(second, "gpu1", Metric::kGpuPcieReceiveBytesPerSecond).has_value()) << "its turn";
  EXPECT_TRUE(ValueOf(second, "gpu0", Metric::kGpuPowerWatts).has_value());
  EXPECT_TRUE(ValueOf(Collect(10), "gpu0", Metric::kGpuEccCorrectedTotal).has_value());
}

TEST_F(NvmlSourceTest, DoesNotBelieveInTooManyGpus) {
  Script("gpus 65\n");
  Collect();
  EXPECT_THAT(last_, StatusIs(absl::StatusCode::kOutOfRange, "65 GPUs, at most 64"));
}

TEST_F(NvmlSourceTest, HasNoDataWithoutTheLibrary) {
  NvmlSource source((directory_.path() / "libnvidia-ml.so.1").string(), names_, kernel_xids_);
  wire::AgentReport report;
  const absl::Status status = source.Collect(Tick{}, report);
  EXPECT_TRUE(IsNoData(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("libnvidia-ml.so.1"));
}

TEST_F(NvmlSourceTest, FailsOnALibraryThatIsSomethingElse) {
  NvmlSource source("libc.so.6", names_, kernel_xids_);
  wire::AgentReport report;
  EXPECT_THAT(source.Collect(Tick{}, report),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("nvmlInit_v2")));
}

TEST_F(NvmlSourceTest, HasNoDataWithoutDriverOrGpuAndLooksAgain) {
  Script("driver gone\n");
  Collect(0);
  EXPECT_TRUE(IsNoData(last_)) << last_;
  Script("gpus 0\n");
  Collect(40);
  EXPECT_TRUE(IsNoData(last_)) << last_;
  Script("gpus 1\n");
  Collect(50);
  EXPECT_TRUE(IsNoData(last_)) << "not yet";
  EXPECT_THAT(DevicesOf(Collect(80)), ElementsAre("gpu0"));
  EXPECT_OK(last_);
}

TEST_F(NvmlSourceTest, ADriverThatHangsTimesOutUntilItReturns) {
  Script("hang nvmlDeviceGetPowerUsage\n");
  SourceRunner runner(RealClock(), 50 * kNanosPerMilli);
  runner.Add(std::make_unique<NvmlSource>(FakeLibrary(), names_, kernel_xids_), /*may_hang=*/true);
  for (int tick = 0; tick < 2; ++tick) {
    wire::AgentReport report;
    runner.Collect(Tick{.monotonic_ns = tick}, report);
    ASSERT_EQ(report.sources_size(), 1);
    EXPECT_EQ(report.sources(0).outcome(), wire::SourceStatus::OUTCOME_TIMED_OUT);
  }
  Script("");
  wire::SourceStatus::Outcome outcome = wire::SourceStatus::OUTCOME_TIMED_OUT;
  while (outcome == wire::SourceStatus::OUTCOME_TIMED_OUT) {
    wire::AgentReport report;
    runner.Collect(Tick{.monotonic_ns = 2}, report);
    outcome = report.sources(0).outcome();
  }
  EXPECT_EQ(outcome, wire::SourceStatus::OUTCOME_OK);
}

}  // namespace
}  // namespace lockstep
