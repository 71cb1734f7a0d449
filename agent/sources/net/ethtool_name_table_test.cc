#include "agent/sources/net/ethtool_name_table.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(EthtoolNameTableTest, KnowsWhatAConnectXCounts) {
  EXPECT_EQ(MetricOfEthtoolName("rx_discards_phy"), Metric::kNetReceiveDiscardsPhyTotal);
  EXPECT_EQ(MetricOfEthtoolName("rx_out_of_buffer"), Metric::kNetReceiveOutOfBufferTotal);
  EXPECT_EQ(MetricOfEthtoolName("rx_prio0_pause"), Metric::kNetReceivePauseFramesTotal);
  EXPECT_EQ(MetricOfEthtoolName("tx_prio7_pause"), Metric::kNetTransmitPauseFramesTotal);
  EXPECT_EQ(MetricOfEthtoolName("rx_prio3_pause_duration"), Metric::kNetReceivePauseMicrosecondsTotal);
  EXPECT_EQ(MetricOfEthtoolName("rx_ecn_mark"), Metric::kNetReceiveEcnMarkedTotal);
}

TEST(EthtoolNameTableTest, MatchesWholeNamesOnly) {
  for (const char* name : {"", "rx_prio_pause", "rx_prio10_pause", "rx_prioX_pause", "rx_prio3_pause_transition",
                           "rx0_out_of_buffer", "xrx_discards_phy", "rx_discards_phy_"}) {
    EXPECT_EQ(MetricOfEthtoolName(name), Metric::kUnspecified) << name;
  }
}

}  // namespace
}  // namespace lockstep
