#include "detector/verdict/signal_names.h"

#include <algorithm>
#include <iterator>

namespace lockstep {
namespace {

enum class Meaning : uint8_t { kAsks, kCrash, kOther };

struct SignalRow {
  int32_t number;
  const char* name;
  Meaning meaning;
};

// As on x86 and ARM.
constexpr SignalRow kSignals[] = {
    {1, "SIGHUP", Meaning::kAsks},    {2, "SIGINT", Meaning::kAsks},    {3, "SIGQUIT", Meaning::kAsks},
    {4, "SIGILL", Meaning::kCrash},   {5, "SIGTRAP", Meaning::kCrash},  {6, "SIGABRT", Meaning::kOther},
    {7, "SIGBUS", Meaning::kCrash},   {8, "SIGFPE", Meaning::kCrash},   {9, "SIGKILL", Meaning::kOther},
    {10, "SIGUSR1", Meaning::kAsks},  {11, "SIGSEGV", Meaning::kCrash}, {12, "SIGUSR2", Meaning::kAsks},
    {13, "SIGPIPE", Meaning::kOther}, {14, "SIGALRM", Meaning::kOther}, {15, "SIGTERM", Meaning::kAsks},
    {24, "SIGXCPU", Meaning::kAsks},  {25, "SIGXFSZ", Meaning::kOther}, {31, "SIGSYS", Meaning::kCrash},
};

const SignalRow* Find(int32_t signal) {
  const auto* const row = std::find_if(std::begin(kSignals), std::end(kSignals),
                                       [signal](const SignalRow& known) { return known.number == signal; });
  return row == std::end(kSignals) ? nullptr : row;
}

bool Means(int32_t signal, Meaning meaning) {
  const SignalRow* const row = Find(signal);
  return row != nullptr && row->meaning == meaning;
}

}  // namespace

const char* SignalName(int32_t signal) {
  const SignalRow* const row = Find(signal);
  return row == nullptr ? "" : row->name;
}

bool IsRequestToEnd(int32_t signal) { return Means(signal, Meaning::kAsks); }

bool IsCrash(int32_t signal) { return Means(signal, Meaning::kCrash); }

}  // namespace lockstep
