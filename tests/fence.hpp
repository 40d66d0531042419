// Memory with an inaccessible page right before or right behind it: a read of one byte too many ends the program.
#pragma once
#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

class fence {
 public:
  enum side { behind, before };

  // `count` floats that touch an inaccessible page on this side.
  fence(size_t count, side where) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t bytes = count * sizeof(float), room = (bytes + page - 1) / page * page;
    size_ = room + 2 * page;
    memory_ = static_cast<char*>(mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory_ == MAP_FAILED) memory_ = nullptr;
    if (memory_ == nullptr || mprotect(memory_ + page, room, PROT_READ | PROT_WRITE) != 0) return;
    data_ = reinterpret_cast<float*>(where == before ? memory_ + page : memory_ + page + room - bytes);
  }
  ~fence() {
    if (memory_ != nullptr) munmap(memory_, size_);
  }
  fence(const fence&) = delete;
  fence& operator=(const fence&) = delete;

  float* data() const { return data_; }

 private:
  char* memory_ = nullptr;
  size_t size_ = 0;
  float* data_ = nullptr;
};
#endif
