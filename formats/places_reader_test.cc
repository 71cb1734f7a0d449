#include "formats/places_reader.h"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>

#include "base/testing/status_matchers.h"
#include "detector/model/place_table.h"
#include "formats/byte_source.h"
#include "formats/read_result.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

ReadResult Read(const std::string& text, PlaceTable& places) {
  return ReadPlaces(**ByteSource::FromStream(std::make_unique<std::istringstream>(text)), places);
}

TEST(PlacesReaderTest, ReadsColumnsInAnyOrderAndOfAnyNumber) {
  PlaceTable places;
  EXPECT_OK(Read("rack,serial,host,image\nr1,x,a,v7\n,y,b,\n", places).status);
  ASSERT_EQ(places.of_host.size(), 2u);
  EXPECT_EQ(places.of_host["a"], (Places{"r1", "", "", "v7"}));
  EXPECT_EQ(places.of_host["b"], Places());
}

TEST(PlacesReaderTest, TheLaterRowCounts) {
  PlaceTable places;
  EXPECT_OK(Read("host,power,leaf\na,p1,l1\na,p2,\n", places).status);
  EXPECT_EQ(places.of_host["a"], (Places{"", "", "p2", ""}));
}

TEST(PlacesReaderTest, AHostHasAName) {
  PlaceTable places;
  const ReadResult result = Read("host,rack\n,r1\nb,r2\n", places);
  EXPECT_THAT(result.status.message(), HasSubstr("column 'host': expected a name"));
  EXPECT_EQ(places.of_host.size(), 1u);
  EXPECT_FALSE(Read("rack\nr1\n", places).status.ok());
}

}  // namespace
}  // namespace lockstep
