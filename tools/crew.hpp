// Threads that run the same work together, and wait for each other within it.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

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
  explicit crew(int count) : count_(count), begin_(count), end_(count), between_(count) {
    for (int index = 1; index < count; ++index) others_.emplace_back([this, index] { work(index); });
  }
  ~crew() {
    work_ = nullptr;
    if (count_ > 1) begin_.wait();
    for (std::thread& one : others_) one.join();
  }
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;

  int count() const { return count_; }

  // Calls work(index) on each thread and returns when all are done.
  void run(const std::function<void(int)>& work) {
    work_ = &work;
    begin_.wait();
    work(0);
    end_.wait();
  }

  // For use within the work.
  void wait() { between_.wait(); }

 private:
  void work(int index) {
    for (;;) {
      begin_.wait();
      if (!work_) return;
      (*work_)(index);
      end_.wait();
    }
  }

  const int count_;
  const std::function<void(int)>* work_ = nullptr;
  meeting_point begin_, end_, between_;
  std::vector<std::thread> others_;
};

} // namespace demo
