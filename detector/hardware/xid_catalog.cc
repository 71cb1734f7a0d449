#include "detector/hardware/xid_catalog.h"

#include <algorithm>
#include <cstddef>

namespace lockstep {
namespace {

constexpr XidInfo kCatalog[] = {
    {8, XidAction::kRestartJob, "GPU stopped processing"},
    {11, XidAction::kRestartJob, "invalid or corrupted push buffer stream"},
    {13, XidAction::kRestartJob, "graphics engine exception"},
    {25, XidAction::kRestartJob, "invalid push buffer stream"},
    {31, XidAction::kRestartJob, "GPU memory page fault"},
    {32, XidAction::kRestartJob, "invalid push buffer stream from DMA"},
    {37, XidAction::kIgnore, "driver firmware error"},
    {38, XidAction::kIgnore, "driver firmware error"},
    {39, XidAction::kRestartJob, "copy engine exception"},
    {40, XidAction::kRestartJob, "copy engine exception"},
    {41, XidAction::kRestartJob, "copy engine exception"},
    {43, XidAction::kIgnore, "GPU stopped processing a channel"},
    {44, XidAction::kIgnore, "fault during a context switch"},
    {45, XidAction::kFollowOthers, "clean-up after an earlier error"},
    {46, XidAction::kResetGpu, "GPU stopped processing: time-out"},
    {48, XidAction::kInvestigate, "double-bit ECC error"},
    {54, XidAction::kCheckMechanics, "auxiliary power is not connected"},
    {60, XidAction::kRestartJob, "video processor exception"},
    {61, XidAction::kUnknown, "internal micro-controller breakpoint"},
    {62, XidAction::kResetGpu, "internal micro-controller halt"},
    {63, XidAction::kIgnore, "row remapping recorded"},
    {64, XidAction::kResetGpu, "row remapping failed"},
    {65, XidAction::kUnknown, "video processor exception"},
    {66, XidAction::kIgnore, "illegal access by the driver"},
    {67, XidAction::kIgnore, "illegal access by the driver"},
    {68, XidAction::kRestartJob, "video decoder exception"},
    {69, XidAction::kRestartJob, "graphics engine class error"},
    {70, XidAction::kRestartJob, ""},
    {71, XidAction::kRestartJob, ""},
    {72, XidAction::kRestartJob, ""},
    {74, XidAction::kInvestigate, "NVLink error"},
    {75, XidAction::kRestartJob, ""},
    {76, XidAction::kRestartJob, ""},
    {77, XidAction::kRestartJob, ""},
    {78, XidAction::kUpdateSoftware, "virtual GPU could not start"},
    {79, XidAction::kRestartMachine, "GPU has fallen off the bus"},
    {80, XidAction::kRestartJob, "corrupted data sent to the GPU"},
    {82, XidAction::kRestartJob, ""},
    {83, XidAction::kRestartJob, ""},
    {84, XidAction::kRestartJob, ""},
    {85, XidAction::kRestartJob, ""},
    {86, XidAction::kRestartJob, ""},
    {88, XidAction::kRestartJob, ""},
    {89, XidAction::kRestartJob, ""},
    {92, XidAction::kIgnore, "high rate of single-bit ECC errors"},
    {93, XidAction::kIgnore, "wear limit of the configuration memory"},
    {94, XidAction::kRestartJob, "contained ECC error"},
    {95, XidAction::kResetGpu, "uncontained ECC error"},
    {96, XidAction::kRestartJob, ""},
    {97, XidAction::kRestartJob, ""},
    {98, XidAction::kRestartJob, ""},
    {99, XidAction::kRestartJob, ""},
    {100, XidAction::kRestartJob, ""},
    {101, XidAction::kRestartJob, ""},
    {102, XidAction::kRestartJob, ""},
    {103, XidAction::kRestartJob, ""},
    {104, XidAction::kRestartJob, ""},
    {105, XidAction::kRestartJob, ""},
    {106, XidAction::kIgnore, ""},
    {107, XidAction::kIgnore, ""},
    {109, XidAction::kResetGpu, "context switch time-out"},
    {110, XidAction::kResetGpu, "security fault"},
    {119, XidAction::kResetGpu, "GPU system processor time-out"},
    {120, XidAction::kResetGpu, "GPU system processor error"},
    {121, XidAction::kIgnore, "corrected error of the chip-to-chip link"},
    {126, XidAction::kRestartJob, ""},
    {127, XidAction::kRestartJob, ""},
    {128, XidAction::kRestartJob, ""},
    {129, XidAction::kRestartJob, ""},
    {130, XidAction::kRestartJob, ""},
    {131, XidAction::kRestartJob, ""},
    {132, XidAction::kRestartJob, ""},
    {133, XidAction::kRestartJob, ""},
    {134, XidAction::kRestartJob, ""},
    {135, XidAction::kRestartJob, ""},
    {136, XidAction::kResetGpu, ""},
    {137, XidAction::kIgnore, "NVLink access error"},
    {139, XidAction::kRestartJob, ""},
    {140, XidAction::kResetGpu, "unrecovered ECC error"},
    {141, XidAction::kIgnore, ""},
    {142, XidAction::kContactVendor, ""},
    {143, XidAction::kResetGpu, "GPU could not be initialised"},
    {144, XidAction::kInvestigate, "NVLink error"},
    {145, XidAction::kInvestigate, "NVLink error"},
    {146, XidAction::kInvestigate, "NVLink error"},
    {147, XidAction::kInvestigate, "NVLink error"},
    {148, XidAction::kInvestigate, "NVLink error"},
    {149, XidAction::kInvestigate, "NVLink error"},
    {150, XidAction::kInvestigate, "NVLink error"},
    {151, XidAction::kRestartMachine, "key rotation error"},
    {152, XidAction::kIgnore, ""},
    {153, XidAction::kIgnore, ""},
    {154, XidAction::kReadText, "recovery action of the GPU has changed"},
    {155, XidAction::kResetGpu, "NVLink error defined by software"},
    {156, XidAction::kResetGpu, "resource retired"},
    {157, XidAction::kIgnore, "resource could not be retired"},
    {158, XidAction::kResetGpu, "fatal time-out of the GPU"},
    {159, XidAction::kCheckUnifiedMemory, "unified memory error"},
    {160, XidAction::kIgnore, "memory channel retired"},
    {161, XidAction::kIgnore, "memory channel could not be retired"},
    {162, XidAction::kUnknown, "power smoothing engaged again"},
    {163, XidAction::kUnknown, "power smoothing disengaged"},
    {164, XidAction::kUnknown, ""},
    {165, XidAction::kUnknown, ""},
    {166, XidAction::kUnknown, ""},
    {167, XidAction::kUnknown, ""},
    {168, XidAction::kUnknown, ""},
    {169, XidAction::kUnknown, ""},
    {170, XidAction::kUnknown, ""},
    {171, XidAction::kUnknown, "detail of a double-bit ECC error"},
    {172, XidAction::kUnknown, "detail of a double-bit ECC error"},
};

struct ActionRow {
  const char* name;
  bool hard;
};
// By XidAction.
constexpr ActionRow kActions[] = {
    {"no known action", false},
    {"none needed", false},
    {"restart the job", false},
    {"see the errors around it", false},
    {"look at what comes with it", false},
    {"see the text", false},
    {"check unified memory", false},
    {"update driver or firmware", false},
    {"reset the GPU", true},
    {"restart the machine", true},
    {"check power cable and seating", true},
    {"contact the vendor", true},
};

}  // namespace

absl::Span<const XidInfo> XidCatalog() { return kCatalog; }

const XidInfo* FindXid(int64_t code) {
  const auto* const found = std::lower_bound(std::begin(kCatalog), std::end(kCatalog), code,
                                             [](const XidInfo& xid, int64_t wanted) { return xid.code < wanted; });
  return found != std::end(kCatalog) && found->code == code ? found : nullptr;
}

bool IsHard(XidAction action) { return kActions[static_cast<size_t>(action)].hard; }

const char* Name(XidAction action) { return kActions[static_cast<size_t>(action)].name; }

}  // namespace lockstep
