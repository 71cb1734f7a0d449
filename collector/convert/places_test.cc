#include "collector/convert/places.h"

#include <string>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

void Add(int kind, const std::string& name, WirePlaces* places) {
  wire::Place* const place = places->Add();
  place->set_kind(static_cast<wire::PlaceKind>(kind));
  place->set_name(name);
}

TEST(PlacesTest, SurviveTheWire) {
  const Places places = {"r12", "leaf-3", "", "ubuntu-24.04"};
  ConvertLosses losses;
  EXPECT_EQ(ToPlaces(ToWire(places), losses), places);
  EXPECT_EQ(ToWire(places).size(), 3);
  EXPECT_EQ(ToPlaces(ToWire({}), losses), Places());
  EXPECT_EQ(losses.odd_places, 0u);
}

TEST(PlacesTest, KindsAreThoseOfTheWire) {
  WirePlaces wire;
  Add(wire::PLACE_KIND_RACK, "rack", &wire);
  Add(wire::PLACE_KIND_LEAF, "leaf", &wire);
  Add(wire::PLACE_KIND_POWER, "power", &wire);
  Add(wire::PLACE_KIND_IMAGE, "image", &wire);
  ConvertLosses losses;
  const Places places = ToPlaces(wire, losses);
  EXPECT_EQ(places[static_cast<size_t>(PlaceKind::kRack)], "rack");
  EXPECT_EQ(places[static_cast<size_t>(PlaceKind::kLeaf)], "leaf");
  EXPECT_EQ(places[static_cast<size_t>(PlaceKind::kPower)], "power");
  EXPECT_EQ(places[static_cast<size_t>(PlaceKind::kImage)], "image");
}

TEST(PlacesTest, WhatIsOddIsLeftOutAndCounted) {
  WirePlaces wire;
  Add(wire::PLACE_KIND_RACK, "r1", &wire);
  Add(wire::PLACE_KIND_RACK, "r2", &wire);  // a second one of the kind
  Add(0, "nowhere", &wire);
  Add(99, "of a newer agent", &wire);
  Add(wire::PLACE_KIND_LEAF, std::string(kMaxPlaceBytes + 1, 'l'), &wire);
  Add(wire::PLACE_KIND_POWER, "feed\n1", &wire);
  Add(wire::PLACE_KIND_IMAGE, "", &wire);  // not known, which is nothing odd
  ConvertLosses losses;
  EXPECT_EQ(ToPlaces(wire, losses), (Places{"r1", "", "", ""}));
  EXPECT_EQ(losses.odd_places, 5u);
}

TEST(PlacesTest, EntriesBeyondTheLimitAreNotLookedAt) {
  WirePlaces wire;
  for (int i = 0; i < kMaxPlacesPerHost; ++i) Add(wire::PLACE_KIND_RACK, "", &wire);
  Add(wire::PLACE_KIND_RACK, "r1", &wire);
  ConvertLosses losses;
  EXPECT_EQ(ToPlaces(wire, losses), Places());
  EXPECT_EQ(losses.odd_places, 1u);
}

}  // namespace
}  // namespace lockstep
