#include "cli/render/incident_text.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/render/incident_words_table.h"
#include "cli/render/ledger_text.h"
#include "cli/render/quantity_text.h"
#include "cli/render/text_table.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

std::string OnsetSentence(const wire::Incident& incident) {
  const wire::Verdict& verdict = incident.verdict();
  std::string text = absl::StrCat("Since ", WallText(verdict.first_seen_ns()));
  if (verdict.first_step() >= 0) absl::StrAppend(&text, " (step ", verdict.first_step(), ")");
  const std::string who = verdict.culprits_size() > 0 ? CulpritText(verdict.culprits(0)) : "the job";
  absl::StrAppend(&text, ", ", who, " ", ClassMeaning(verdict.class_()), ".");
  if (incident.opened_wall_ns() >= verdict.first_seen_ns() && verdict.first_seen_ns() > 0) {
    absl::StrAppend(&text, " The incident was opened ",
                    DurationText(incident.opened_wall_ns() - verdict.first_seen_ns()), " after that.");
  }
  return text;
}

// "" = no name beside its index is known.
std::string GpuSentence(const wire::Culprit& culprit) {
  if (culprit.gpu_uuid().empty() && culprit.gpu_pci_address().empty()) return "";
  std::string text = absl::StrCat("The GPU of ", CulpritText(culprit), " is ", culprit.gpu_uuid());
  if (culprit.gpu_pci_address().empty()) return absl::StrCat(text, ".");
  return absl::StrCat(text, culprit.gpu_uuid().empty() ? "the one" : "", " at ", culprit.gpu_pci_address(), ".");
}

std::string OthersSentence(const wire::Verdict& verdict) {
  std::string text = "Also suspected, by falling confidence:";
  for (int i = 1; i < verdict.culprits_size(); ++i) {
    absl::StrAppend(&text, i == 1 ? " " : "; ", CulpritText(verdict.culprits(i)), " (",
                    PercentText(verdict.culprits(i).confidence()), ")");
  }
  return absl::StrCat(text, ".");
}

std::string CostSentence(const wire::Verdict& verdict) {
  if (JobStandsStill(verdict)) return "The job makes no progress while this lasts: all of its machines wait.";
  const wire::Cost& cost = verdict.cost();
  if (cost.slowdown_fraction() == 0 && cost.seconds_per_step() == 0 && cost.hidden_fraction() == 0) return "Not known.";
  std::string text =
      absl::StrFormat("Removing the cause gives back %s of every step (%s); %s of the steps since onset are affected.",
                      SecondsText(cost.seconds_per_step()), PercentText(cost.slowdown_fraction()),
                      PercentText(cost.steps_affected_fraction()));
  if (cost.hidden_fraction() > 0) {
    absl::StrAppendFormat(&text, " %s more is its part of what other findings hide now.",
                          PercentText(cost.hidden_fraction()));
  }
  return text;
}

std::string Headline(const wire::Incident& incident, int64_t now_wall_ns) {
  const bool open = incident.state() == wire::Incident::STATE_OPEN;
  const std::string age = open ? AgeText(incident.opened_wall_ns(), now_wall_ns)
                               : AgeText(incident.opened_wall_ns(), incident.resolved_wall_ns());
  std::string text = absl::StrFormat("Incident %d, job %s: %s, %s", incident.id(), Printable(incident.job()),
                                     incident.verdict().class_(), CulpritsText(incident.verdict()));
  absl::StrAppend(&text, "\n",
                  open ? (incident.suspected() ? "SUSPECTED for " : "OPEN for ")
                       : absl::StrCat(absl::AsciiStrToUpper(StateText(incident)), " after "),
                  age);
  if (incident.reopened() > 0) absl::StrAppend(&text, ", came back ", incident.reopened(), " times");
  if (incident.has_acknowledgement()) {
    const wire::Incident::Acknowledgement& acknowledgement = incident.acknowledgement();
    absl::StrAppend(&text, "\nacknowledged by ", Printable(acknowledgement.by()), ", ",
                    DurationText(acknowledgement.wall_ns() - incident.opened_wall_ns()), " after it was opened");
    if (!acknowledgement.note().empty()) absl::StrAppend(&text, ": ", Printable(acknowledgement.note()));
  }
  if (incident.has_silence()) {
    const wire::Incident::Silence& silence = incident.silence();
    absl::StrAppend(&text, "\nsilenced until ", WallText(silence.until_wall_ns()), " by ", Printable(silence.by()));
    if (!silence.note().empty()) absl::StrAppend(&text, ": ", Printable(silence.note()));
  }
  if (open && incident.maintenance() != 0) {
    absl::StrAppend(&text, "\nin window ", incident.maintenance(), " of maintenance");
  }
  if (open && incident.folded_under() != 0) {
    absl::StrAppend(&text, "\nincident ", incident.folded_under(), " stands for it");
  }
  if (incident.folds() > 0) absl::StrAppend(&text, "\nstands for ", incident.folds(), " others that opened with it");
  return absl::StrCat(text, "\n");
}

// What is known of the culprit's host from all of its jobs.
std::string HistorySentence(const wire::HostHistory& history) {
  const auto count = [](uint32_t number, const char* one) {
    return absl::StrCat(number, " ", one, number == 1 ? "" : "s");
  };
  return absl::StrFormat("%s was blamed in %s of %s in the last %d days (lemon score %.1f).", Printable(history.host()),
                         count(history.incidents(), "incident"), count(history.jobs(), "job"), history.days(),
                         history.score());
}

std::string CommentLines(const wire::Incident& incident) {
  std::string text;
  for (const wire::Incident::Remark& comment : incident.comments()) {
    absl::StrAppend(&text, text.empty() ? "\nComments\n" : "", "  ", WallText(comment.wall_ns()).substr(0, 19), "  ",
                    Printable(comment.by()), ": ", Printable(comment.text()), "\n");
  }
  return text;
}

struct OpenState {
  const char* word;
  bool (*holds)(const wire::Incident& incident);
};

// The first that holds is what an open incident is.
constexpr OpenState kOpenStates[] = {
    {"suspected", [](const wire::Incident& incident) { return incident.suspected(); }},
    {"silenced", [](const wire::Incident& incident) { return incident.has_silence(); }},
    {"in maintenance", [](const wire::Incident& incident) { return incident.maintenance() != 0; }},
    {"folded", [](const wire::Incident& incident) { return incident.folded_under() != 0; }},
    {"acknowledged", [](const wire::Incident& incident) { return incident.has_acknowledgement(); }},
    {"flapping", [](const wire::Incident& incident) { return incident.flapping(); }},
    {"open", [](const wire::Incident& /*incident*/) { return true; }},
};

// Transitions that say in their own words what happened, and nothing new of the cause.
bool SpeaksForItself(const std::string& what) {
  static constexpr absl::string_view kWhats[] = {
      "acknowledged",     "unacknowledged",     "silenced", "unsilenced", "commented", "flapping",
      "maintenance_ends", "maintenance_begins", "folded",   "unfolded",   "profiled"};
  return std::find(std::begin(kWhats), std::end(kWhats), what) != std::end(kWhats);
}

}  // namespace

std::string StateText(const wire::Incident& incident) {
  if (incident.state() == wire::Incident::STATE_OPEN) {
    for (const OpenState& state : kOpenStates) {
      if (state.holds(incident)) return state.word;
    }
  }
  if (incident.state() != wire::Incident::STATE_RESOLVED) return "unknown";
  return std::string(FindWords(ResolutionWords(), wire::Incident::Resolution_Name(incident.resolution())));
}

std::string CulpritText(const wire::Culprit& culprit) {
  std::string text = culprit.host();
  if (culprit.rank() >= 0) absl::StrAppend(&text, " rank ", culprit.rank());
  if (culprit.pid() > 0) absl::StrAppend(&text, " pid ", culprit.pid());
  const bool device_is_gpu = culprit.device() == absl::StrCat("gpu", culprit.gpu());
  if (culprit.gpu() >= 0 && !device_is_gpu) absl::StrAppend(&text, " gpu ", culprit.gpu());
  if (!culprit.device().empty()) absl::StrAppend(&text, " ", culprit.device());
  if (!culprit.peer_host().empty()) absl::StrAppend(&text, " -> ", culprit.peer_host());
  return Printable(absl::StartsWith(text, " ") ? text.substr(1) : text);
}

std::string CulpritsText(const wire::Verdict& verdict) {
  if (verdict.culprits_size() == 0) return "nobody";
  const std::string first = CulpritText(verdict.culprits(0));
  return verdict.culprits_size() == 1 ? first : absl::StrCat(first, " and ", verdict.culprits_size() - 1, " more");
}

bool JobStandsStill(const wire::Verdict& verdict) {
  if (!IsHang(verdict.class_())) return false;
  if (verdict.class_() != Name(VerdictClass::kGpuFault)) return true;
  const double slowdown = verdict.cost().slowdown_fraction();
  const bool has_price = slowdown > 0 && slowdown < 1;
  return !has_price && verdict.scope() != Name(VerdictScope::kUnknown);
}

std::string CostText(const wire::Verdict& verdict) {
  if (JobStandsStill(verdict)) return "stopped";
  return verdict.cost().slowdown_fraction() > 0 ? PercentText(verdict.cost().slowdown_fraction()) : "-";
}

std::string SummaryText(const wire::Verdict& verdict) {
  return Printable(verdict.evidence_size() > 0 ? verdict.evidence(0).text() : ClassMeaning(verdict.class_()));
}

std::string ClassMeaning(const std::string& verdict_class) {
  return std::string(FindWords(ClassWords(), verdict_class));
}

std::string AdviceText(const std::string& advice) { return std::string(FindWords(AdviceWords(), advice)); }

std::string TransitionLine(const wire::Incident& incident, const wire::Incident::Transition& transition) {
  const wire::Verdict& verdict = incident.verdict();
  std::string line =
      absl::StrFormat("%s  %-8s  #%d %s  %s  job %s", TimeOfDayText(transition.wall_ns()), Printable(transition.what()),
                      incident.id(), verdict.class_(), CulpritsText(verdict), Printable(incident.job()));
  if (transition.what() == "resolved") {
    absl::StrAppend(&line, "  after ", DurationText(transition.wall_ns() - incident.opened_wall_ns()));
    if (!transition.why().empty()) absl::StrAppend(&line, ": ", Printable(transition.why()));
    return line;
  }
  if (SpeaksForItself(transition.what())) {
    return absl::StrCat(line, "  ", Printable(transition.why()));
  }
  const bool begins = transition.what() == "opened" || transition.what() == "suspected";
  if (verdict.first_seen_ns() > 0 && begins) {
    absl::StrAppend(&line, "  ", DurationText(transition.wall_ns() - verdict.first_seen_ns()), " after onset");
  }
  absl::StrAppend(&line, "  cost ", CostText(verdict), ": ", SummaryText(verdict));
  return line;
}

std::string Explanation(const wire::Incident& incident, int64_t now_wall_ns) {
  const wire::Verdict& verdict = incident.verdict();
  std::string text = absl::StrCat(Headline(incident, now_wall_ns), "\nWhat happened\n");
  int number = 0;
  const auto add = [&](const std::string& sentence) {
    absl::StrAppendFormat(&text, "  %d. %s\n", ++number, Printable(sentence));
  };
  add(OnsetSentence(incident));
  for (const wire::Evidence& evidence : verdict.evidence()) add(evidence.text());
  const std::string gpu = verdict.culprits().empty() ? "" : GpuSentence(verdict.culprits(0));
  if (!gpu.empty()) add(gpu);
  if (verdict.culprits_size() > 1) add(OthersSentence(verdict));
  if (incident.has_host_history()) add(HistorySentence(incident.host_history()));

  absl::StrAppend(&text, "\nCost\n  ", CostSentence(verdict));
  if (incident.has_ledger_share()) absl::StrAppend(&text, "\n  ", LedgerShareText(incident.ledger_share()));
  absl::StrAppend(&text, "\n\nAdvice\n  ", AdviceText(verdict.advice()), "\n", CommentLines(incident),
                  "\nTimeline (UTC)\n");
  size_t widest = 0;
  for (const auto& transition : incident.transitions()) widest = std::max(widest, transition.what().size());
  for (const wire::Incident::Transition& transition : incident.transitions()) {
    absl::StrAppendFormat(&text, "  %s  %-*s  %s\n", WallText(transition.wall_ns()).substr(0, 19),
                          static_cast<int>(widest), Printable(transition.what()), Printable(transition.why()));
  }
  return text;
}

}  // namespace lockstep
