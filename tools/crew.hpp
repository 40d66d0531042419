// Threads that run the same work together, and wait for each other within it.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "sentence.hpp"

namespace demo {

// Where `count` threads meet: wait() returns when all have called it.
class meeting_point {
 public:
  explicit meeting_point(int count) : count_(count) {}

  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    const int round = round_;
    if (++arrived_ == count_) {
      arrived_ = 0;
      ++round_;
      all_.notify_all();
    } else {
      all_.wait(lock, [&] { return round_ != round; });
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  const int count_;
  int arrived_ = 0, round_ = 0;
};

// The caller is worker 0; the others are threads that live as long as the crew.
class crew {
 public:
  explicit crew(int count) : count_(count), together_(count) {
    try {
      for (int index = 1; index < count; ++index) others_.emplace_back([this, index] { serve(index); });
    } catch (const std::system_error&) {
      dismiss();
      throw usage_error("this machine does not give " + counted(static_cast<size_t>(count), "thread") +
                        ": ask for fewer with --threads");
    }
  }
  ~crew() { dismiss(); }
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;

  int count() const { return count_; }

  // Calls work(index) on each thread and returns when all are done. The work must not throw.
  void run(const std::function<void(int)>& work) {
    announce(&work);
    work(0);
    together_.wait();
  }

  // For use within the work: returns when all workers have called it.
  void wait() { together_.wait(); }

 private:
  using job = const std::function<void(int)>*;

  void announce(job work) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      work_ = work;
      ++round_;
    }
    announced_.notify_all();
  }

  void dismiss() {
    announce(nullptr);
    for (std::thread& one : others_) one.join();
  }

  job next_work(int& round) {
    std::unique_lock<std::mutex> lock(mutex_);
    announced_.wait(lock, [&] { return round_ != round; });
    round = round_;
    return work_;
  }

  void serve(int index) {
    int round = 0;
    while (const job work = next_work(round)) {
      (*work)(index);
      together_.wait();
    }
  }

  const int count_;
  meeting_point together_;
  std::mutex mutex_;
  std::condition_variable announced_;
  job work_ = nullptr;
  int round_ = 0;
  std::vector<std::thread> others_;
};

} // namespace demo
