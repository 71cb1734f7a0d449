#include "cli/commands/command_table.h"

#include "cli/commands/ack_command.h"
#include "cli/commands/alert_command.h"
#include "cli/commands/audit_command.h"
#include "cli/commands/backup_command.h"
#include "cli/commands/capture_command.h"
#include "cli/commands/completion_command.h"
#include "cli/commands/diagnose_command.h"
#include "cli/commands/doctor_command.h"
#include "cli/commands/dump_command.h"
#include "cli/commands/enable_nccl_command.h"
#include "cli/commands/eval_command.h"
#include "cli/commands/explain_command.h"
#include "cli/commands/feed_command.h"
#include "cli/commands/history_command.h"
#include "cli/commands/hosts_command.h"
#include "cli/commands/incidents_command.h"
#include "cli/commands/jobs_command.h"
#include "cli/commands/maintenance_command.h"
#include "cli/commands/patterns_command.h"
#include "cli/commands/profile_command.h"
#include "cli/commands/ranks_command.h"
#include "cli/commands/replay_command.h"
#include "cli/commands/sim_command.h"
#include "cli/commands/status_command.h"
#include "cli/commands/top_command.h"
#include "cli/commands/train_command.h"
#include "cli/commands/whatif_command.h"

namespace lockstep {
namespace {

constexpr Verb kVerbs[] = {
    {"status", "How the collector and its agents are doing", "lockstep status", MakeStatusCommand},
    {"hosts", "Who reports, who should and does not, and which GPUs they have",
     "lockstep hosts --missing\n  lockstep hosts gpus node-17\n  lockstep hosts forget node-17", MakeHostsCommand},
    {"jobs", "The jobs that are watched, and how they do", "lockstep jobs", MakeJobsCommand},
    {"ranks", "The processes of one job, and where their time goes", "lockstep ranks demo", MakeRanksCommand},
    {"top", "Jobs, what is wrong with them and whom that is laid to, renewed in place",
     "lockstep top\n  lockstep top --once", MakeTopCommand},
    {"incidents", "What is or was wrong, and what is done about it",
     "lockstep incidents --open\n  lockstep incidents --follow -o json\n"
     "  lockstep incidents silence 7 --for 2h --note 'parts are ordered'\n"
     "  lockstep incidents resolve 7 --note 'GPU replaced'\n  lockstep incidents comment 7 'fan 3 is loud'",
     MakeIncidentsCommand},
    {"explain", "Why an incident was opened, in sentences", "lockstep explain 7", MakeExplainCommand},
    {"ack", "Say that somebody has an incident in hand",
     "lockstep ack 7 --note 'node-17 is drained'\n  lockstep ack 7 --undo", MakeAckCommand},
    {"alert", "Try out receivers of alerts, or ask who would be told",
     "lockstep alert test --receiver oncall\n  lockstep alert route --class gpu_fault --job llama --host node-17",
     MakeAlertCommand},
    {"maintenance", "Times in which nobody is called about hosts and jobs",
     "lockstep maintenance add --host node-17 --for 2h --note 'new cable'\n  lockstep maintenance end 3",
     MakeMaintenanceCommand},
    {"history", "Samples of a metric",
     "lockstep history 'net_receive_bytes_total{host=\"node-17\",device=~\"eth*\"}' --since 1h --step 1m --rate\n"
     "  lockstep history 'gpu_power_watts{job=\"demo\",rank=\"17\"}'",
     MakeHistoryCommand},
    {"capture", "Save what the collector received for a job", "lockstep capture demo -o demo.lockcap",
     MakeCaptureCommand},
    {"dump", "What the threads of ranks do: functions of Python and C, and what they wait for in the kernel",
     "lockstep dump llama --rank 17\n  lockstep dump llama --rank 17 --rank 18 -o svg > stacks.svg", MakeDumpCommand},
    {"profile", "Which functions take longer on some ranks of a running job, or on all",
     "lockstep profile llama\n  lockstep profile llama --ranks 17,18 --steps 3 --keep", MakeProfileCommand},
    {"backup", "Have the collector copy its history to a new directory on its machine", "lockstep backup",
     MakeBackupCommand},
    {"audit", "Who changed what, and whose calls were refused", "lockstep audit --since 24h", MakeAuditCommand},
    {"sim", "Simulate a training job and what goes wrong in it",
     "lockstep sim --list-faults\n  lockstep sim /tmp/job --gpus 512 --faults compute_slow:17@8*0.3", MakeSimCommand},
    {"diagnose", "Find who makes a job slow or stuck, from files of many kinds",
     "lockstep diagnose traces/\n  lockstep diagnose -o json --fail-on-fault ops.csv.zst metrics.csv",
     MakeDiagnoseCommand},
    {"whatif", "What removing each cause that was found would give back, dearest first; nothing is done",
     "lockstep whatif --job demo\n  lockstep whatif -o json traces/", MakeWhatIfCommand},
    {"patterns", "On what a rank spent its time, or what differs between two, from profiles of PyTorch",
     "lockstep patterns rank0.pt.trace.json.gz\n  lockstep patterns rank0.pt.trace.json.gz rank7.pt.trace.json.gz",
     MakePatternsCommand},
    {"feed", "Play recordings to a running collector, as one agent per host",
     "lockstep feed traces/ --to 127.0.0.1:7070\n  lockstep feed ops.csv.zst metrics.csv --to 127.0.0.1:7070 --speed "
     "10",
     MakeFeedCommand},
    {"replay", "Run the detector over a capture", "lockstep replay demo.lockcap --verify", MakeReplayCommand},
    {"eval", "How good the detector is, on simulated jobs whose truth is known",
     "lockstep eval collectives --quick\n  lockstep eval collectives --suite hangs --seeds report -o json\n"
     "  lockstep eval metamorphic recordings/* --trials 4",
     MakeEvalCommand},
    {"train", "Fit the models of the counter baseline Minder to histories",
     "lockstep train metrics.csv.zst demo.lockcap --out minder.model\n"
     "  lockstep train histories/ --labels faults.csv --out minder.model --seed 7",
     MakeTrainCommand},
    {"doctor", "Whether the processes of this machine are recorded, and why not", "lockstep doctor --pid 4711",
     MakeDoctorCommand},
    {"enable-nccl", "Make NCCL load the recorder", "lockstep enable-nccl --write\n  lockstep enable-nccl --for slurm",
     MakeEnableNcclCommand},
    {"completion", "Have a shell complete the words of lockstep", "source <(lockstep completion bash)",
     MakeCompletionCommand},
};

}  // namespace

absl::Span<const Verb> AllVerbs() { return kVerbs; }

}  // namespace lockstep
