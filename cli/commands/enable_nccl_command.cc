#include "cli/commands/enable_nccl_command.h"

#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "base/status_macros.h"
#include "cli/nccl_conf.h"
#include "cli/render/json.h"
#include "cli/whole_file.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

// $0 = the variable, $1 = the recorder's path, $2 = its folder, $3 = the ring directory.
struct Launcher {
  const char* name;
  const char* environment;
};
constexpr Launcher kLaunchers[] = {
    {"kubernetes",
     "# Container: what the pod's training container needs.\n"
     "env:\n"
     "- {name: $0, value: $1}\n"
     "# Which job it is; a label that the pod has not is an empty text.\n"
     "- name: LOCKSTEP_POD_NAMESPACE\n"
     "  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}\n"
     "- name: LOCKSTEP_PYTORCHJOB\n"
     "  valueFrom: {fieldRef: {fieldPath: \"metadata.labels['training.kubeflow.org/job-name']\"}}\n"
     "- name: LOCKSTEP_JOBSET\n"
     "  valueFrom: {fieldRef: {fieldPath: \"metadata.labels['jobset.sigs.k8s.io/jobset-name']\"}}\n"
     "- name: LOCKSTEP_LEADERWORKERSET\n"
     "  valueFrom: {fieldRef: {fieldPath: \"metadata.labels['leaderworkerset.sigs.k8s.io/name']\"}}\n"
     "- name: LOCKSTEP_LEADERWORKERSET_GROUP\n"
     "  valueFrom: {fieldRef: {fieldPath: \"metadata.labels['leaderworkerset.sigs.k8s.io/group-index']\"}}\n"
     "- name: LOCKSTEP_VOLCANO_JOB\n"
     "  valueFrom: {fieldRef: {fieldPath: \"metadata.labels['volcano.sh/job-name']\"}}\n"
     "- name: LOCKSTEP_RAY_CLUSTER\n"
     "  valueFrom: {fieldRef: {fieldPath: \"metadata.labels['ray.io/cluster']\"}}\n"
     "- name: LOCKSTEP_KUBERNETES_JOB\n"
     "  valueFrom: {fieldRef: {fieldPath: \"metadata.labels['batch.kubernetes.io/job-name']\"}}\n"
     "- name: LOCKSTEP_STATEFULSET_POD\n"
     "  valueFrom: {fieldRef: {fieldPath: \"metadata.labels['statefulset.kubernetes.io/pod-name']\"}}\n"
     "volumeMounts:\n"
     "- {name: lockstep-recorder, mountPath: $2, readOnly: true}\n"
     "- {name: lockstep-rings, mountPath: $3}\n"
     "# Pod: folders of the node. The agent puts the recorder there; the job begins without it all the same.\n"
     "volumes:\n"
     "- {name: lockstep-recorder, hostPath: {path: /var/lib/lockstep-recorder, type: DirectoryOrCreate}}\n"
     "- {name: lockstep-rings, hostPath: {path: $3, type: DirectoryOrCreate}}\n"},
    {"slurm",
     "# Job and step name the job.\n"
     "export $0=$1\n"
     "srun --export=ALL ./train\n"
     "# In a container of pyxis, which needs the folders of the node:\n"
     "srun --export=ALL --container-mounts=$2:$2:ro,$3:$3 --container-image=IMAGE ./train\n"},
    {"torchrun",
     "# Address and port where it meets name the job; a --rdzv-id would, and has to be one that no other job has.\n"
     "$0=$1 torchrun --nproc-per-node=8 train.py\n"},
};

class EnableNcclCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {{"--write", "change the file; without it, print what it would become", &write_},
            {"--remove", "take the recorder's line out again", &remove_},
            {"--chain", "load a profiler that is set already behind the recorder", &chain_},
            {"--file", "NCCL's configuration file", &file_},
            {"--plugin", "the recorder", &plugin_},
            {"--for", "print the environment of one job instead: kubernetes, slurm or torchrun", &launcher_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    if (plugin_.empty() || plugin_.find_first_of(" \n\t") != std::string::npos) {
      return absl::InvalidArgumentError("--plugin: not a path that nccl.conf can hold");
    }
    return launcher_.empty() ? EditFile(context) : PrintEnvironment(context);
  }

 private:
  absl::StatusOr<ExitCode> PrintEnvironment(CommandContext& context) const {
    for (const Launcher& launcher : kLaunchers) {
      if (launcher_ != launcher.name) continue;
      const size_t slash = plugin_.rfind('/');
      const std::string folder = slash == std::string::npos ? "." : plugin_.substr(0, slash);
      const std::string text =
          absl::Substitute(launcher.environment, kNcclPluginVariable, plugin_, folder, "/dev/shm/lockstep");
      Print(context, {{"for", launcher_}, {"text", text}}, text);
      return ExitCode::kOk;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "--for: '", launcher_, "' is none of ",
        absl::StrJoin(kLaunchers, ", ", [](std::string* out, const auto& l) { absl::StrAppend(out, l.name); })));
  }

  absl::StatusOr<ExitCode> EditFile(CommandContext& context) const {
    ASSIGN_OR_RETURN(const std::string before, ReadWholeFileOrEmpty(file_));
    std::string after;
    if (remove_) {
      after = WithoutPlugin(before);
    } else {
      ASSIGN_OR_RETURN(after, WithPlugin(before, plugin_, chain_));
    }
    const bool changes = before != after;
    if (write_ && changes) RETURN_IF_ERROR(ReplaceWholeFile(file_, after));
    const char* const did = !changes ? "already so" : write_ ? "written" : "would become (--write does it)";
    Print(context, {{"file", file_}, {"changed", write_ && changes}, {"already", !changes}, {"text", after}},
          absl::StrCat("# ", file_, ": ", did, "\n", after));
    return ExitCode::kOk;
  }

  static void Print(CommandContext& context, const nlohmann::ordered_json& json, const std::string& text) {
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText(json, /*indented=*/true) << "\n";
    } else {
      context.out << text;
    }
  }

  bool write_ = false;
  bool remove_ = false;
  bool chain_ = false;
  std::string file_ = "/etc/nccl.conf";
  std::string plugin_ = absl::StrCat("/usr/lib/lockstep/", kNcclPluginName);
  std::string launcher_;
};

}  // namespace

std::unique_ptr<Command> MakeEnableNcclCommand() { return std::make_unique<EnableNcclCommand>(); }

}  // namespace lockstep
