#include "eval/minder/default_minder.h"

#include <iterator>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/check.h"

namespace lockstep {
namespace {

constexpr unsigned char kModelFile[] = {
#include "models/minder_default.inc"
};

}  // namespace

MinderModel DefaultMinderModel() {
  absl::StatusOr<MinderModel> model = DecodeMinderModel(std::string(std::begin(kModelFile), std::end(kModelFile)));
  CHECK(model.ok());
  return *std::move(model);
}

}  // namespace lockstep
