#include "cli/render/metamorphic_text.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "cli/render/text_table.h"
#include "eval/metamorphic/relation.h"

namespace lockstep {
namespace {

constexpr TextTable::Align kRight = TextTable::Align::kRight;

std::string TotalsText(const std::map<std::string, RelationCount>& totals, int width) {
  TextTable table(
      {{"RELATION"}, {"TRANSFORMED", kRight}, {"CONTRADICTIONS", kRight}, {"NOT APPLICABLE", kRight}, {"WHAT"}});
  for (const Relation& relation : AllRelations()) {
    const auto found = totals.find(std::string(relation.name));
    if (found == totals.end()) continue;
    const RelationCount& count = found->second;
    table.AddRow({found->first, absl::StrCat(count.trials), absl::StrCat(count.contradictions),
                  absl::StrCat(count.not_applicable), std::string(relation.what)});
  }
  return table.Render(width);
}

// "1/3": contradictions of transformed recordings; "-": none could be tried.
std::string CellOf(const SourceOutcome& outcome, const std::string& relation) {
  const auto found = outcome.by_relation.find(relation);
  if (found == outcome.by_relation.end() || found->second.trials == 0) return "-";
  return absl::StrCat(found->second.contradictions, "/", found->second.trials);
}

std::string SourcesText(const std::vector<SourceOutcome>& outcomes, const std::map<std::string, RelationCount>& totals,
                        int width) {
  std::vector<TextTable::Column> columns = {{"SOURCE"}};
  std::vector<std::string> relations;
  for (const Relation& relation : AllRelations()) {
    if (!totals.contains(std::string(relation.name))) continue;
    relations.emplace_back(relation.name);
    columns.push_back({relations.back(), kRight});
  }
  TextTable table(columns);
  for (const SourceOutcome& outcome : outcomes) {
    std::vector<std::string> cells = {outcome.source};
    for (const std::string& relation : relations) cells.push_back(CellOf(outcome, relation));
    table.AddRow(cells);
  }
  return table.Render(width);
}

}  // namespace

std::string MetamorphicText(const std::vector<SourceOutcome>& outcomes, int width) {
  const std::map<std::string, RelationCount> totals = Totals(outcomes);
  std::string text = absl::StrCat(TotalsText(totals, width), "\ncontradictions of transformed recordings:\n",
                                  SourcesText(outcomes, totals, width));
  for (const SourceOutcome& outcome : outcomes) {
    for (const Contradiction& contradiction : outcome.contradictions) {
      absl::StrAppend(&text, "\n", Printable(outcome.source), ", ", contradiction.relation, ", trial ",
                      contradiction.trial, ": ", Printable(contradiction.what),
                      "\n  as it is: ", Printable(contradiction.answer), "\n  again: lockstep eval metamorphic ",
                      Printable(contradiction.arguments), "\n");
    }
  }
  return text;
}

}  // namespace lockstep
