// Resume points as they are passed around: wire::ResumePoint, serialized; "" = none. Pure; what does not parse is none.

#ifndef LOCKSTEP_AGENT_RESUME_POINT_H_
#define LOCKSTEP_AGENT_RESUME_POINT_H_

#include <string>

namespace lockstep {

// The newer one of two; the first if they are as old.
std::string NewerResumePoint(const std::string& a, const std::string& b);

// What a point of another boot of this host still says.
std::string ResumePointOfAnotherBoot(const std::string& point);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_RESUME_POINT_H_
