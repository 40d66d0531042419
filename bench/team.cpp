// The caller is thread 0.
#include "team.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <system_error>

namespace bench {
namespace {

void wait_for(const std::atomic<int>& counter, int wanted) {
  for (int turn = 0; counter.load(std::memory_order_acquire) < wanted; ++turn)
    if (turn > 1000) std::this_thread::yield(); // there may be fewer cores than threads
}

} // namespace

team::team(int count) : count_(count), own_(static_cast<size_t>(count)) {
  try {
    for (int index = 1; index < count; ++index) others_.emplace_back([this, index] { serve(index); });
  } catch (const std::system_error&) {
    dismiss();
    throw std::runtime_error("this machine does not give " + std::to_string(count) +
                             " threads; ask for fewer with --threads");
  }
}

team::~team() { dismiss(); }

void team::dismiss() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    work_ = nullptr;
    ++round_;
  }
  announced_.notify_all();
  for (std::thread& one : others_) one.join();
}

timing team::run(const std::function<void(int)>& work) {
  ready_ = 0;
  done_ = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    work_ = &work;
    ++round_;
  }
  announced_.notify_all();
  take_part(0);
  wait_for(done_, count_);
  const auto by_begin = [](const own& a, const own& b) { return a.begin < b.begin; };
  const auto by_end = [](const own& a, const own& b) { return a.end < b.end; };
  timing all;
  all.wall = std::chrono::duration<double>(std::max_element(own_.begin(), own_.end(), by_end)->end -
                                           std::min_element(own_.begin(), own_.end(), by_begin)->begin)
                 .count();
  double most_lost = 0;
  for (const own& o : own_) {
    most_lost = std::max(most_lost, o.time.wall - o.time.cpu);
    all.switches = std::max(all.switches, o.time.switches);
  }
  all.cpu = all.wall - most_lost;
  return all;
}

void team::take_part(int index) {
  own& mine = own_[static_cast<size_t>(index)];
  ready_.fetch_add(1, std::memory_order_acq_rel);
  wait_for(ready_, count_);
  mine.begin = clock::now();
  mine.time = time_of([&] { (*work_)(index); });
  mine.end = clock::now();
  done_.fetch_add(1, std::memory_order_acq_rel);
}

void team::serve(int index) {
  int seen = 0;
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      announced_.wait(lock, [&] { return round_ != seen; });
      seen = round_;
      if (!work_) return;
    }
    take_part(index);
  }
}

} // namespace bench
