// How a simulated episode is played: agents of all its hosts, which fall silent and lose processes as the truth says.
//
// Its hosts are those of its trace, in the same order, and behind them any with samples alone; their clocks are those
// of the trace, moved into the positive by kBootNanos. Pure.

#ifndef LOCKSTEP_SIM_CAPTURE_EPISODE_PLAYBACK_H_
#define LOCKSTEP_SIM_CAPTURE_EPISODE_PLAYBACK_H_

#include "sim/capture/playback.h"
#include "sim/episode.h"

namespace lockstep {

// `episode` must outlive the playback.
Playback PlaybackOf(const Episode& episode);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_CAPTURE_EPISODE_PLAYBACK_H_
