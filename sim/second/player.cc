#include "sim/second/player.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/second/draws.h"
#include "sim/second/event_queue.h"
#include "sim/second/fabric.h"
#include "sim/second/flows.h"
#include "sim/second/meetings.h"
#include "sim/second/rank_state.h"
#include "sim/second/script.h"

namespace lockstep::second {
namespace {

constexpr uint64_t kSmallBytes = 256 << 10;  // below it only the latency counts

struct Event {
  enum class Kind : uint8_t { kHost, kKernelEnd, kStream, kFlowBegin, kFlowEnd, kDeath };
  Kind kind;
  int32_t index = 0;    // rank, or meeting of an operation
  uint64_t detail = 0;  // stream, or version
};

class Player {
 public:
  Player(const World& world, const Layout& layout, const std::vector<Fault>& faults)
      : world_(world),
        layout_(layout),
        faults_(faults),
        draws_(world.seed),
        fabric_(world, layout, faults),
        script_(world, layout, faults, fabric_),
        flows_(fabric_),
        meetings_(layout, fabric_),
        ranks_(static_cast<size_t>(layout.ranks())),
        ends_(static_cast<size_t>(world.calendar.steps), 0),
        ends_seen_(static_cast<size_t>(world.calendar.steps), 0) {
    playback_.operations.resize(ranks_.size());
    playback_.died_ns.assign(ranks_.size(), kNever);
  }

  Playback Run();

 private:
  int64_t now() const { return events_.now_ns(); }
  RankState& rank(int index) { return ranks_[static_cast<size_t>(index)]; }
  void Schedule(double at_ns, Event event) { events_.Schedule(static_cast<int64_t>(at_ns), event); }
  void Handle(const Event& event);

  void RunHost(int index);
  bool HostStep(int index);
  bool NextScript(int index);
  bool HostControl(int index, const Instruction& instruction);
  void Meet(int index, int group);
  void Launch(int index, const Instruction& instruction);
  void WakeHost(int index);

  void Advance(int index, int stream);
  bool Begin(int index, int stream, Item& item);
  void Pop(int index, int stream);
  void Fire(int index, int32_t event);
  void Mark(int index, const Item& item);
  void BeginKernel(int index, const Item& item);
  void Retime(int index);
  void EndKernel(int index, uint64_t version);

  void Arrive(int index, int stream, const Item& item);
  void BeginFlow(int number);
  void EndFlow(int number, uint64_t version);
  void Take(const std::vector<Flows::NewEnd>& ends);
  void ApplyFaults(int index, int step);
  void PlanHang(int index);
  void Die(int index);

  const World& world_;
  const Layout& layout_;
  const std::vector<Fault>& faults_;
  const Draws draws_;
  Fabric fabric_;
  const Script script_;
  Flows flows_;
  Meetings meetings_;
  EventQueue<Event> events_;
  std::vector<RankState> ranks_;
  std::map<std::pair<int, int>, int> host_meetings_;  // (group, step) -> arrived
  std::vector<int64_t> ends_;
  std::vector<int> ends_seen_;
  Playback playback_;
};

bool Holds(const std::vector<int>& all, int one) { return std::find(all.begin(), all.end(), one) != all.end(); }

Playback Player::Run() {
  for (int i = 0; i < layout_.ranks(); ++i) Schedule(0, {Event::Kind::kHost, i, 0});
  while (!events_.empty()) Handle(events_.Take());
  playback_.last_event_ns = now();
  for (size_t step = 0; step < ends_.size() && ends_seen_[step] == layout_.ranks(); ++step) {
    playback_.step_end_ns.push_back(ends_[step]);
  }
  playback_.hung = playback_.step_end_ns.size() < ends_.size();
  return std::move(playback_);
}

void Player::Handle(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kHost:
      return RunHost(event.index);
    case Event::Kind::kKernelEnd:
      return EndKernel(event.index, event.detail);
    case Event::Kind::kStream:
      return Advance(event.index, static_cast<int>(event.detail));
    case Event::Kind::kFlowBegin:
      return BeginFlow(event.index);
    case Event::Kind::kFlowEnd:
      return EndFlow(event.index, event.detail);
    case Event::Kind::kDeath:
      return Die(event.index);
  }
}

// --- Hosts ---

void Player::RunHost(int index) {
  while (!rank(index).dead && HostStep(index)) {
  }
}

bool Player::NextScript(int index) {
  RankState& own = rank(index);
  if (++own.step >= world_.calendar.steps) {
    own.wait = Wait::kForever;
    return false;
  }
  own.script = script_.Step(index, own.step, own.next_event);
  own.fired.resize(static_cast<size_t>(own.next_event), 0);
  own.next = 0;
  PlanHang(index);
  return true;
}

// One instruction; false = the host goes on later.
bool Player::HostStep(int index) {
  RankState& own = rank(index);
  if (own.wait == Wait::kForever) return false;
  if (own.next >= own.script.size() && !NextScript(index)) return false;
  if (own.next == own.stop_at) {
    own.wait = Wait::kForever;
    return false;
  }
  const Instruction& instruction = own.script[own.next];
  if (instruction.kind >= Instruction::Kind::kHostWork) return HostControl(index, instruction);
  if (own.outstanding >= world_.host.queue_depth) {
    own.wait = Wait::kRoom;
    return false;
  }
  const double host_ns = instruction.host_ns;
  Launch(index, instruction);
  ++own.next;
  if (host_ns < 1) return true;
  Schedule(static_cast<double>(now()) + host_ns, {Event::Kind::kHost, index, 0});
  return false;
}

bool Player::HostControl(int index, const Instruction& instruction) {
  RankState& own = rank(index);
  own.wait = Wait::kNothing;
  switch (instruction.kind) {
    case Instruction::Kind::kHostWork:
      ++own.next;
      Schedule(static_cast<double>(now()) + instruction.host_ns, {Event::Kind::kHost, index, 0});
      return false;
    case Instruction::Kind::kHostDrain:
      own.wait = own.outstanding == 0 ? Wait::kNothing : Wait::kDrain;
      break;
    case Instruction::Kind::kHostAwait:
      own.wait_event = instruction.event;
      own.wait = own.fired[static_cast<size_t>(instruction.event)] ? Wait::kNothing : Wait::kEvent;
      break;
    default:
      own.wait = Wait::kMeeting;
      ++own.next;
      Meet(index, instruction.group);
      return false;
  }
  if (own.wait != Wait::kNothing) return false;
  ++own.next;
  return true;
}

void Player::Meet(int index, int group) {
  const std::vector<int>& members = layout_.group(group).members;
  int& arrived = host_meetings_[{group, rank(index).step}];
  if (++arrived < static_cast<int>(members.size())) return;
  for (const int member : members) {
    rank(member).wait = Wait::kNothing;
    Schedule(static_cast<double>(now()) + world_.network.latency_ns, {Event::Kind::kHost, member, 0});
  }
}

// The host looks again at what it waits for.
void Player::WakeHost(int index) {
  RankState& own = rank(index);
  const bool may_go = (own.wait == Wait::kRoom && own.outstanding < world_.host.queue_depth) ||
                      (own.wait == Wait::kDrain && own.outstanding == 0) ||
                      (own.wait == Wait::kEvent && own.fired[static_cast<size_t>(own.wait_event)]);
  if (!may_go) return;
  own.wait = Wait::kNothing;
  Schedule(static_cast<double>(now()), {Event::Kind::kHost, index, 0});
}

void Player::Launch(int index, const Instruction& instruction) {
  RankState& own = rank(index);
  Item item{.instruction = instruction, .step = own.step};
  item.launched_ns = now() + static_cast<int64_t>(instruction.host_ns);
  if (own.next == own.freeze_at) own.frozen_kernel = true;
  if (instruction.kind == Instruction::Kind::kCall) {
    if (Mismatches(faults_, index, instruction.group, own.step)) {
      item.instruction.operation = instruction.operation == OperationKind::kAllReduce ? OperationKind::kReduceScatter
                                                                                      : OperationKind::kAllReduce;
    }
    item.sequence = own.sequences[meetings_.ChannelOf(index, instruction)]++;
    auto& operations = playback_.operations[static_cast<size_t>(index)];
    item.record = static_cast<int64_t>(operations.size());
    operations.push_back({item.instruction.operation, instruction.group, instruction.peer, own.step, instruction.stream,
                          item.sequence, instruction.bytes, now(), kNever, kNever});
  }
  ++own.outstanding;
  own.streams[instruction.stream].queue.push_back(std::move(item));
  Advance(index, instruction.stream);
}

// --- Streams ---

void Player::Advance(int index, int stream) {
  while (true) {
    RankState& own = rank(index);
    StreamState& state = own.streams[static_cast<size_t>(stream)];
    if (own.dead || state.busy || state.queue.empty() || now() < state.free_ns) return;
    if (!Begin(index, stream, state.queue.front())) return;
  }
}

// False = the item stays: it runs or waits.
bool Player::Begin(int index, int stream, Item& item) {
  const Instruction& instruction = item.instruction;
  StreamState& state = rank(index).streams[static_cast<size_t>(stream)];
  switch (instruction.kind) {
    case Instruction::Kind::kRecord: {
      const int32_t event = instruction.event;
      Pop(index, stream);
      Fire(index, event);
      return true;
    }
    case Instruction::Kind::kAwait:
      if (!rank(index).fired[static_cast<size_t>(instruction.event)]) return false;
      Pop(index, stream);
      return true;
    case Instruction::Kind::kKernel:
      state.busy = true;
      BeginKernel(index, item);
      return false;
    case Instruction::Kind::kCall:
      state.busy = true;
      Arrive(index, stream, item);
      return false;
    default:
      Mark(index, item);
      Pop(index, stream);
      return true;
  }
}

void Player::Pop(int index, int stream) {
  rank(index).streams[static_cast<size_t>(stream)].queue.pop_front();
  --rank(index).outstanding;
  WakeHost(index);
}

void Player::Fire(int index, int32_t event) {
  rank(index).fired[static_cast<size_t>(event)] = 1;
  WakeHost(index);
  for (int stream = 0; stream < kStreams; ++stream) {
    const StreamState& state = rank(index).streams[static_cast<size_t>(stream)];
    const bool waits = !state.busy && !state.queue.empty() &&
                       state.queue.front().instruction.kind == Instruction::Kind::kAwait &&
                       state.queue.front().instruction.event == event;
    if (waits) Advance(index, stream);
  }
}

void Player::Mark(int index, const Item& item) {
  const auto step = static_cast<size_t>(item.step);
  if (item.instruction.kind == Instruction::Kind::kStepEnd) {
    ends_[step] = std::max(ends_[step], now());
    ++ends_seen_[step];
    return;
  }
  ApplyFaults(index, item.step);
  rank(index).last_begin_ns = now();
}

void Player::BeginKernel(int index, const Item& item) {
  RankState& own = rank(index);
  if (own.frozen_kernel && item.step == faults_[0].onset_step) return;  // never ends
  own.kernel = {true, item.instruction.gpu_ns, 1, now(), own.kernel.version, item.launched_ns};
  Retime(index);
}

// Running operations take a part of the GPU away from what computes.
void Player::Retime(int index) {
  RankState& own = rank(index);
  Kernel& kernel = own.kernel;
  if (!kernel.running) return;
  kernel.left_ns = std::max(0.0, kernel.left_ns - static_cast<double>(now() - kernel.since_ns) * kernel.speed);
  kernel.since_ns = now();
  kernel.speed = own.operations_running > 0 ? 1 / (1 + world_.work.contention) : 1;
  const double end_ns = static_cast<double>(now()) + std::ceil(kernel.left_ns / kernel.speed);
  Schedule(std::max(end_ns, static_cast<double>(kernel.least_end_ns)),
           {Event::Kind::kKernelEnd, index, ++kernel.version});
}

void Player::EndKernel(int index, uint64_t version) {
  RankState& own = rank(index);
  if (own.dead || !own.kernel.running || own.kernel.version != version) return;
  own.kernel.running = false;
  own.streams[kCompute].busy = false;
  Pop(index, kCompute);
  Advance(index, kCompute);
}

// --- Operations ---

void Player::Arrive(int index, int stream, const Item& item) {
  const Instruction& instruction = item.instruction;
  playback_.operations[static_cast<size_t>(index)][static_cast<size_t>(item.record)].start_ns = now();
  const int number = meetings_.NumberOf(index, instruction, item.sequence);
  Meeting& meeting = meetings_[number];
  if (instruction.peer < 0 && meeting.operation != instruction.operation) meeting.stuck = true;
  int peer = -1;
  if (instruction.peer >= 0) peer = layout_.group(instruction.group).members[static_cast<size_t>(instruction.peer)];
  const bool sends = instruction.operation == OperationKind::kSend;
  if (GetsStuck(faults_, instruction.group, item.step, sends ? index : peer, sends ? peer : index))
    meeting.stuck = true;
  meeting.arrived.emplace_back(index, static_cast<Stream>(stream));
  ++rank(index).operations_running;
  Retime(index);
  if (static_cast<int>(meeting.arrived.size()) < meeting.expected || meeting.stuck) return;
  const double hops = 1 + std::log2(static_cast<double>(meeting.expected));
  Schedule(static_cast<double>(now()) + world_.network.latency_ns * hops, {Event::Kind::kFlowBegin, number, 0});
}

void Player::BeginFlow(int number) {
  Meeting& meeting = meetings_[number];
  if (meeting.stuck) return;  // a member died on the way
  if (meeting.bytes <= kSmallBytes) return EndFlow(number, meeting.version);
  meeting.flowing = true;
  Take(flows_.Begin(number, meeting.loads, static_cast<double>(meeting.bytes), now()));
}

void Player::Take(const std::vector<Flows::NewEnd>& ends) {
  for (const Flows::NewEnd& end : ends) {
    Meeting& meeting = meetings_[end.flow];
    Schedule(static_cast<double>(end.end_ns), {Event::Kind::kFlowEnd, end.flow, ++meeting.version});
  }
}

void Player::EndFlow(int number, uint64_t version) {
  if (meetings_[number].version != version || meetings_[number].stuck) return;
  if (meetings_[number].flowing) Take(flows_.End(number, now()));
  const Meeting meeting = meetings_.Close(number);
  for (const auto& [index, stream] : meeting.arrived) {
    RankState& own = rank(index);
    StreamState& state = own.streams[stream];
    const Item& item = state.queue.front();
    const double skew =
        world_.network.exit_skew_ns * draws_.Unit(Topic::kExitSkew, {index, static_cast<int64_t>(item.record)});
    auto& operation = playback_.operations[static_cast<size_t>(index)][static_cast<size_t>(item.record)];
    operation.end_ns = now() + static_cast<int64_t>(skew);
    state.busy = false;
    state.free_ns = operation.end_ns + 1000;
    --own.operations_running;
    Retime(index);
    Pop(index, stream);
    Schedule(static_cast<double>(state.free_ns), {Event::Kind::kStream, index, stream});
  }
}

// --- Faults ---

// Adapters and links are slow by step: as the first of the ranks that they belong to gets there.
void Player::ApplyFaults(int index, int step) {
  for (const Fault& fault : faults_) {
    const bool is_there = (fault.kind == FaultKind::kProcessDead || fault.kind == FaultKind::kMachineUnreachable) &&
                          fault.ranks[0] == index && step == fault.onset_step;
    if (is_there) {
      const auto last_step_ns = static_cast<double>(now() - rank(index).last_begin_ns);
      Schedule(static_cast<double>(now()) + last_step_ns * fault.position, {Event::Kind::kDeath, index, 0});
    }
    if (fault.kind < FaultKind::kNicTxSlow || fault.kind > FaultKind::kLinkSlow) continue;
    if (index == fault.hosts[0] * layout_.gpus_per_host()) {
      Take(flows_.Settle(fabric_.Apply(fault, fault.SeverityAt(world_, step)), now()));
    }
  }
}

void Player::PlanHang(int index) {
  RankState& own = rank(index);
  own.stop_at = SIZE_MAX;
  for (const Fault& fault : faults_) {
    if (fault.onset_step != own.step || !Holds(fault.ranks, index)) continue;
    const auto at = static_cast<size_t>(fault.position * static_cast<double>(own.script.size()));
    if (fault.kind == FaultKind::kHangNotEntered) own.stop_at = at;
    if (fault.kind == FaultKind::kHangKernel) own.freeze_at = at;
  }
}

void Player::Die(int index) {
  const bool whole_host = faults_[0].kind == FaultKind::kMachineUnreachable;
  for (int other = 0; other < layout_.ranks(); ++other) {
    if (other != index && (!whole_host || layout_.HostOf(other) != layout_.HostOf(index))) continue;
    rank(other).dead = true;
    playback_.died_ns[static_cast<size_t>(other)] = now();
  }
  for (int number = 0; number < meetings_.count(); ++number) {
    Meeting& meeting = meetings_[number];
    for (const auto& [member, stream] : meeting.arrived) {
      if (!rank(member).dead) continue;
      meeting.stuck = true;
      if (meeting.flowing) Take(flows_.End(number, now()));
      meeting.flowing = false;
    }
  }
}

}  // namespace

Playback Play(const World& world, const Layout& layout, const std::vector<Fault>& faults) {
  return Player(world, layout, faults).Run();
}

}  // namespace lockstep::second
