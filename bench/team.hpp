// Threads that begin a sample together. They live as long as the team, and spin while they wait for the
// others, so that a sample begins on all cores at once.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "stopwatch.hpp"

namespace bench {

class team {
 public:
  explicit team(int count);
  ~team();
  team(const team&) = delete;
  team& operator=(const team&) = delete;

  int count() const { return count_; }

  // Calls work(index) once on each thread, all at the same moment. The timing is from the first begin to the
  // last end, and has lost what the most disturbed thread lost. The work must not throw.
  timing run(const std::function<void(int)>& work);

 private:
  using clock = std::chrono::steady_clock;
  struct own {
    timing time;
    clock::time_point begin, end;
  };

  void dismiss();
  void serve(int index);
  void take_part(int index);

  const int count_;
  std::mutex mutex_;
  std::condition_variable announced_;
  const std::function<void(int)>* work_ = nullptr;
  int round_ = 0;
  std::atomic<int> ready_{0}, done_{0};
  std::vector<own> own_;
  std::vector<std::thread> others_;
};

} // namespace bench
