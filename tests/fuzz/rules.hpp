// What the rules of both interfaces share: the verdict on a call, and the memory that its arguments cover.
#pragma once
#include <vector>

#include "fovea/fovea.h"
#include "memory.hpp"

namespace fuzz {

inline std::string status_text(int32_t status) {
  return std::string(fovea_reason_text(status)) + ": " + fovea_argument_text(status);
}

enum class verdict { legal, illegal, open }; // open: the header leaves it to the library

struct ruling {
  verdict is = verdict::legal;
  const char* why = "";
};

// Collects what speaks against a call; what is illegal outweighs what is open.
class judge {
 public:
  void forbid(bool when, const char* why) {
    if (when && ruling_.is != verdict::illegal) ruling_ = {verdict::illegal, why};
  }
  void leave_open(bool when, const char* why) {
    if (when && ruling_.is == verdict::legal) ruling_ = {verdict::open, why};
  }
  // Memory that an argument covers. What is empty may stand anywhere.
  range cover(const void* data, const range& r, size_t element, const char* why) {
    const bool misaligned = element > 1 && reinterpret_cast<uintptr_t>(data) % element != 0;
    forbid(!fits(r), why);
    forbid(!r.empty() && (data == nullptr || misaligned), why);
    leave_open(r.empty() && misaligned, why);
    return r;
  }
  void write(const range& r, const char* why) {
    for (const range& read : read_) forbid(meet(read, r), why);
    for (const range& written : written_) forbid(meet(written, r), why);
    written_.push_back(r);
  }
  void read(const range& r) { read_.push_back(r); }
  bool decided() const { return ruling_.is == verdict::illegal; }
  const ruling& result() const { return ruling_; }
  const std::vector<range>& inputs() const { return read_; }
  const std::vector<range>& outputs() const { return written_; }

 private:
  ruling ruling_;
  std::vector<range> read_, written_;
};

// A status that contradicts the ruling is a finding. `call` describes the call.
inline void check_status(const ruling& r, int32_t status, const std::string& call) {
  if (r.is == verdict::illegal && status == FOVEA_OK)
    finding(std::string("an illegal call is accepted: ") + r.why, call);
  if (r.is == verdict::legal && status != FOVEA_OK)
    finding("a legal call is refused: " + status_text(status), call);
}

// Strides of 0 become what they stand for.
inline void resolve(ptrdiff_t& head, ptrdiff_t& token, wide tokens, wide dim) {
  if (token == 0) token = static_cast<ptrdiff_t>(dim);
  if (head == 0 && tokens * token <= PTRDIFF_MAX) head = static_cast<ptrdiff_t>(tokens * token);
}
// Rows of `out` must not share an element: tokens lie within heads, or heads within tokens.
inline bool rows_apart(wide heads, wide head, wide tokens, wide token, wide dim) {
  if (heads == 0 || tokens == 0) return true;
  if ((tokens > 1 && token < dim) || (heads > 1 && head < dim)) return false;
  return heads == 1 || tokens == 1 || head >= (tokens - 1) * token + dim || token >= (heads - 1) * head + dim;
}

// Trees only stay with the queries and keys that they were drawn for: see make_checkable.
template <class Call>
void pattern_is_legal(const Call& a, judge& j) {
  if (a.pattern == nullptr) return;
  j.forbid(a.pattern->chunk < 0 || (a.pattern->chunk > 0 && a.pattern->parents != nullptr), "a chunk");
  if (a.pattern->parents == nullptr) return;
  j.forbid((a.flags & FOVEA_CAUSAL) == 0 || (a.flags & FOVEA_POSITION) != 0, "a tree");
  const range r = range_of(a.pattern->parents, 1, 0, 1, 0, a.queries, 2);
  j.read(j.cover(a.pattern->parents, r, 2, "parents"));
}

// For calls that are changed at random: parents would be read behind their end. A part that comes after all
// work looks at few fields; part 0 looks at all.
template <class Call>
void make_checkable(Call& a) {
  if (a.pattern != nullptr && a.pattern->parents != nullptr) a.pattern = nullptr;
  if (a.part.index > 0 && a.part.index < a.part.count) a.part.index = 0;
}

} // namespace fuzz
