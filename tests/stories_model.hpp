// A small seeded model in llama2.c's format, what examples/stories needs to run it, and the decoder in plain
// loops of double.
#pragma once
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "data.hpp"
#include "examples/stories/decoder.hpp"

namespace stories_model {

using stories::shape;

constexpr shape small = {48, 40, 2, 6, 2, 37, 48, 0}; // no width is a multiple of a panel

// The bytes of a file, aligned.
class file_bytes {
 public:
  explicit file_bytes(const shape& s, uint32_t seed = 1) {
    const int32_t words = s.own_classifier ? -s.words : s.words;
    for (int32_t number : {s.width, s.hidden, s.layers, s.heads, s.kv_heads, words, s.positions}) add(number);
    seed_ = seed;
    const int32_t kv = s.kv_width(), n = s.layers;
    fill(s.words * s.width, 0, 1);
    fill(n * s.width, 1, 0.25f);
    for (int32_t rows : {s.width, kv, kv, s.width}) fill(n * rows * s.width, 0, 0.3f);
    fill(n * s.width, 1, 0.25f);
    for (int i = 0; i < 3; ++i) fill(n * s.hidden * s.width, 0, 0.25f);
    fill(s.width, 1, 0.25f);
    fill(s.positions * s.head_dim(), 0, 1);
    if (s.own_classifier) fill(s.words * s.width, 0, 0.5f);
  }

  unsigned char* data() { return reinterpret_cast<unsigned char*>(words_.data()); }
  size_t size() const { return words_.size() * sizeof(uint32_t); }

 private:
  void add(int32_t number) { words_.push_back(static_cast<uint32_t>(number)); }
  void fill(int32_t count, float offset, float size) {
    ++seed_;
    for (int32_t i = 0; i < count; ++i) {
      const float x = offset + size * data::noise(seed_, static_cast<uint32_t>(i));
      uint32_t bits;
      std::memcpy(&bits, &x, sizeof bits);
      words_.push_back(bits);
    }
  }

  std::vector<uint32_t> words_;
  uint32_t seed_ = 0;
};

class aligned {
 public:
  explicit aligned(uint64_t size)
      : bytes_(static_cast<size_t>(size) + 64), size_(static_cast<size_t>(size)) {}
  unsigned char* data() {
    const size_t off = reinterpret_cast<uintptr_t>(bytes_.data()) % 64;
    return bytes_.data() + (off ? 64 - off : 0);
  }
  size_t size() const { return size_; }

 private:
  std::vector<unsigned char> bytes_;
  size_t size_;
};

struct packed_model {
  aligned image;
  stories::model model;

  packed_model(const shape& s, int32_t dtype, uint32_t seed = 1) : image(stories::image_size(s, dtype)) {
    file_bytes bytes(s, seed);
    stories::model_file file;
    REQUIRE(!stories::read_llama2c(bytes.data(), bytes.size(), file));
    REQUIRE(!stories::pack_image(file, dtype, image.data(), image.size()));
    REQUIRE(!stories::open_image(image.data(), image.size(), model));
  }
};

inline int32_t id_at(int32_t position, int32_t words) { return (position * 13 + 1) % words; }

// A decoder and its memory.
struct reader {
  aligned caches, numbers, scratch;
  stories::decoder decoder;
  std::vector<float> logits; // of all tokens that were read

  reader(const stories::model& m, int32_t tokens, int32_t rows, int32_t isa = FOVEA_ISA_BEST)
      : caches(stories::caches_size(m.of, tokens)),
        numbers(stories::numbers_size(m.of, rows)),
        scratch(stories::scratch_size(m.of, rows)),
        decoder(m, {caches.data(), numbers.data(), tokens, rows}, {isa, FOVEA_FIXED_BEST}) {}

  // Seeded tokens at the positions that come next.
  int32_t read(int32_t count) {
    std::vector<int32_t> ids;
    const int32_t words = decoder.of().of.words;
    for (int32_t i = 0; i < count; ++i) ids.push_back(id_at(decoder.length() + i, words));
    std::vector<float> found(static_cast<size_t>(count * words), -7);
    const int32_t status = decoder.run(ids.data(), count, count, found.data(), scratch.data());
    logits.insert(logits.end(), found.begin(), found.end());
    return status;
  }
};

// Llama's decoder as its formula says, in double: the logits of the seeded tokens at 0 .. count-1.
inline std::vector<double> reference(const stories::model_file& f, int32_t count) {
  const shape& s = f.of;
  using row = std::vector<double>;
  const auto rms = [](const row& x, const float* weight) {
    double sum = 0;
    for (double each : x) sum += each * each;
    row out;
    for (size_t c = 0; c < x.size(); ++c)
      out.push_back(x[c] / std::sqrt(sum / static_cast<double>(x.size()) + 1e-5) *
                    static_cast<double>(weight[c]));
    return out;
  };
  const auto times = [](const float* w, const row& x, int32_t outputs) {
    row out(static_cast<size_t>(outputs));
    for (double& y : out)
      for (double each : x) y += each * static_cast<double>(*w++);
    return out;
  };
  const auto rotate = [&](row& x, int32_t heads, int32_t position) {
    const int32_t dim = s.head_dim();
    for (int32_t h = 0; h < heads; ++h)
      for (int32_t i = 0; i < dim; i += 2) {
        const double angle = position * std::pow(10000.0, -static_cast<double>(i) / dim);
        double &a = x[static_cast<size_t>(h * dim + i)], &b = x[static_cast<size_t>(h * dim + i + 1)];
        const double turned = a * std::cos(angle) - b * std::sin(angle);
        b = b * std::cos(angle) + a * std::sin(angle);
        a = turned;
      }
  };
  std::vector<std::vector<row>> keys(static_cast<size_t>(s.layers)), values(keys.size());
  std::vector<double> logits;
  for (int32_t position = 0; position < count; ++position) {
    const float* const embedded = f.embedding + id_at(position, s.words) * s.width;
    row x(embedded, embedded + s.width);
    for (int32_t l = 0; l < s.layers; ++l) {
      const auto at = static_cast<size_t>(l);
      const row normed = rms(x, f.attention_norm + l * s.width);
      row q = times(f.wq + l * s.width * s.width, normed, s.width),
          k = times(f.wk + l * s.kv_width() * s.width, normed, s.kv_width());
      rotate(q, s.heads, position);
      rotate(k, s.kv_heads, position);
      keys[at].push_back(k);
      values[at].push_back(times(f.wv + l * s.kv_width() * s.width, normed, s.kv_width()));
      row heads(static_cast<size_t>(s.width));
      for (int32_t h = 0; h < s.heads; ++h) {
        const int32_t dim = s.head_dim(), q_at = h * dim, kv_at = h / (s.heads / s.kv_heads) * dim;
        double sum = 0;
        row mixed(static_cast<size_t>(dim));
        for (size_t j = 0; j < keys[at].size(); ++j) {
          double score = 0;
          for (int32_t c = 0; c < dim; ++c)
            score += q[static_cast<size_t>(q_at + c)] * keys[at][j][static_cast<size_t>(kv_at + c)];
          const double weight = std::exp(score / std::sqrt(static_cast<double>(dim)));
          sum += weight;
          for (int32_t c = 0; c < dim; ++c)
            mixed[static_cast<size_t>(c)] += weight * values[at][j][static_cast<size_t>(kv_at + c)];
        }
        for (int32_t c = 0; c < dim; ++c)
          heads[static_cast<size_t>(q_at + c)] = mixed[static_cast<size_t>(c)] / sum;
      }
      const row back = times(f.wo + l * s.width * s.width, heads, s.width);
      for (size_t c = 0; c < x.size(); ++c) x[c] += back[c];
      const row again = rms(x, f.mlp_norm + l * s.width);
      row gate = times(f.w1 + l * s.hidden * s.width, again, s.hidden);
      const row up = times(f.w3 + l * s.hidden * s.width, again, s.hidden);
      for (size_t c = 0; c < gate.size(); ++c) gate[c] = gate[c] / (1 + std::exp(-gate[c])) * up[c];
      const row down = times(f.w2 + l * s.width * s.hidden, gate, s.width);
      for (size_t c = 0; c < x.size(); ++c) x[c] += down[c];
    }
    const row last = times(f.classifier, rms(x, f.final_norm), s.words);
    logits.insert(logits.end(), last.begin(), last.end());
  }
  return logits;
}

} // namespace stories_model
