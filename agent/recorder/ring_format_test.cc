// Pins layout version 1: every offset, and the bytes of a small scripted ring (testdata/ring_v1.hex).
//
// A failure here means that agents in the field would misread new recorders: raise kLayoutVersion and keep the old
// file.

#include "agent/recorder/ring_format.h"

#include <gtest/gtest.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <string>

#include "agent/recorder/ring_writer.h"
#include "agent/recorder/testing/ring_directory.h"

namespace lockstep::ring {
namespace {

struct Field {
  const char* name;
  size_t actual_offset;
  size_t documented_offset;
};

#define FIELD(type, name, documented_offset) \
  { #name, offsetof(type, name), documented_offset }

void ExpectOffsets(const Field* fields, size_t count) {
  for (size_t i = 0; i < count; ++i) EXPECT_EQ(fields[i].actual_offset, fields[i].documented_offset) << fields[i].name;
}

TEST(RingFormat, HeaderOffsets) {
  const Field fields[] = {
      FIELD(RingHeader, magic, 0),
      FIELD(RingHeader, layout_version, 8),
      FIELD(RingHeader, header_bytes, 12),
      FIELD(RingHeader, communicator_bytes, 16),
      FIELD(RingHeader, communicator_capacity, 20),
      FIELD(RingHeader, operation_bytes, 24),
      FIELD(RingHeader, operation_capacity, 28),
      FIELD(RingHeader, total_bytes, 32),
      FIELD(RingHeader, recorder_kind, 40),
      FIELD(RingHeader, library_version, 44),
      FIELD(RingHeader, abi_version, 48),
      FIELD(RingHeader, pid, 52),
      FIELD(RingHeader, process_start_ticks, 56),
      FIELD(RingHeader, opened_at_ns, 64),
      FIELD(RingHeader, opened_at_wall_ns, 72),
      FIELD(RingHeader, rank, 80),
      FIELD(RingHeader, world_size, 84),
      FIELD(RingHeader, local_rank, 88),
      FIELD(RingHeader, gpu_index, 92),
      FIELD(RingHeader, gpu_uuid, 96),
      FIELD(RingHeader, host, 144),
      FIELD(RingHeader, job, 208),
      FIELD(RingHeader, recorder_version, 336),
      FIELD(RingHeader, state, 368),
      FIELD(RingHeader, disabled_reason, 372),
      FIELD(RingHeader, active_mask, 376),
      FIELD(RingHeader, next_ticket, 384),
      FIELD(RingHeader, communicator_count, 392),
      FIELD(RingHeader, transfer_capacity, 396),
      FIELD(RingHeader, gpu_pci_address, 400),
      FIELD(RingHeader, readable_since, 424),
      FIELD(RingHeader, counters, 512),
      FIELD(RingHeader, counters.enqueued, 512),
      FIELD(RingHeader, counters.finished, 520),
      FIELD(RingHeader, counters.lost, 528),
      FIELD(RingHeader, counters.communicators_dropped, 536),
      FIELD(RingHeader, counters.events_ignored, 544),
      FIELD(RingHeader, control, 576),
      FIELD(RingHeader, control.event_mask, 576),
      FIELD(RingHeader, control.expires_at_ns, 584),
      FIELD(RingHeader, nccl, 640),
      FIELD(RingHeader, nccl.callback_ns, 648),
      FIELD(RingHeader, nccl.governor_level, 656),
      FIELD(RingHeader, nccl.governor_changes, 660),
      FIELD(RingHeader, nccl.clock_kind, 664),
      FIELD(RingHeader, nccl.clock_error_ns, 668),
      FIELD(RingHeader, nccl.gpu_clock_error_ns, 672),
      FIELD(RingHeader, nccl.chain_state, 676),
      FIELD(RingHeader, nccl.timer_conflicts, 680),
      FIELD(RingHeader, nccl.kernel_events_missing, 688),
      FIELD(RingHeader, nccl.foreign_masks, 696),
      FIELD(RingHeader, nccl.transfers_dropped, 704),
  };
  ExpectOffsets(fields, std::size(fields));
  EXPECT_EQ(sizeof(RingHeader), 1024U);
}

TEST(RingFormat, CommunicatorOffsets) {
  const Field fields[] = {
      FIELD(CommunicatorEntry, ready, 0),
      FIELD(CommunicatorEntry, size, 4),
      FIELD(CommunicatorEntry, rank, 8),
      FIELD(CommunicatorEntry, node_count, 12),
      FIELD(CommunicatorEntry, id, 16),
      FIELD(CommunicatorEntry, created_at_ns, 24),
      FIELD(CommunicatorEntry, name, 32),
      FIELD(CommunicatorEntry, enqueued, 96),
      FIELD(CommunicatorEntry, started, 104),
      FIELD(CommunicatorEntry, finished, 112),
      FIELD(CommunicatorEntry, changed_at_ns, 120),
  };
  ExpectOffsets(fields, std::size(fields));
  EXPECT_EQ(sizeof(CommunicatorEntry), 128U);
}

TEST(RingFormat, OperationOffsets) {
  const Field fields[] = {
      FIELD(OperationSlot, version, 0),
      FIELD(OperationSlot, state, 4),
      FIELD(OperationSlot, kind, 5),
      FIELD(OperationSlot, timing_quality, 6),
      FIELD(OperationSlot, flags, 7),
      FIELD(OperationSlot, ticket, 8),
      FIELD(OperationSlot, sequence, 16),
      FIELD(OperationSlot, bytes, 24),
      FIELD(OperationSlot, enqueued_at_ns, 32),
      FIELD(OperationSlot, started_at_ns, 40),
      FIELD(OperationSlot, finished_at_ns, 48),
      FIELD(OperationSlot, communicator, 56),
      FIELD(OperationSlot, peer, 60),
      FIELD(OperationSlot, datatype_bytes, 64),
      FIELD(OperationSlot, channels, 68),
      FIELD(OperationSlot, algorithm, 70),
      FIELD(OperationSlot, protocol, 71),
      FIELD(OperationSlot, waited_ns, 72),
      FIELD(OperationSlot, thread_id, 80),
      FIELD(OperationSlot, channels_started, 84),
      FIELD(OperationSlot, channels_finished, 86),
      FIELD(OperationSlot, timing_error_ns, 88),
  };
  ExpectOffsets(fields, std::size(fields));
  EXPECT_EQ(sizeof(OperationSlot), 128U);
}

TEST(RingFormat, TransferOffsets) {
  const Field fields[] = {
      FIELD(TransferWaits, ready, 0),     FIELD(TransferWaits, communicator, 4),   FIELD(TransferWaits, peer, 8),
      FIELD(TransferWaits, is_send, 12),  FIELD(TransferWaits, steps, 16),         FIELD(TransferWaits, bytes, 24),
      FIELD(TransferWaits, waits_ns, 32), FIELD(TransferWaits, changed_at_ns, 56),
  };
  ExpectOffsets(fields, std::size(fields));
  EXPECT_EQ(sizeof(TransferWaits), 64U);
}

TEST(RingFormat, MagicReadsAsTextInMemory) { EXPECT_EQ(memcmp(&kMagic, "LOCKRING", sizeof(kMagic)), 0); }

// 16 bytes per line, lines of zeros left out.
std::string HexDump(const std::string& bytes) {
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 16) {
    const std::string line = bytes.substr(at, 16);
    if (line.find_first_not_of('\0') == std::string::npos) continue;
    char word[32];
    snprintf(word, sizeof(word), "%06zx:", at);
    text += word;
    for (unsigned char byte : line) {
      snprintf(word, sizeof(word), " %02x", byte);
      text += word;
    }
    text += '\n';
  }
  return text;
}

// One of everything: a finished, a started, an enqueued and a lost operation; two communicators, one of them freed.
void RunScript(RingWriter* writer) {
  const uint32_t world =
      writer->FindOrAddCommunicator({.id = 0x1111, .size = 4, .rank = 2, .node_count = 1, .name = "world"}, 1000);
  const uint32_t pair = writer->FindOrAddCommunicator({.id = 0x2222, .size = 2, .rank = 0, .name = ""}, 1100);
  const OperationHandle lost = writer->Begin({.kind = OperationKind::kBarrier, .communicator = pair}, 2000);
  for (int64_t i = 0; i < 5; ++i) {
    const OperationHandle done = writer->Begin(
        {.kind = OperationKind::kAllReduce, .started = true, .communicator = world, .bytes = 4096, .datatype_bytes = 4},
        3000 + 100 * i);
    writer->Finish(done, {}, 3050 + 100 * i);
  }
  writer->Finish(lost, {}, 3900);
  const OperationHandle received = writer->Begin({.kind = OperationKind::kRecv,
                                                  .timing_quality = TimingQuality::kHostEnqueue,
                                                  .flags = kFlagNonBlocking,
                                                  .started = true,
                                                  .communicator = pair,
                                                  .sequence = 7,
                                                  .bytes = 80,
                                                  .peer = kAnyPeer,
                                                  .datatype_bytes = 8},
                                                 4000);
  writer->Finish(received, {.waited_ns = 30, .peer = 1}, 4100);
  const OperationHandle hanging = writer->Begin(
      {.kind = OperationKind::kBroadcast, .flags = kFlagRooted, .communicator = world, .bytes = 16, .peer = 3}, 5000);
  writer->Start(hanging, 5010);
  writer->Begin({.kind = OperationKind::kAllGather, .communicator = pair, .bytes = 64, .datatype_bytes = 1}, 6000);
  writer->FreeCommunicator(pair);
}

// What depends on the machine and the moment.
void Normalize(std::string* bytes) {
  auto* header = reinterpret_cast<RingHeader*>(bytes->data());
  header->pid = 4242;
  header->process_start_ticks = 99;
  header->opened_at_ns = 500;
  header->opened_at_wall_ns = 1'700'000'000'000'000'000;
  memset(header->host, 0, sizeof(header->host));
  memcpy(header->host, "node-17", 7);
  auto* slots = reinterpret_cast<OperationSlot*>(bytes->data() + FileBytes(header->communicator_capacity, 0));
  for (uint32_t i = 0; i < header->operation_capacity; ++i) {
    if (slots[i].state != static_cast<uint8_t>(OperationState::kEmpty)) slots[i].thread_id = 4242;
  }
}

TEST(RingFormat, GoldenBytesOfAScriptedRing) {
  RingDirectory directory;
  RingWriter writer;
  ASSERT_TRUE(writer.Open({.directory = directory.path().c_str(),
                           .kind = RecorderKind::kMpi,
                           .library_version = 301,
                           .communicator_capacity = 3,
                           .operation_capacity = 4,
                           .rank = 2,
                           .world_size = 4,
                           .local_rank = 2,
                           .job = "golden"}));
  RunScript(&writer);
  std::string bytes = directory.OnlyRing();
  ASSERT_EQ(bytes.size(), FileBytes(3, 4));
  Normalize(&bytes);
  EXPECT_EQ(HexDump(bytes), ReadFile("agent/recorder/testdata/ring_v1.hex"));
}

}  // namespace
}  // namespace lockstep::ring
