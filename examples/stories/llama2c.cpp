// Sizes first, in 64 bits, then the pointers.
#include "llama2c.hpp"

#include <cstring>

namespace stories {
namespace {

constexpr size_t header_numbers = 7;

// Cuts tensors off a row of floats; counts without memory as well.
class tensors {
 public:
  explicit tensors(const float* at) : at_(at) {}

  const float* take(int64_t a, int64_t b = 1, int64_t c = 1) {
    const float* const found = at_ ? at_ + count_ : nullptr;
    count_ += static_cast<uint64_t>(a * b * c);
    return found;
  }
  uint64_t count() const { return count_; }

 private:
  const float* at_;
  uint64_t count_ = 0;
};

uint64_t take_all(model_file& f, const float* at) {
  const shape& s = f.of;
  tensors next(at);
  f.embedding = next.take(s.words, s.width);
  f.attention_norm = next.take(s.layers, s.width);
  f.wq = next.take(s.layers, s.width, s.width);
  f.wk = next.take(s.layers, s.kv_width(), s.width);
  f.wv = next.take(s.layers, s.kv_width(), s.width);
  f.wo = next.take(s.layers, s.width, s.width);
  f.mlp_norm = next.take(s.layers, s.width);
  f.w1 = next.take(s.layers, s.hidden, s.width);
  f.w2 = next.take(s.layers, s.width, s.hidden);
  f.w3 = next.take(s.layers, s.hidden, s.width);
  f.final_norm = next.take(s.width);
  next.take(s.positions, s.head_dim());
  f.classifier = s.own_classifier ? next.take(s.words, s.width) : f.embedding;
  return next.count();
}

bool all_finite(const float* numbers, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, numbers + i, sizeof bits);
    if ((bits & 0x7f800000u) == 0x7f800000u) return false;
  }
  return true;
}

} // namespace

const char* why_refused(const shape& s) {
  const auto in = [](int32_t n, int32_t low, int32_t high) { return low <= n && n <= high; };
  if (!in(s.width, 2, 8192) || !in(s.hidden, 1, 65536))
    return "its width is not 2 to 8,192, or hidden not 1 to 65,536";
  if (!in(s.layers, 1, 256)) return "it has not 1 to 256 layers";
  if (!in(s.heads, 1, 1024) || s.width % s.heads != 0 || s.head_dim() % 2 != 0 || s.head_dim() > 1024)
    return "its width is not heads times an even number up to 1,024";
  if (!in(s.kv_heads, 1, s.heads) || s.heads % s.kv_heads != 0)
    return "its heads are no multiple of its KV heads";
  if (!in(s.words, 3, 1 << 18)) return "it has not 3 to 262,144 words";
  if (!in(s.positions, 1, 1 << 17)) return "it has not 1 to 131,072 positions";
  return nullptr;
}

refusal read_llama2c(const unsigned char* bytes, size_t size, model_file& file) {
  int32_t header[header_numbers];
  if (size < sizeof header) return {"the file is too short for a model of llama2.c", {}};
  std::memcpy(header, bytes, sizeof header);
  const int32_t words = header[5];
  const bool own = words < 0;
  file = {};
  file.of = {header[0], header[1], header[2],
             header[3], header[4], words == INT32_MIN ? 0 : own ? -words : words,
             header[6], own};
  if (const char* why = why_refused(file.of)) return {why, {}};
  if (reinterpret_cast<uintptr_t>(bytes) % alignof(float) != 0)
    return {"its bytes are not aligned to 4 in memory", {}};
  const uint64_t count = take_all(file, nullptr), held = (size - sizeof header) / sizeof(float);
  if (count > held) return {"the file ends before its last weight: fetch it again", {}};
  if (sizeof header + count * sizeof(float) != size)
    return {"the file goes on behind its last weight: it is no model of llama2.c's first format", {}};
  const float* const numbers = reinterpret_cast<const float*>(bytes + sizeof header);
  take_all(file, numbers);
  const uint64_t before_tables = static_cast<uint64_t>(file.final_norm - numbers) +
                                 static_cast<uint64_t>(file.of.width);
  if (!all_finite(numbers, before_tables))
    return {"a weight is infinite or not a number: fetch the file again", {}};
  if (own && !all_finite(file.classifier,
                         static_cast<uint64_t>(file.of.words) * static_cast<uint64_t>(file.of.width)))
    return {"a weight of the classifier is infinite or not a number: fetch the file again", {}};
  return {};
}

} // namespace stories
