// Times, durations and numbers as people read them. Pure.

#ifndef LOCKSTEP_CLI_RENDER_QUANTITY_TEXT_H_
#define LOCKSTEP_CLI_RENDER_QUANTITY_TEXT_H_

#include <cstdint>
#include <string>

namespace lockstep {

// "2026-01-02 03:04:05 UTC"; "-" for 0.
std::string WallText(int64_t wall_ns);

// "03:04:05.678": the time of day in UTC; "-" for 0.
std::string TimeOfDayText(int64_t wall_ns);

// Two units at most: "850ms", "8.2s", "3m12s", "5h07m", "12d03h". A negative duration (clocks of two hosts) is "0ms".
std::string DurationText(int64_t nanos);

// How long ago `wall_ns` was at `now_wall_ns`; "-" if `wall_ns` is 0.
std::string AgeText(int64_t wall_ns, int64_t now_wall_ns);

// "35 %", "4.2 %": two significant digits.
std::string PercentText(double fraction);

// Seconds with three significant digits and a unit: "52.3 ms", "1.21 s"; "-" for 0, which the collector sends for
// "unknown".
std::string SecondsText(double seconds);

// At most six significant digits.
std::string NumberText(double value);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_QUANTITY_TEXT_H_
