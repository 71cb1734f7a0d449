#include "agent/resume_point.h"

#include "proto/resume.pb.h"

namespace lockstep {

std::string NewerResumePoint(const std::string& a, const std::string& b) {
  wire::ResumePoint point_a, point_b;
  if (b.empty() || !point_b.ParseFromString(b)) return a;
  if (a.empty() || !point_a.ParseFromString(a)) return b;
  if (point_a.of_another_boot() != point_b.of_another_boot()) return point_a.of_another_boot() ? b : a;
  return point_b.monotonic_ns() > point_a.monotonic_ns() ? b : a;
}

std::string ResumePointOfAnotherBoot(const std::string& point) {
  wire::ResumePoint before, after;
  if (point.empty() || !before.ParseFromString(point)) return "";
  after.set_of_another_boot(true);
  after.mutable_worked()->Swap(before.mutable_worked());
  return after.SerializeAsString();
}

}  // namespace lockstep
