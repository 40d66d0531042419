// What the tests use of doctest, for boards whose C++ library is headers only: doctest itself needs streams.
// Failed checks print the same words; a failed REQUIRE ends the run.
#pragma once
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <string>
#include <type_traits>

namespace doctest {

using String = std::string;

class Approx {
 public:
  explicit Approx(double value) : value_(value) {}
  friend bool operator==(double x, const Approx& y) {
    const double larger = std::fabs(x) > std::fabs(y.value_) ? std::fabs(x) : std::fabs(y.value_);
    return std::fabs(x - y.value_) < static_cast<double>(FLT_EPSILON) * 100 * (1 + larger);
  }

 private:
  double value_;
};

struct test_case {
  using body = void (*)();
  const char *name, *file;
  int line;
  body run;
  bool skipped = false;
  test_case* next = nullptr;
  static test_case*& first() {
    static test_case* one = nullptr;
    return one;
  }
};

// A name, and whether the test is one of those that only --no-skip runs.
struct test_name {
  const char* text;
  bool skipped = false;
  constexpr test_name(const char* name) : text(name) {}
};
struct skip {};
inline test_name operator*(test_name name, skip) {
  name.skipped = true;
  return name;
}
struct registered : test_case {
  registered(const test_name& test, const char* where, int at, body function)
      : test_case{test.text, where, at, function, test.skipped, nullptr} {
    test_case** last = &first();
    while (*last != nullptr) last = &(*last)->next;
    *last = this;
  }
};

inline void write(std::string& to, const std::string& text) { to += text; }
inline void write(std::string& to, const char* text) { to += text; }
template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number> || std::is_enum_v<Number>>>
void write(std::string& to, Number x) {
  char text[32];
  if constexpr (std::is_floating_point_v<Number>)
    std::snprintf(text, sizeof text, "%g", static_cast<double>(x));
  else
    std::snprintf(text, sizeof text, "%lld", static_cast<long long>(x));
  to += text;
}
struct line {
  std::string text;
  template <class T>
  line& operator<<(const T& x) {
    write(text, x);
    return *this;
  }
};

// What a failed check tells beside itself: made only then.
class context {
 public:
  context() : outer_(innermost()) { innermost() = this; }
  virtual ~context() { innermost() = outer_; }
  context(const context&) = delete;
  context& operator=(const context&) = delete;
  static void tell_all() {
    for (const context* one = innermost(); one != nullptr; one = one->outer_) {
      std::string words;
      one->tell(words);
      std::printf("  logged: %s\n", words.c_str());
    }
  }

 private:
  virtual void tell(std::string& words) const = 0;
  static context*& innermost() {
    static context* one = nullptr;
    return one;
  }
  context* outer_;
};
template <class Tell>
class told_by final : public context {
 public:
  explicit told_by(const Tell& tell) : tell_(tell) {}

 private:
  void tell(std::string& words) const override { tell_(words); }
  Tell tell_;
};

// The main file counts, and ends the run where a failed REQUIRE says so.
void count_check(bool passed, bool required, const char* what, const char* file, int at);

} // namespace doctest

#define DOCTEST_JOINED_(a, b) a##b
#define DOCTEST_JOINED(a, b) DOCTEST_JOINED_(a, b)
#define DOCTEST_TEST(function, ...)                                                                   \
  static void function();                                                                             \
  static doctest::registered DOCTEST_JOINED(function, _registered)(doctest::test_name(__VA_ARGS__),   \
                                                                   __FILE__, __LINE__, function);     \
  static void function()
#define TEST_CASE(...) DOCTEST_TEST(DOCTEST_JOINED(test_, __COUNTER__), __VA_ARGS__)

#define DOCTEST_CHECK(required, text, ...) \
  doctest::count_check(static_cast<bool>(__VA_ARGS__), required, text, __FILE__, __LINE__)
#define CHECK(...) DOCTEST_CHECK(false, "CHECK( " #__VA_ARGS__ " )", __VA_ARGS__)
#define REQUIRE(...) DOCTEST_CHECK(true, "REQUIRE( " #__VA_ARGS__ " )", __VA_ARGS__)

#define DOCTEST_CONTEXT(name, ...)                                                          \
  const auto DOCTEST_JOINED(name, _tell) = [&](std::string& words_told) {                   \
    [&](const auto&... told) { (doctest::write(words_told, told), ...); }(__VA_ARGS__);     \
  };                                                                                        \
  const doctest::told_by name(DOCTEST_JOINED(name, _tell))
#define INFO(...) DOCTEST_CONTEXT(DOCTEST_JOINED(context_of_line_, __LINE__), __VA_ARGS__)
#define CAPTURE(x) INFO(#x " := ", x)
#define CHECK_MESSAGE(condition, ...) \
  do {                                \
    INFO(__VA_ARGS__);                \
    CHECK(condition);                 \
  } while (false)
#define MESSAGE(...) \
  std::printf("%s:%d: MESSAGE: %s\n", __FILE__, __LINE__, (doctest::line() << __VA_ARGS__).text.c_str())
