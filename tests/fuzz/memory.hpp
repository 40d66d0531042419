// The memory of a fuzzed call: blocks of exactly the size that it may touch, so that the address sanitizer
// sees every byte beside them; and the judgement of byte ranges, in more bits than an address has.
#pragma once
#include <sys/mman.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fuzz {

// The words of the call that is being made, for the reports of sanitizers.
inline std::function<std::string()>*& current() {
  static std::function<std::string()>* words = nullptr;
  return words;
}
class naming {
 public:
  explicit naming(std::function<std::string()> words) : words_(std::move(words)), before_(current()) {
    current() = &words_;
  }
  ~naming() { current() = before_; }
  naming(const naming&) = delete;
  naming& operator=(const naming&) = delete;

 private:
  std::function<std::string()> words_, *before_;
};
inline void name_current() {
  if (current() != nullptr) std::fprintf(stderr, "\ncall: %s\n", (*current())().c_str());
}

// What ends a run: one sentence on what is wrong, and the call.
[[noreturn]] inline void finding(const std::string& what, const std::string& call) {
  std::fprintf(stderr, "\nfinding: %s\ncall: %s\n", what.c_str(), call.c_str());
  std::abort();
}

inline std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", x);
  return text;
}

using wide = __int128;

struct range { // of bytes; as in mathematics, it does not wrap
  wide begin = 0, end = 0;
  bool empty() const { return begin == end; }
};
inline bool meet(const range& a, const range& b) {
  return !a.empty() && !b.empty() && a.begin < b.end && b.begin < a.end;
}

inline wide address(const void* p) { return static_cast<wide>(reinterpret_cast<uintptr_t>(p)); }

// heads x tokens rows of `row` elements.
inline range range_of(const void* data, wide heads, wide head_stride, wide tokens, wide token_stride,
                      wide row, wide element) {
  const wide begin = address(data);
  if (heads == 0 || tokens == 0 || row == 0) return {begin, begin};
  return {begin, begin + ((heads - 1) * head_stride + (tokens - 1) * token_stride + row) * element};
}

// No object is larger than PTRDIFF_MAX, and none reaches over the end of all addresses.
inline bool fits(const range& r) {
  return r.end - r.begin <= PTRDIFF_MAX && r.end <= static_cast<wide>(UINTPTR_MAX);
}

constexpr unsigned char untouched = 0xFF; // four of them are a float NaN

class memory {
 public:
  // `offset`: how far the first byte stands behind an address that suits every type.
  unsigned char* take(size_t size, size_t offset = 0) {
    blocks_.push_back({std::unique_ptr<unsigned char[]>(new unsigned char[size + offset]), size + offset});
    std::memset(blocks_.back().bytes.get(), untouched, size + offset);
    return blocks_.back().bytes.get() + offset;
  }
  template <class T>
  T* take_of(size_t count, size_t offset = 0) {
    return reinterpret_cast<T*>(take(count * sizeof(T), offset));
  }
  bool owns(const range& r) const {
    if (r.empty()) return true;
    for (const block& b : blocks_)
      if (address(b.bytes.get()) <= r.begin && r.end <= address(b.bytes.get()) + static_cast<wide>(b.size))
        return true;
    return false;
  }
  void remember() {
    size_t size = 0;
    for (const block& b : blocks_) size += b.size;
    remembered_.resize(size);
    unsigned char* to = remembered_.data();
    for (const block& b : blocks_)
      if (b.size > 0) std::memcpy(to, b.bytes.get(), b.size), to += b.size;
  }
  // Since `remember`.
  bool unchanged() const {
    const unsigned char* from = remembered_.data();
    for (const block& b : blocks_) {
      if (b.size > 0 && std::memcmp(from, b.bytes.get(), b.size) != 0) return false;
      from += b.size;
    }
    return true;
  }

 private:
  struct block {
    std::unique_ptr<unsigned char[]> bytes;
    size_t size;
  };
  std::vector<block> blocks_;
  std::vector<unsigned char> remembered_;
};

// Addresses that may be read but hold nothing: for calls of many keys that nobody sees. They cost no memory.
constexpr size_t vast_bytes = size_t{1} << 42;
inline unsigned char* vast() {
  static unsigned char* const begin = static_cast<unsigned char*>(
      mmap(nullptr, vast_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  return begin;
}

// Where no program has memory: for arguments of calls that may not read anything, however much these
// arguments cover.
inline const void* nowhere() { return reinterpret_cast<const void*>(uintptr_t{1} << 48); }

// The processor time of this thread in seconds.
inline double seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

} // namespace fuzz

// What the sanitizers ask for: settings that keep small allocations cheap, and words when they report.
extern "C" __attribute__((weak)) const char* __asan_default_options() {
  return "detect_leaks=0:malloc_context_size=2:quarantine_size_mb=1:abort_on_error=1";
}
extern "C" __attribute__((weak)) void __asan_on_error() { fuzz::name_current(); }
extern "C" __attribute__((weak)) void __ubsan_on_report() { fuzz::name_current(); }
