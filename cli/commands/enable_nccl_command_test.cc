#include "cli/commands/enable_nccl_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "base/testing/temporary_directory.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/testing/run_command.h"
#include "cli/whole_file.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

CommandResult EnableNccl(const std::map<std::string, std::string>& arguments,
                         OutputFormat format = OutputFormat::kTable) {
  return RunCommand(MakeEnableNcclCommand(), arguments, format);
}

constexpr char kLine[] = "NCCL_PROFILER_PLUGIN=/usr/lib/lockstep/libnccl-profiler-lockstep.so\n";

class EnableNcclTest : public ::testing::Test {
 protected:
  std::string Conf() const { return directory_.path() / "nccl.conf"; }
  std::string Text() const { return *ReadWholeFileOrEmpty(Conf()); }

  TemporaryDirectory directory_;
};

TEST_F(EnableNcclTest, PrintsWithoutTouchingAndWritesWhenTold) {
  const CommandResult printed = EnableNccl({{"--file", Conf()}});
  EXPECT_EQ(printed.exit_code, ExitCode::kOk) << printed.error;
  EXPECT_EQ(printed.out, "# " + Conf() + ": would become (--write does it)\n" + kLine);
  EXPECT_FALSE(std::filesystem::exists(Conf()));
  EXPECT_THAT(EnableNccl({{"--file", Conf()}, {"--write", ""}}).out, HasSubstr(": written\n"));
  EXPECT_EQ(Text(), kLine);
  EXPECT_THAT(EnableNccl({{"--file", Conf()}, {"--write", ""}}).out, HasSubstr(": already so\n"));
  EXPECT_EQ(Text(), kLine);
}

TEST_F(EnableNcclTest, KeepsOtherLinesModeAndLink) {
  const std::string real = directory_.Write("real/site.conf", "NCCL_DEBUG=WARN\n");
  std::filesystem::create_symlink(real, Conf());
  ASSERT_EQ(chmod(real.c_str(), 0640), 0);
  EXPECT_EQ(EnableNccl({{"--file", Conf()}, {"--write", ""}}).exit_code, ExitCode::kOk);
  EXPECT_EQ(Text(), std::string("NCCL_DEBUG=WARN\n") + kLine);
  EXPECT_TRUE(std::filesystem::is_symlink(Conf()));
  struct stat after = {};
  ASSERT_EQ(stat(real.c_str(), &after), 0);
  EXPECT_EQ(after.st_mode & 07777, 0640U);
  EXPECT_EQ(EnableNccl({{"--file", Conf()}, {"--write", ""}, {"--remove", ""}}).exit_code, ExitCode::kOk);
  EXPECT_EQ(Text(), "NCCL_DEBUG=WARN\n");
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.path())) files += entry.exists();
  EXPECT_EQ(files, 3U) << "nothing is left beside the file";
}

TEST_F(EnableNcclTest, AnotherProfilerIsNotReplacedUnasked) {
  directory_.Write("nccl.conf", "NCCL_PROFILER_PLUGIN=inspector\n");
  const CommandResult refused = EnableNccl({{"--file", Conf()}, {"--write", ""}});
  EXPECT_EQ(refused.exit_code, ExitCode::kInputUnreadable);
  EXPECT_THAT(refused.error, HasSubstr("--chain"));
  EXPECT_EQ(Text(), "NCCL_PROFILER_PLUGIN=inspector\n");
  EXPECT_EQ(EnableNccl({{"--file", Conf()}, {"--write", ""}, {"--chain", ""}}).exit_code, ExitCode::kOk);
  EXPECT_EQ(Text(), std::string(kLine) + "LOCKSTEP_CHAIN_PROFILER=inspector\n");
}

TEST_F(EnableNcclTest, PrintsTheEnvironmentOfAJob) {
  const std::pair<const char*, const char*> texts[] = {
      {"kubernetes", R"(# Container: what the pod's training container needs.
env:
- {name: NCCL_PROFILER_PLUGIN, value: /usr/lib/lockstep/libnccl-profiler-lockstep.so}
# Which job it is; a label that the pod has not is an empty text.
- name: LOCKSTEP_POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
- name: LOCKSTEP_PYTORCHJOB
  valueFrom: {fieldRef: {fieldPath: "metadata.labels['training.kubeflow.org/job-name']"}}
- name: LOCKSTEP_JOBSET
  valueFrom: {fieldRef: {fieldPath: "metadata.labels['jobset.sigs.k8s.io/jobset-name']"}}
- name: LOCKSTEP_LEADERWORKERSET
  valueFrom: {fieldRef: {fieldPath: "metadata.labels['leaderworkerset.sigs.k8s.io/name']"}}
- name: LOCKSTEP_LEADERWORKERSET_GROUP
  valueFrom: {fieldRef: {fieldPath: "metadata.labels['leaderworkerset.sigs.k8s.io/group-index']"}}
- name: LOCKSTEP_VOLCANO_JOB
  valueFrom: {fieldRef: {fieldPath: "metadata.labels['volcano.sh/job-name']"}}
- name: LOCKSTEP_RAY_CLUSTER
  valueFrom: {fieldRef: {fieldPath: "metadata.labels['ray.io/cluster']"}}
- name: LOCKSTEP_KUBERNETES_JOB
  valueFrom: {fieldRef: {fieldPath: "metadata.labels['batch.kubernetes.io/job-name']"}}
- name: LOCKSTEP_STATEFULSET_POD
  valueFrom: {fieldRef: {fieldPath: "metadata.labels['statefulset.kubernetes.io/pod-name']"}}
volumeMounts:
- {name: lockstep-recorder, mountPath: /usr/lib/lockstep, readOnly: true}
- {name: lockstep-rings, mountPath: /dev/shm/lockstep}
# Pod: folders of the node. The agent puts the recorder there; the job begins without it all the same.
volumes:
- {name: lockstep-recorder, hostPath: {path: /var/lib/lockstep-recorder, type: DirectoryOrCreate}}
- {name: lockstep-rings, hostPath: {path: /dev/shm/lockstep, type: DirectoryOrCreate}}
)"},
      {"slurm", R"(# Job and step name the job.
export NCCL_PROFILER_PLUGIN=/usr/lib/lockstep/libnccl-profiler-lockstep.so
srun --export=ALL ./train
# In a container of pyxis, which needs the folders of the node:
)"
                "srun --export=ALL --container-mounts=/usr/lib/lockstep:/usr/lib/lockstep:ro,"
                "/dev/shm/lockstep:/dev/shm/lockstep --container-image=IMAGE ./train\n"},
      {"torchrun",
       "# Address and port where it meets name the job; a --rdzv-id would, and has to be one that no other job has.\n"
       "NCCL_PROFILER_PLUGIN=/usr/lib/lockstep/libnccl-profiler-lockstep.so torchrun --nproc-per-node=8 train.py\n"},
  };
  for (const auto& [launcher, text] : texts) {
    const CommandResult result = EnableNccl({{"--for", launcher}});
    EXPECT_EQ(result.exit_code, ExitCode::kOk);
    EXPECT_EQ(result.out, text);
  }
  EXPECT_EQ(EnableNccl({{"--for", "pbs"}}).exit_code, ExitCode::kUsage);
}

TEST_F(EnableNcclTest, SpeaksJson) {
  const CommandResult result = EnableNccl({{"--file", Conf()}, {"--write", ""}}, OutputFormat::kJson);
  const nlohmann::json json = nlohmann::json::parse(result.out, nullptr, false);
  EXPECT_EQ(json["changed"], true);
  EXPECT_EQ(json["text"], kLine);
}

TEST_F(EnableNcclTest, SaysWhatItCannotDo) {
  EXPECT_EQ(EnableNccl({{"--file", "/proc/lockstep/nccl.conf"}, {"--write", ""}}).exit_code,
            ExitCode::kInputUnreadable);
  EXPECT_EQ(EnableNccl({{"--file", directory_.path().string()}}).exit_code, ExitCode::kInputUnreadable);
  EXPECT_EQ(EnableNccl({{"--file", Conf()}, {"--plugin", "a b"}}).exit_code, ExitCode::kUsage);
}

}  // namespace
}  // namespace lockstep
