#include "cli/commands/history_command.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/metric_catalog.h"
#include "base/status_macros.h"
#include "cli/duration_argument.h"
#include "cli/gpu_choice.h"
#include "cli/render/gpu_table.h"
#include "cli/render/json.h"
#include "cli/render/quantity_text.h"
#include "cli/render/sparkline.h"
#include "cli/render/text_table.h"
#include "cli/series_query.h"
#include "cli/series_steps.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

constexpr TextTable::Align kRight = TextTable::Align::kRight;
constexpr int64_t kCurveColumns = 40;
constexpr int64_t kMaxValues = 5'000'000;  // kept at the same time, 16 bytes each: 80 MB

// One value per step of the window; NaN where nothing was sampled.
std::string Curve(const std::vector<SeriesStep>& steps, const StepWindow& window) {
  const int64_t count = (window.to_ns - window.from_ns + window.step_ns - 1) / window.step_ns;
  const int64_t fold = (count + kCurveColumns - 1) / kCurveColumns;
  std::vector<double> values(static_cast<size_t>((count + fold - 1) / fold), std::numeric_limits<double>::quiet_NaN());
  for (const SeriesStep& step : steps) {
    values[static_cast<size_t>((step.wall_ns - window.from_ns) / window.step_ns / fold)] = step.value;
  }
  return Sparkline(values);
}

class HistoryCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {{"QUERY",
             "metric{host=\"...\",device=~\"mlx5_*\"}, of GPUs also {gpu=\"gpu3, UUID or PCI address\"} or "
             "{job=\"...\",rank=\"...\"}; see docs/cli.md",
             &query_, /*required=*/true},
            {"--since", "how far back, such as 30s, 10m or 2h", &since_},
            {"--step", "one value (the mean) per so much time", &step_},
            {"--rate", "counters as growth per second", &rate_},
            {"--points", "a line per value instead of a line per series", &points_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    ASSIGN_OR_RETURN(const SeriesQuery query, ParseSeriesQuery(query_));
    if (rate_ && FindMetric(absl::string_view(query.metric))->kind != MetricKind::kCounter) {
      return absl::InvalidArgumentError(absl::StrCat("--rate is for counters; ", query.metric, " is a gauge"));
    }
    ASSIGN_OR_RETURN(const int64_t since_ns, ParseDurationArgument("--since", since_));
    ASSIGN_OR_RETURN(const int64_t step_ns, ParseDurationArgument("--step", step_));
    if (since_ns / step_ns > kMaxSeriesSteps) {
      return absl::InvalidArgumentError(
          absl::StrCat("--since ", since_, " holds more than ", kMaxSeriesSteps, " steps of ", step_));
    }
    ASSIGN_OR_RETURN(const int64_t now_ns, context.collector.NowWallNanos());
    const StepWindow window = StepsUntil(now_ns, std::min(since_ns, now_ns), step_ns);
    ASSIGN_OR_RETURN(const std::vector<GpuSpan> spans, ChooseGpus(query, context));
    ASSIGN_OR_RETURN(std::vector<wire::Series> chosen, ReadHosts(query, spans, window, context));
    ASSIGN_OR_RETURN(const std::vector<wire::Gpu> gpus,
                     NamesOfGpus(chosen, spans, window.from_ns, window.to_ns, context));
    if (rate_) {
      for (wire::Series& series : chosen) series = ToRatePerSecond(series);
    }
    context.out << (context.format == OutputFormat::kJson ? Json(chosen, gpus, window)
                    : chosen.empty()                      ? "no samples\n"
                    : points_                             ? Points(chosen, window).Render(context.width)
                                                          : Summary(chosen, window).Render(context.width));
    if (!gpus.empty() && context.format != OutputFormat::kJson) {
      context.out << "\n" << GpuTable(gpus).Render(context.width) << GpuChangesText(gpus);
    }
    return ExitCode::kOk;
  }

 private:
  // Only the hosts of the GPUs that are asked for, if any are: a tenant sees one host at a time.
  static absl::StatusOr<std::vector<wire::Series>> ReadHosts(const SeriesQuery& query,
                                                             const std::vector<GpuSpan>& spans,
                                                             const StepWindow& window, CommandContext& context) {
    wire::GetHistoryRequest request;
    request.set_metric(query.metric);
    request.set_device(query.ExactValue("device").value_or("*"));
    request.set_from_wall_ns(window.from_ns);
    request.set_to_wall_ns(window.to_ns);
    std::set<std::string> hosts;
    for (const GpuSpan& span : spans) hosts.insert(span.host);
    if (spans.empty()) hosts.insert(query.ExactValue("host").value_or(""));
    std::vector<wire::Series> chosen;
    int64_t values = 0;
    for (const std::string& host : hosts) {
      request.set_host(host);
      ASSIGN_OR_RETURN(const bool is_all, ReadPages(query, spans, request, context, chosen, values));
      if (!is_all) break;
    }
    return chosen;
  }

  // Page after page, each a call with a deadline of its own. What is not chosen is not kept. False = the limit is
  // reached.
  static absl::StatusOr<bool> ReadPages(const SeriesQuery& query, const std::vector<GpuSpan>& spans,
                                        wire::GetHistoryRequest request, CommandContext& context,
                                        std::vector<wire::Series>& chosen, int64_t& values) {
    while (true) {
      ASSIGN_OR_RETURN(wire::GetHistoryResponse page, context.collector.GetHistory(request));
      for (wire::Series& series : *page.mutable_series()) {
        if (!query.Matches(series.host(), series.device())) continue;
        if (!spans.empty()) KeepChosen(spans, series);
        if (series.values().empty()) continue;
        values += series.values_size();
        const bool goes_on =
            !chosen.empty() && chosen.back().host() == series.host() && chosen.back().device() == series.device();
        if (goes_on) {
          chosen.back().MergeFrom(series);
        } else {
          chosen.push_back(std::move(series));
        }
      }
      if (!page.has_next()) return true;
      if (values >= kMaxValues) {
        context.err << "lockstep: cut after " << values << " values (at most about " << kMaxValues << "), before host "
                    << page.next().host() << ", device \"" << page.next().device() << "\", "
                    << WallText(page.next().wall_ns()) << "; narrow the query\n";
        return false;
      }
      *request.mutable_resume() = page.next();
    }
  }

  static TextTable Summary(const std::vector<wire::Series>& chosen, const StepWindow& window) {
    TextTable table({{"HOST"},
                     {"DEVICE"},
                     {"STEPS", kRight},
                     {"MIN", kRight},
                     {"MEAN", kRight},
                     {"MAX", kRight},
                     {"LAST", kRight},
                     {"CURVE"}});
    for (const wire::Series& series : chosen) {
      const std::vector<SeriesStep> steps = CondenseToSteps(series, window);
      if (steps.empty()) continue;
      double sum = 0;
      double low = steps.front().value;
      double high = low;
      for (const SeriesStep& step : steps) {
        sum += step.value;
        low = std::min(low, step.value);
        high = std::max(high, step.value);
      }
      table.AddRow({series.host(), series.device().empty() ? "-" : series.device(), absl::StrCat(steps.size()),
                    NumberText(low), NumberText(sum / static_cast<double>(steps.size())), NumberText(high),
                    NumberText(steps.back().value), Curve(steps, window)});
    }
    return table;
  }

  static TextTable Points(const std::vector<wire::Series>& chosen, const StepWindow& window) {
    TextTable table({{"TIME"}, {"HOST"}, {"DEVICE"}, {"VALUE", kRight}});
    for (const wire::Series& series : chosen) {
      for (const SeriesStep& step : CondenseToSteps(series, window)) {
        table.AddRow({WallText(step.wall_ns), series.host(), series.device().empty() ? "-" : series.device(),
                      NumberText(step.value)});
      }
    }
    return table;
  }

  static std::string Json(const std::vector<wire::Series>& chosen, const std::vector<wire::Gpu>& gpus,
                          const StepWindow& window) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const wire::Series& series : chosen) {
      nlohmann::ordered_json points = nlohmann::ordered_json::array();
      for (const SeriesStep& step : CondenseToSteps(series, window)) {
        points.push_back({step.wall_ns, step.value});
      }
      all.push_back({{"metric", series.metric()},
                     {"host", series.host()},
                     {"device", series.device()},
                     {"gpus", GpusOf(series, gpus)},
                     {"points", std::move(points)}});
    }
    const nlohmann::ordered_json answer = {{"from_wall_ns", window.from_ns},
                                           {"to_wall_ns", window.to_ns},
                                           {"step_ns", window.step_ns},
                                           {"series", std::move(all)}};
    return absl::StrCat(JsonText(answer, /*indented=*/true), "\n");
  }

  static nlohmann::ordered_json GpusOf(const wire::Series& series, const std::vector<wire::Gpu>& gpus) {
    nlohmann::ordered_json own = nlohmann::ordered_json::array();
    for (const wire::Gpu& gpu : gpus) {
      if (gpu.host() == series.host() && gpu.index() == GpuIndexOf(series.device())) own.push_back(ToJson(gpu));
    }
    return own;
  }

  std::string query_;
  std::string since_ = "10m";
  std::string step_ = "10s";
  bool rate_ = false;
  bool points_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeHistoryCommand() { return std::make_unique<HistoryCommand>(); }

}  // namespace lockstep
