// A small seeded model in llama2.c's format, what examples/stories needs to run it, and the decoder in plain
// loops of double.
#pragma once
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "data.hpp"
#include "examples/stories/decoder.hpp"
#include "examples/stories/llama2c.hpp"

namespace stories_model {

using stories::shape;

constexpr shape small = {48, 40, 2, 6, 2, 37, 144, 0}; // no width is a multiple of a panel

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

  reader(const stories::model& m, int32_t tokens, int32_t rows, const stories::arithmetic& how = {},
         int32_t cache = FOVEA_F32)
      : caches(stories::caches_size(m.of, tokens, cache)),
        numbers(stories::numbers_size(m.of, rows)),
        scratch(stories::scratch_size(m.of, rows, cache)),
        decoder(m, {caches.data(), numbers.data(), tokens, rows, cache}, how) {}

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

// Logits of `count` seeded tokens, `rows` of them read at once.
inline std::vector<float> logits_by(const stories::model& m, int32_t count, int32_t rows,
                                    const stories::arithmetic& how = {}, int32_t cache = FOVEA_F32) {
  CAPTURE(rows);
  reader r(m, count, rows, how, cache);
  REQUIRE(r.decoder.begin() == FOVEA_OK);
  for (int32_t at = 0; at < count; at += rows)
    REQUIRE(r.read(rows < count - at ? rows : count - at) == FOVEA_OK);
  return r.logits;
}

// Llama's decoder as its formula says, in double: the logits of the seeded tokens at 0 .. count-1.
inline std::vector<double> reference(const stories::model_file& f, int32_t count) {
  const shape& s = f.of;
  const double epsilon = s.norm_epsilon > 0 ? static_cast<double>(s.norm_epsilon) : 1e-5;
  const double base = f.rope.base > 0 ? static_cast<double>(f.rope.base) : 10000;
  using row = std::vector<double>;
  const auto rms = [&](const row& x, const fovea_rows_in& weight) {
    double sum = 0;
    for (double each : x) sum += each * each;
    row out;
    for (size_t c = 0; c < x.size(); ++c)
      out.push_back(x[c] / std::sqrt(sum / static_cast<double>(x.size()) + epsilon) *
                    static_cast<double>(stories::number_at(weight, static_cast<ptrdiff_t>(c))));
    return out;
  };
  const auto times = [](const fovea_rows_in& w, const row& x, int32_t outputs,
                        const fovea_rows_in& bias = {}) {
    row out(static_cast<size_t>(outputs));
    ptrdiff_t at = 0;
    for (double& y : out)
      for (double each : x) y += each * static_cast<double>(stories::number_at(w, at++));
    for (int32_t i = 0; bias.data && i < outputs; ++i)
      out[static_cast<size_t>(i)] += static_cast<double>(stories::number_at(bias, i));
    return out;
  };
  const int32_t dim = s.head_dim();
  const auto rotate = [&](row& x, int32_t heads, int32_t position) {
    for (int32_t h = 0; h < heads; ++h)
      for (int32_t i = 0; i < dim / 2; ++i) {
        const double angle = position * std::pow(base, -2.0 * i / dim);
        const int32_t first = h * dim + (s.half_pairs ? i : 2 * i);
        double &a = x[static_cast<size_t>(first)],
               &b = x[static_cast<size_t>(first + (s.half_pairs ? dim / 2 : 1))];
        const double turned = a * std::cos(angle) - b * std::sin(angle);
        b = b * std::cos(angle) + a * std::sin(angle);
        a = turned;
      }
  };
  std::vector<std::vector<row>> keys(static_cast<size_t>(s.layers)), values(keys.size());
  std::vector<double> logits;
  for (int32_t position = 0; position < count; ++position) {
    row x;
    for (int32_t c = 0; c < s.width; ++c)
      x.push_back(
          static_cast<double>(stories::number_at(f.embedding, id_at(position, s.words) * s.width + c)));
    for (int32_t l = 0; l < s.layers; ++l) {
      const auto at = static_cast<size_t>(l);
      const stories::layer_tensors layer = f.layer(l);
      const row normed = rms(x, layer.attention_norm);
      row q = times(layer.wq, normed, s.q_width(), layer.bq),
          k = times(layer.wk, normed, s.kv_width(), layer.bk);
      rotate(q, s.heads, position);
      rotate(k, s.kv_heads, position);
      keys[at].push_back(k);
      values[at].push_back(times(layer.wv, normed, s.kv_width(), layer.bv));
      row heads(static_cast<size_t>(s.q_width()));
      for (int32_t h = 0; h < s.heads; ++h) {
        const int32_t q_at = h * dim, kv_at = h / (s.heads / s.kv_heads) * dim;
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
      const row back = times(layer.wo, heads, s.width);
      for (size_t c = 0; c < x.size(); ++c) x[c] += back[c];
      const row again = rms(x, layer.mlp_norm);
      row gate = times(layer.w1, again, s.hidden);
      const row up = times(layer.w3, again, s.hidden);
      for (size_t c = 0; c < gate.size(); ++c) gate[c] = gate[c] / (1 + std::exp(-gate[c])) * up[c];
      const row down = times(layer.w2, gate, s.width);
      for (size_t c = 0; c < x.size(); ++c) x[c] += down[c];
    }
    const row last = times(f.classifier, rms(x, f.final_norm), s.words);
    logits.insert(logits.end(), last.begin(), last.end());
  }
  return logits;
}

// The distance of logits from those of the reference, as a part of their length.
inline double distance(const std::vector<float>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  double off = 0, all = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const double difference = static_cast<double>(found[i]) - expected[i];
    off += difference * difference;
    all += expected[i] * expected[i];
  }
  return std::sqrt(off / all);
}

} // namespace stories_model
