#include "sim/stage_transfers.h"

namespace lockstep {

PipelineTransfers::PipelineTransfers(int32_t stages, int32_t virtual_stages)
    : stages_(stages), virtual_stages_(virtual_stages), of_pair_(static_cast<size_t>(stages) * stages, 0) {}

int32_t PipelineTransfers::IndexOf(bool forward, int32_t microbatch, int32_t sender) {
  const auto [found, fresh] = crossings_.emplace(Crossing{forward, microbatch, sender}, transfers_.size());
  if (fresh) transfers_.emplace_back();
  return static_cast<int32_t>(found->second);
}

void PipelineTransfers::NoteSource(int32_t transfer, int32_t stage, int32_t target, int32_t handle, int32_t record) {
  Transfer& known = transfers_[static_cast<size_t>(transfer)];
  known.source_stage = stage;
  known.source_handle = handle;
  known.source_record = record;
  known.index_in_pair = of_pair_[static_cast<size_t>(stage * stages_ + target)]++;
}

void PipelineTransfers::NoteTarget(int32_t transfer, int32_t stage, int32_t handle, int32_t record) {
  Transfer& known = transfers_[static_cast<size_t>(transfer)];
  known.target_stage = stage;
  known.target_handle = handle;
  known.target_record = record;
}

StageTransfers::StageTransfers(int32_t stage, uint64_t bytes, StageWriter* writer, PipelineTransfers* all)
    : stage_(stage), bytes_(bytes), writer_(writer), all_(all) {
  last_on_stream_.fill(-1);
}

bool StageTransfers::Sends(const Pass& pass) const {
  return pass.forward ? VirtualStage(pass) + 1 < all_->all_virtual_stages() : VirtualStage(pass) > 0;
}

bool StageTransfers::Receives(const Pass& pass) const {
  return pass.forward ? VirtualStage(pass) > 0 : VirtualStage(pass) + 1 < all_->all_virtual_stages();
}

int32_t StageTransfers::Send(const Pass& pass, Stream stream) {
  if (!Sends(pass)) return -1;
  const int32_t handle = Open(stream);
  AddSend(pass, handle);
  return handle;
}

int32_t StageTransfers::Receive(const Pass& pass, Stream stream) {
  if (!Receives(pass)) return -1;
  const int32_t handle = Open(stream);
  AddReceive(pass, handle);
  return handle;
}

int32_t StageTransfers::Exchange(const Pass& sent, const Pass& received) {
  if (!Sends(sent) && !Receives(received)) return -1;
  const int32_t handle = Open(kGrouped);
  if (Sends(sent)) AddSend(sent, handle);
  if (Receives(received)) AddReceive(received, handle);
  return handle;
}

int32_t StageTransfers::Open(Stream stream) {
  last_on_stream_[stream] = writer_->OpenTransfers(last_on_stream_[stream], bytes_);
  return last_on_stream_[stream];
}

void StageTransfers::AddSend(const Pass& pass, int32_t handle) {
  const int32_t sender = VirtualStage(pass);
  const int32_t transfer = all_->IndexOf(pass.forward, pass.microbatch, sender);
  const int32_t target = (sender + (pass.forward ? 1 : -1)) % all_->stages();
  all_->NoteSource(transfer, stage_, target, handle, writer_->AddTransfer(handle, transfer));
}

void StageTransfers::AddReceive(const Pass& pass, int32_t handle) {
  const int32_t sender = VirtualStage(pass) - (pass.forward ? 1 : -1);
  const int32_t transfer = all_->IndexOf(pass.forward, pass.microbatch, sender);
  all_->NoteTarget(transfer, stage_, handle, writer_->AddTransfer(handle, transfer));
}

}  // namespace lockstep
