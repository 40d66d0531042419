// Memory beside which no page may be touched: a read of one byte too many ends the program.
#pragma once
#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

// Pages that nobody may touch until they are opened.
class closed_pages {
 public:
  explicit closed_pages(size_t bytes) : size_(bytes) {
    void* memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) begin_ = static_cast<char*>(memory);
  }
  ~closed_pages() {
    if (begin_ != nullptr) munmap(begin_, size_);
  }
  closed_pages(const closed_pages&) = delete;
  closed_pages& operator=(const closed_pages&) = delete;

  static size_t page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
  static size_t whole(size_t bytes) { return (bytes + page() - 1) / page() * page(); }

  // The opened bytes, or null.
  char* open(size_t from, size_t bytes) const {
    const bool opened = begin_ != nullptr &&
                        (bytes == 0 || mprotect(begin_ + from, bytes, PROT_READ | PROT_WRITE) == 0);
    return opened ? begin_ + from : nullptr;
  }

 private:
  char* begin_ = nullptr;
  size_t size_;
};

// `bytes` that touch a closed page on one side.
class fence {
 public:
  enum side { behind, before };

  fence(size_t bytes, side where) : pages_(closed_pages::whole(bytes) + 2 * closed_pages::page()) {
    const size_t room = closed_pages::whole(bytes);
    char* opened = pages_.open(closed_pages::page(), room);
    data_ = opened == nullptr || where == before ? opened : opened + room - bytes;
  }
  template <class T>
  T* data() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  closed_pages pages_;
  char* data_;
};

// An array of `closed` + `open` bytes whose first part is closed, as far as pages are small enough.
class hole {
 public:
  hole(size_t closed, size_t open) : pages_(closed_pages::whole(closed + open)), closed_(closed) {
    const size_t from = closed / closed_pages::page() * closed_pages::page();
    open_ = pages_.open(from, closed_pages::whole(closed + open) - from) + (closed - from);
  }
  template <class T>
  T* data() const {
    return reinterpret_cast<T*>(open_ - closed_);
  }
  template <class T>
  T* behind() const {
    return reinterpret_cast<T*>(open_);
  }

 private:
  closed_pages pages_;
  size_t closed_;
  char* open_;
};
#endif
