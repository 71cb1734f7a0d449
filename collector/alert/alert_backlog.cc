#include "collector/alert/alert_backlog.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/check.h"
#include "collector/alert/change_role.h"
#include "collector/alert/incident_text.h"

namespace lockstep {

using Kind = IncidentEvent::Kind;

namespace {

void AddTo(AlertBacklog::Waiting& waiting, const ChangeId& id) {
  if (id.number != 0) waiting.numbers.push_back(id.number);
  if (id.ticket != 0) waiting.tickets.push_back(id.ticket);
}

ChangeRole RoleOf(const AlertBacklog::Waiting& waiting) { return ChangeRoleOf(waiting.event.kind); }

bool IsUpdate(const AlertBacklog::Waiting& waiting) { return RoleOf(waiting) == ChangeRole::kNews; }

// Whether `later` takes the place of `before`, which waits.
bool Replaces(ChangeRole before, ChangeRole later) {
  if (before == ChangeRole::kNews) return true;
  return before == ChangeRole::kTaken && (later == ChangeRole::kTaken || later == ChangeRole::kEnds);
}

}  // namespace

std::vector<uint64_t> AlertBacklog::Add(const IncidentEvent& event, int64_t since_ns, const ChangeId& id,
                                        bool is_left_over) {
  std::vector<uint64_t> gone;
  if (Fold(event, since_ns, id, &gone)) return gone;
  Waiting own{event, since_ns, {}, {}};
  AddTo(own, id);
  if (!is_left_over && SaysNothingNew(event)) return own.numbers;
  while (!HasRoomFor(own)) {
    if (!IsUpdate(own) && (DropOldestUpdate(&gone) || FoldOldestIntoEnd())) continue;
    if (FoldIntoNewEnd(own)) return gone;
    ++dropped_;
    gone.insert(gone.end(), own.numbers.begin(), own.numbers.end());
    return gone;
  }
  waiting_.push_back(std::move(own));
  Weigh(waiting_.back());
  return gone;
}

size_t AlertBacklog::BytesOf(const Waiting& waiting) {
  const size_t records = waiting.numbers.size() + waiting.tickets.size();
  return waiting.event.incident.ByteSizeLong() * std::max<size_t>(records, 1);
}

void AlertBacklog::Weigh(Waiting& waiting) {
  bytes_ -= waiting.bytes;
  waiting.bytes = BytesOf(waiting);
  bytes_ += waiting.bytes;
}

// An event that is alone has room whatever its size: a verdict is bounded where it is made.
bool AlertBacklog::HasRoomFor(const Waiting& own) const {
  if (waiting_.empty()) return true;
  return waiting_.size() < options_.max_waiting && bytes_ + BytesOf(own) <= options_.max_bytes;
}

void AlertBacklog::Erase(std::deque<Waiting>::iterator waiting) {
  bytes_ -= waiting->bytes;
  waiting_.erase(waiting);
}

bool AlertBacklog::NoteWritten(uint64_t ticket, uint64_t number) {
  for (Waiting& waiting : waiting_) {
    if (std::erase(waiting.tickets, ticket) == 0) continue;
    waiting.numbers.push_back(number);
    Weigh(waiting);
    return true;
  }
  return false;
}

void AlertBacklog::Inherit(const wire::Incident& incident, int64_t now_ns) {
  told_.Inherit(incident, now_ns - std::max(options_.update_every_ns, options_.repeat_every_ns));
}

// What still waits is told, and then known to be quiet.
void AlertBacklog::NoteQuiet(const wire::Incident& incident) {
  told_.NoteQuiet(incident);
  for (Waiting& waiting : waiting_) {
    wire::Incident& told = waiting.event.incident;
    if (told.id() != incident.id()) continue;
    told.clear_silence();
    if (incident.has_silence()) *told.mutable_silence() = incident.silence();
    told.set_maintenance(incident.maintenance());
    told.set_folded_under(incident.folded_under());
  }
}

std::vector<AlertBacklog::Waiting> AlertBacklog::TakeAll() {
  std::vector<Waiting> all(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(waiting_.end()));
  waiting_.clear();
  bytes_ = 0;
  for (Waiting& waiting : all) waiting.bytes = 0;
  return all;
}

void AlertBacklog::Resume(Waiting waiting) {
  waiting.failures = 0;
  waiting.not_before_ns = 0;
  waiting.bytes = 0;
  waiting_.push_back(std::move(waiting));
  Weigh(waiting_.back());
}

std::optional<int64_t> AlertBacklog::NextDue() const {
  const auto first = FirstReady();
  std::optional<int64_t> due;
  if (first != waiting_.end()) due = ReadyAt(*first);
  if (const auto repeat = NextRepeat(); repeat.has_value()) due = std::min(due.value_or(repeat->first), repeat->first);
  return due;
}

// Without one that may go, what is to be said again.
std::optional<AlertBacklog::Waiting> AlertBacklog::BeginSending(int64_t now_ns) {
  CHECK(std::none_of(waiting_.begin(), waiting_.end(), [](const Waiting& w) { return w.is_being_sent; }));
  const auto first = FirstReady();
  if (first != waiting_.end() && ReadyAt(*first) <= now_ns) {
    const auto place = static_cast<size_t>(first - waiting_.begin());
    if (now_ns - first->since_ns >= options_.begin_is_news_ns) FoldIntoEnd(place);
    Waiting& begun = waiting_[place];
    begun.is_being_sent = true;
    return begun;
  }
  const auto repeat = NextRepeat();
  if (!repeat.has_value() || repeat->first > now_ns) return std::nullopt;
  const ToldIncidents::Told* again = told_.Find(repeat->second);
  waiting_.push_back({{Kind::kUpdated, again->incident}, now_ns, {}, {}, /*is_being_sent=*/true});
  Weigh(waiting_.back());
  return waiting_.back();
}

std::vector<uint64_t> AlertBacklog::EndSending(int64_t now_ns, const std::string& thread) {
  told_.Note(BeingSent()->event, now_ns, thread);
  return TakeSent();
}

std::vector<uint64_t> AlertBacklog::GiveUp(int64_t now_ns) {
  told_.NoteRefused(BeingSent()->event, now_ns);
  return TakeSent();
}

std::vector<uint64_t> AlertBacklog::TakeSent() {
  const auto sent = BeingSent();
  std::vector<uint64_t> gone = std::move(sent->numbers);
  Erase(sent);
  return gone;
}

void AlertBacklog::PutBack(int64_t not_before_ns) {
  const auto sent = BeingSent();
  sent->is_being_sent = false;
  ++sent->failures;
  sent->not_before_ns = not_before_ns;
}

int64_t AlertBacklog::LongestWait(int64_t now_ns) const {
  int64_t longest = 0;
  for (const Waiting& waiting : waiting_) longest = std::max(longest, now_ns - DueOf(waiting));
  return longest;
}

size_t AlertBacklog::CountDue(int64_t now_ns) const {
  return static_cast<size_t>(std::count_if(waiting_.begin(), waiting_.end(),
                                           [&](const Waiting& waiting) { return DueOf(waiting) <= now_ns; }));
}

// O(waiting events): the newest of the same incident decides.
bool AlertBacklog::Fold(const IncidentEvent& event, int64_t since_ns, const ChangeId& id, std::vector<uint64_t>* gone) {
  const ChangeRole role = ChangeRoleOf(event.kind);
  for (auto it = waiting_.rbegin(); it != waiting_.rend(); ++it) {
    IncidentEvent& before = it->event;
    if (before.incident.id() != event.incident.id()) continue;
    if (it->is_being_sent) return false;
    const ChangeRole role_before = ChangeRoleOf(before.kind);
    const bool refreshes = role == ChangeRole::kNews && role_before != ChangeRole::kEnds;
    if (!refreshes && !Replaces(role_before, role)) return false;
    if (!refreshes) {
      before.kind = event.kind;
      it->since_ns = since_ns;
    }
    before.incident = event.incident;
    AddTo(*it, id);
    if (it->numbers.size() > kMaxFolded && id.number != 0) {
      gone->assign(it->numbers.begin() + 1, it->numbers.end() - 1);
      it->numbers = {it->numbers.front(), it->numbers.back()};
    }
    Weigh(*it);
    return true;
  }
  return false;
}

// Puts the next end of an incident in the place of its begin, and of what is between them. It takes over what history
// keeps of them, so that the next life finds all of it, or nothing. O(waiting events).
bool AlertBacklog::FoldIntoEnd(size_t begin) {
  const auto first = waiting_.begin() + static_cast<std::ptrdiff_t>(begin);
  if (RoleOf(*first) != ChangeRole::kBegins || first->is_being_sent) return false;
  const uint64_t incident = first->event.incident.id();
  const auto is_own = [incident](const Waiting& waiting) { return waiting.event.incident.id() == incident; };
  const auto end = std::find_if(first, waiting_.end(), [&](const Waiting& waiting) {
    return is_own(waiting) && RoleOf(waiting) == ChangeRole::kEnds;
  });
  if (end == waiting_.end()) return false;
  Waiting whole = {end->event, end->since_ns, {}, {}};
  for (auto it = first; it <= end; ++it) {
    if (!is_own(*it)) continue;
    whole.numbers.insert(whole.numbers.end(), it->numbers.begin(), it->numbers.end());
    whole.tickets.insert(whole.tickets.end(), it->tickets.begin(), it->tickets.end());
    bytes_ -= it->bytes;
  }
  *first = std::move(whole);
  Weigh(*first);
  waiting_.erase(std::remove_if(first + 1, end + 1, is_own), end + 1);
  return true;
}

bool AlertBacklog::FoldOldestIntoEnd() {
  for (size_t place = 0; place < waiting_.size(); ++place) {
    if (FoldIntoEnd(place)) return true;
  }
  return false;
}

// A begin that waits would else be told without its end.
bool AlertBacklog::FoldIntoNewEnd(const Waiting& own) {
  if (RoleOf(own) != ChangeRole::kEnds) return false;
  waiting_.push_back(own);
  Weigh(waiting_.back());
  if (FoldOldestIntoEnd()) return true;
  Erase(waiting_.end() - 1);
  return false;
}

// Numbers of a cost change all the time; what it is about does not.
bool AlertBacklog::SaysNothingNew(const IncidentEvent& event) const {
  if (options_.hears_numbers || ChangeRoleOf(event.kind) != ChangeRole::kNews) return false;
  const ToldIncidents::Told* told = told_.Find(event.incident.id());
  if (told == nullptr || !told->is_open || told->is_guess || IsWaiting(event.incident.id())) return false;
  return SummaryOf(told->incident) == SummaryOf(event.incident);
}

bool AlertBacklog::DropOldestUpdate(std::vector<uint64_t>* dropped) {
  const auto oldest =
      std::find_if(waiting_.begin(), waiting_.end(), [](const Waiting& w) { return IsUpdate(w) && !w.is_being_sent; });
  if (oldest == waiting_.end()) return false;
  dropped->insert(dropped->end(), oldest->numbers.begin(), oldest->numbers.end());
  Erase(oldest);
  ++dropped_;
  return true;
}

int64_t AlertBacklog::DueOf(const Waiting& waiting) const {
  const ToldIncidents::Told* told = IsUpdate(waiting) ? told_.Find(waiting.event.incident.id()) : nullptr;
  return told == nullptr ? waiting.since_ns : std::max(waiting.since_ns, told->at_ns + options_.update_every_ns);
}

// O(waiting events * log). What was to go first and has to be sent again stands behind what has come since.
std::deque<AlertBacklog::Waiting>::const_iterator AlertBacklog::FirstReady() const {
  auto first = waiting_.end();
  std::set<uint64_t> preceded;
  for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
    if (!preceded.insert(it->event.incident.id()).second) continue;
    if (first == waiting_.end() || ReadyAt(*it) < ReadyAt(*first)) first = it;
  }
  return first;
}

std::deque<AlertBacklog::Waiting>::iterator AlertBacklog::BeingSent() {
  const auto sent = std::find_if(waiting_.begin(), waiting_.end(), [](const Waiting& w) { return w.is_being_sent; });
  CHECK(sent != waiting_.end());
  return sent;
}

// One that waits says it anyway, when its time comes, and holds up the others no more than any event does.
std::optional<std::pair<int64_t, uint64_t>> AlertBacklog::NextRepeat() const {
  if (options_.repeat_every_ns == 0 || waiting_.size() >= options_.max_waiting) return std::nullopt;
  std::set<uint64_t> waiting;
  for (const Waiting& one : waiting_) waiting.insert(one.event.incident.id());
  const auto oldest = told_.OldestOpen(waiting);
  if (!oldest.has_value()) return std::nullopt;
  return std::pair{oldest->first + options_.repeat_every_ns, oldest->second};
}

bool AlertBacklog::IsWaiting(uint64_t incident) const {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [incident](const Waiting& w) { return w.event.incident.id() == incident; });
}

}  // namespace lockstep
