#include "collector/alert/alert_links.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

std::string EscapedForUrl(absl::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || c == '-' || c == '_' || c == '.' || c == '~') {
      escaped.push_back(c);
    } else {
      absl::StrAppendFormat(&escaped, "%%%02X", byte);
    }
  }
  return escaped;
}

std::string PageOf(const std::string& url, const wire::Incident& incident) {
  return absl::StrReplaceAll(url,
                             {{"{incident}", absl::StrCat(incident.id())}, {"{job}", EscapedForUrl(incident.job())}});
}

}  // namespace

std::string ConsolePage(const AlertLinks& links, const wire::Incident& incident) {
  return PageOf(links.external_url, incident);
}

std::string StacksPage(const AlertLinks& links, const wire::Incident& incident) {
  return IsHangInCalls(incident.verdict().class_()) ? PageOf(links.stacks_url, incident) : "";
}

std::string RunbookPage(const AlertLinks& links, absl::string_view verdict_class) {
  return links.runbook_url.empty() || verdict_class.empty() ? "" : absl::StrCat(links.runbook_url, "#", verdict_class);
}

std::string StableName(const AlertLinks& links, const wire::Incident& incident) {
  return absl::StrCat(links.fleet, "/incident-", incident.id());
}

}  // namespace lockstep
