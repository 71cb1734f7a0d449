#include "cli/commands/sim_second.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "cli/render/json.h"
#include "nlohmann/json.hpp"
#include "sim/second/episode.h"
#include "sim/second/planting.h"
#include "sim/second/truth.h"

namespace lockstep {

absl::Status NoSuchKind(const std::string& kind) {
  const auto name = [](std::string* out, const second::EpisodeKind& known) { absl::StrAppend(out, known.name); };
  return absl::InvalidArgumentError(
      absl::StrCat("no kind '", kind, "'; there are ", absl::StrJoin(second::EpisodeKinds(), ", ", name)));
}

absl::Status WriteSecondSimulation(const std::string& kind, uint64_t world, const std::string& directory,
                                   const std::string& ending, CommandContext& context) {
  const second::EpisodeKind* const found = second::FindKind(kind);
  if (found == nullptr) return NoSuchKind(kind);
  if (directory.empty()) return absl::InvalidArgumentError("DIRECTORY is missing");
  const second::SecondEpisode episode = second::MakeSecondEpisode(world, *found);
  RETURN_IF_ERROR(second::WriteSecondEpisode(episode, directory, ending));
  const second::Truth& truth = episode.truth;
  if (context.format == OutputFormat::kJson) {
    const nlohmann::ordered_json result = {{"name", truth.name},   {"ranks", truth.ranks},
                                           {"steps", truth.steps}, {"records", episode.recording.rows.size()},
                                           {"hang", truth.hang},   {"world", truth.features}};
    context.out << JsonText(result, /*indented=*/true) << "\n";
    return absl::OkStatus();
  }
  context.out << truth.name << ": " << truth.ranks << " ranks, " << truth.steps << " steps of "
              << truth.step_seconds_median << " s, " << episode.recording.rows.size() << " records; "
              << absl::StrJoin(truth.features, ", ") << "\n";
  return absl::OkStatus();
}

}  // namespace lockstep
