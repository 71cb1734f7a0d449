// What is evaluated live: the engine of one job as the collector drives it. Everything that this evaluation knows of
// the engine's interface is here.
//
// Engines are made for one episode and belong to one thread; not thread-safe. Factories are thread-safe.

#ifndef LOCKSTEP_EVAL_LIVE_LIVE_ENGINE_H_
#define LOCKSTEP_EVAL_LIVE_LIVE_ENGINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "detector/engine/job_engine.h"
#include "detector/model/input.h"
#include "detector/model/place_table.h"

namespace lockstep {

class LiveEngine {
 public:
  virtual ~LiveEngine() = default;

  virtual void ObservePlaces(const std::string& host, const Places& places) = 0;
  virtual void Observe(const HostReport& report) = 0;
  virtual JobEngine::Conclusion Evaluate(int64_t watermark_ns) = 0;
  virtual JobSummary summary() const = 0;
};

using LiveEngineFactory = std::function<std::unique_ptr<LiveEngine>()>;

// The collector's own, through its pipeline.
LiveEngineFactory CollectorEngine(const JobEngineOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_LIVE_LIVE_ENGINE_H_
