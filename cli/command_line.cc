#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "cli/collector_client.h"
#include "cli/command.h"
#include "cli/commands/command_table.h"
#include "cli/commands/global_options.h"
#include "daemon/tls/tls_files.h"
#include "daemon/version.h"

namespace lockstep {
namespace {

constexpr char kDefaultCollector[] = "127.0.0.1:7070";
constexpr char kFooter[] =
    "Exit codes: 0 ok, 1 findings, 2 usage, 3 input unreadable, 4 collector unreachable, 5 not found,\n"
    "6 not allowed.\n"
    "`lockstep VERB --help` shows the arguments of a verb and an example.";

struct GlobalOptions {
  std::string collector;
  CollectorKeys keys;
  std::string output = "table";
};

// A verb with its command and its part of the parser.
struct ParsedVerb {
  std::unique_ptr<Command> command;
  CLI::App* parser = nullptr;  // owned by the parent parser
};

bool IsPositional(const CommandArgument& argument) { return argument.name[0] != '-'; }

// What is wrong with it; empty = nothing.
std::string RefuseNegative(const std::string& text) {
  return text.empty() || text[0] != '-' ? "" : absl::StrCat("expected a number from 0 on, found '", text, "'");
}

void AddArgument(CLI::App& parser, const CommandArgument& argument) {
  std::visit(
      [&](auto* target) {
        using Target = std::remove_pointer_t<decltype(target)>;
        CLI::Option* option = nullptr;
        if constexpr (std::is_same_v<Target, bool>) {
          option = parser.add_flag(argument.name, *target, argument.help);
        } else {
          option = parser.add_option(argument.name, *target, argument.help);
          // Else -1 is the largest number there is.
          if constexpr (std::is_unsigned_v<Target>) option->check(RefuseNegative, "");
          const bool one_value = !std::is_same_v<Target, std::vector<std::string>>;
          if (one_value && !IsPositional(argument) && !argument.required) option->capture_default_str();
        }
        option->required(argument.required);
      },
      argument.target);
}

std::vector<ParsedVerb> AddVerbs(CLI::App& parser) {
  std::vector<ParsedVerb> verbs;
  for (const Verb& verb : AllVerbs()) {
    ParsedVerb& parsed = verbs.emplace_back();
    parsed.command = verb.make();
    parsed.parser = parser.add_subcommand(verb.name, verb.summary);
    parsed.parser->footer(absl::StrCat("Example:\n  ", verb.example));
    for (const CommandArgument& argument : parsed.command->arguments()) AddArgument(*parsed.parser, argument);
  }
  return verbs;
}

void AddGlobals(CLI::App& parser, GlobalOptions& options) {
  TlsFiles& files = options.keys.security.files;
  const std::map<absl::string_view, std::string*> targets = {{"--collector", &options.collector},
                                                             {"--tls-ca", &files.authorities},
                                                             {"--tls-certificate", &files.certificate},
                                                             {"--tls-key", &files.key},
                                                             {"--tls-server-name", &options.keys.security.server_name},
                                                             {"--token-file", &options.keys.token_file},
                                                             {"-o,--output", &options.output}};
  for (const GlobalOption& global : kGlobalOptions) {
    CLI::Option* option = parser.add_option(global.name, *targets.at(global.name), global.help);
    if (!targets.at(global.name)->empty()) option->capture_default_str();
    if (global.choices.empty()) continue;
    option->check(CLI::IsMember(std::vector<std::string>(global.choices.begin(), global.choices.end())));
  }
  parser.set_version_flag("--version", absl::StrCat("lockstep ", kVersion));
  parser.require_subcommand(1);
  parser.fallthrough();
  parser.footer(kFooter);
}

ExitCode Fail(const absl::Status& status, const CommandLineEnvironment& environment) {
  environment.err << "lockstep: " << status.message() << std::endl;
  return ExitCodeOf(status);
}

// Fills options and commands. The library reports by throwing: nothing of it leaves this function. True = go on.
bool Parse(CLI::App& parser, std::vector<std::string> arguments, const CommandLineEnvironment& environment,
           ExitCode& exit_code) {
  std::reverse(arguments.begin(), arguments.end());  // the library takes them from the back
  try {
    parser.parse(std::move(arguments));
    return true;
  } catch (const CLI::CallForVersion& version) {
    environment.out << version.what() << "\n";
    exit_code = ExitCode::kOk;
  } catch (const CLI::Success&) {  // --help
    environment.out << parser.help();
    exit_code = ExitCode::kOk;
  } catch (const CLI::ParseError& error) {
    // For a verb that does not exist the library only says that one is missing.
    const std::vector<std::string> unknown = parser.remaining();
    const bool no_such_verb = parser.get_subcommands().empty() && !unknown.empty();
    environment.err << "lockstep: "
                    << (no_such_verb ? absl::StrCat("unknown command '", unknown[0], "'") : error.what())
                    << " (try --help)" << std::endl;
    exit_code = ExitCode::kUsage;
  }
  return false;
}

ExitCode RunParsed(Command& command, const GlobalOptions& options, const CommandLineEnvironment& environment) {
  const absl::Status address = CheckCollectorAddress(options.collector);
  if (!address.ok()) return Fail(address, environment);
  CollectorClient collector(options.collector, CollectorClient::kDefaultDeadlineNanos,
                            "--collector or LOCKSTEP_COLLECTOR", options.keys);
  CommandContext context{collector,          options.output == "json" ? OutputFormat::kJson : OutputFormat::kTable,
                         environment.out,    environment.err,
                         environment.width,  environment.progress,
                         environment.clock,  options.keys,
                         environment.colour, environment.height};
  const absl::StatusOr<ExitCode> result = command.Run(context);
  if (!result.ok()) return Fail(result.status(), environment);
  environment.out.flush();
  if (!environment.out) return Fail(absl::FailedPreconditionError("cannot write the output"), environment);
  return *result;
}

}  // namespace

ExitCode RunCommandLine(const std::vector<std::string>& arguments, const CommandLineEnvironment& environment) {
  CLI::App parser("Lockstep: who makes the training job slow or stuck, and why.", "lockstep");
  GlobalOptions options;
  options.collector = environment.collector.empty() ? kDefaultCollector : environment.collector;
  options.keys = environment.keys;
  AddGlobals(parser, options);
  const std::vector<ParsedVerb> verbs = AddVerbs(parser);
  ExitCode exit_code = ExitCode::kOk;
  if (!Parse(parser, arguments, environment, exit_code)) return exit_code;
  const auto chosen = std::find_if(verbs.begin(), verbs.end(), [](const ParsedVerb& v) { return v.parser->parsed(); });
  CHECK(chosen != verbs.end());  // require_subcommand
  return RunParsed(*chosen->command, options, environment);
}

}  // namespace lockstep
