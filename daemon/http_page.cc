#include "daemon/http_page.h"

#include <utility>

namespace lockstep {

HttpPage::HttpPage(HttpHandler handler, size_t max_waiting)
    : handler_(std::move(handler)), max_waiting_(max_waiting), thread_([this] { Run(); }) {}

HttpPage::~HttpPage() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

bool HttpPage::TryAsk(HttpRequest request, Deliver deliver) {
  MutexLock lock(mutex_);
  if (waiting_.size() >= max_waiting_) return false;
  waiting_.push_back({std::move(request), std::move(deliver)});
  changed_.NotifyAll();
  return true;
}

void HttpPage::Run() {
  while (true) {
    Asked asked;
    {
      MutexLock lock(mutex_);
      while (waiting_.empty() && !stopping_) changed_.Wait(mutex_);
      if (stopping_) return;
      asked = std::move(waiting_.front());
      waiting_.pop_front();
    }
    asked.deliver(handler_(asked.request));
  }
}

}  // namespace lockstep
