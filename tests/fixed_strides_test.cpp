// Integer tensors with strides: the bits of tensors without gaps; which strides and which neighbours of the
// output are refused.
#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "fixed_problem.hpp"

namespace {

constexpr unsigned char gap = 0x7b;

// The bytes of a tensor [head][token][row] with strides of its own.
struct spread_tensor {
  std::vector<unsigned char> bytes;
  ptrdiff_t head, token; // in elements

  spread_tensor(const void* from, int32_t heads, int32_t tokens, int32_t row, size_t element,
                bool tokens_first, ptrdiff_t more)
      : head(tokens_first ? row + more : (row + more) * tokens + more),
        token(tokens_first ? (row + more) * heads : row + more) {
    if (heads * tokens == 0) return;
    bytes.assign(static_cast<size_t>((heads - 1) * head + (tokens - 1) * token + row) * element, gap);
    const size_t size = static_cast<size_t>(row) * element;
    for (int32_t h = 0; h < heads; ++h)
      for (int32_t t = 0; t < tokens; ++t)
        if (from)
          std::memcpy(place(h, t, element),
                      static_cast<const unsigned char*>(from) + static_cast<size_t>(h * tokens + t) * size,
                      size);
  }
  unsigned char* place(int32_t h, int32_t t, size_t element) {
    return bytes.data() + static_cast<size_t>(h * head + t * token) * element;
  }
};

void check_strided(fixed_problem& x, bool wide, bool tokens_first, ptrdiff_t more) {
  fovea_fixed_attention a = x.call();
  const int32_t kv = x.kv_heads(), v_dim = x.v_dim();
  std::vector<unsigned char> scratch(fovea_fixed_scratch_best(&a) + 4096);
  REQUIRE(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
  const size_t in = wide ? 2 : 1, out = a.out.dtype == FOVEA_FIXED_S8    ? 1
                                        : a.out.dtype == FOVEA_FIXED_S16 ? 2
                                                                         : 4;
  spread_tensor q(a.q.data, a.q_heads, a.queries, a.dim, in, tokens_first, more),
      k(a.k.data, kv, a.keys, a.dim, in, tokens_first, more);
  spread_tensor v(a.v.data, kv, a.keys, v_dim, in, tokens_first, more),
      o(nullptr, a.q_heads, a.queries, v_dim, out, tokens_first, more);
  spread_tensor right(x.out.data(), a.q_heads, a.queries, v_dim, out, tokens_first, more);
  const auto give = [](fovea_fixed_in& t, const spread_tensor& s) {
    t.data = s.bytes.data(), t.head_stride = s.head, t.token_stride = s.token;
  };
  give(a.q, q), give(a.k, k), give(a.v, v);
  a.out.data = o.bytes.data(), a.out.head_stride = o.head, a.out.token_stride = o.token;
  for (size_t size : {fovea_fixed_scratch(&a), fovea_fixed_scratch_best(&a)}) {
    o.bytes.assign(o.bytes.size(), gap);
    CHECK(fovea_fixed_attend(&a, scratch.data(), size) == FOVEA_OK);
    CHECK(o.bytes == right.bytes);
  }
}

} // namespace

TEST_CASE("integers: strides of all tensors give the bits of tensors without gaps") {
  for (int32_t type : {FOVEA_FIXED_S8, FOVEA_FIXED_S16, FOVEA_FIXED_F32})
    for (bool wide : {false, true})
      for (bool tokens_first : {false, true})
        for (ptrdiff_t more : {0, 3}) {
          if (wide && type == FOVEA_FIXED_S8) continue;
          CAPTURE(type);
          CAPTURE(wide);
          CAPTURE(tokens_first);
          CAPTURE(more);
          fixed_problem x("strides");
          x.heads(4, 2).dims(20, 24).lengths(3, 70).causal();
          if (wide) x.s16();
          x.make(type, 3);
          check_strided(x, wide, tokens_first, more);
        }
}

TEST_CASE("integers: many heads and many tokens, whose bytes are counted with care") {
  fixed_problem heads("130 heads"), keys("8,200 keys");
  heads.heads(130, 65).dims(4).lengths(2, 5).make(FOVEA_FIXED_S8, 2);
  keys.heads(2, 1).dims(4).lengths(1, 8200).max_keys(16384).make(FOVEA_FIXED_S8, 2);
  for (fixed_problem* x : {&heads, &keys}) {
    fovea_fixed_attention a = x->call();
    std::vector<unsigned char> scratch(fovea_fixed_scratch(&a));
    CHECK(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
    CHECK(x->out == x->expected());
  }
}

TEST_CASE("integers: rows of the output may touch but not overlap") {
  struct placed_output {
    const char* why;
    int32_t heads, queries;
    ptrdiff_t head_stride, token_stride;
    bool good;
  };
  constexpr ptrdiff_t row = 24;
  const placed_output table[] = {
      {"one query of one head: no stride counts", 1, 1, 1, 1, true},
      {"heads of one query one element too near", 2, 1, row - 1, 1, false},
      {"queries of one head one element too near", 1, 3, 1, row - 1, false},
      {"heads behind each other", 2, 3, 3 * row, row, true},
      {"heads behind each other, one element too near", 2, 3, 3 * row - 1, row, false},
      {"queries behind each other", 2, 3, row, 2 * row, true},
      {"queries behind each other, one element too near", 2, 3, row, 2 * row - 1, false},
  };
  for (const placed_output& t : table) {
    INFO(std::string(t.why));
    fixed_problem x("output");
    fovea_fixed_attention a = x.heads(t.heads, 1).dims(20, row).lengths(t.queries, 20).make(FOVEA_FIXED_S16);
    std::vector<int16_t> out(500);
    a.out.data = out.data(), a.out.head_stride = t.head_stride, a.out.token_stride = t.token_stride;
    CHECK(fovea_fixed_check(&a) == (t.good ? int32_t{FOVEA_OK} : FOVEA_STRIDE | FOVEA_ARG_OUT << 8));
  }
}

TEST_CASE("integers: the output may stand beside what is read, and not one byte in it") {
  struct neighbour {
    const char* why;
    const unsigned char* (*begin)(const fovea_fixed_attention& a);
    size_t size;
  };
  constexpr size_t rows = 4 * 3, q = rows * 20, k = 2 * 70 * 20, v = 2 * 70 * 24;
  const neighbour all[] = {
      {"q", [](const fovea_fixed_attention& a) { return static_cast<const unsigned char*>(a.q.data); }, q},
      {"k", [](const fovea_fixed_attention& a) { return static_cast<const unsigned char*>(a.k.data); }, k},
      {"v", [](const fovea_fixed_attention& a) { return static_cast<const unsigned char*>(a.v.data); }, v},
      {"the mask",
       [](const fovea_fixed_attention& a) { return static_cast<const unsigned char*>(a.mask.data); },
       rows * 70},
      {"the bias",
       [](const fovea_fixed_attention& a) { return static_cast<const unsigned char*>(a.bias.data); },
       rows * 70 * 4},
      {"multipliers of keys",
       [](const fovea_fixed_attention& a) {
         return static_cast<const unsigned char*>(a.key_multipliers.data);
       },
       2 * 70 * 4},
      {"weights of values",
       [](const fovea_fixed_attention& a) { return static_cast<const unsigned char*>(a.value_weights.data); },
       2 * 70 * 2},
      {"slopes",
       [](const fovea_fixed_attention& a) { return reinterpret_cast<const unsigned char*>(a.alibi); }, 4 * 4},
      {"sinks",
       [](const fovea_fixed_attention& a) { return reinterpret_cast<const unsigned char*>(a.sinks); }, 4 * 4},
      {"scales of heads",
       [](const fovea_fixed_attention& a) { return reinterpret_cast<const unsigned char*>(a.head_scales); },
       4 * sizeof(fovea_fixed_scale)},
  };
  fixed_problem x("neighbours");
  const fovea_fixed_attention good = x.heads(4, 2).dims(20, 24).lengths(3, 70).all_tables().make(
      FOVEA_FIXED_S8, 5);
  constexpr size_t out = rows * 24;
  for (const neighbour& n : all) {
    INFO(std::string(n.why));
    // Addresses are only compared: fovea_fixed_check reads no tensor. Tables of other calls lie elsewhere in
    // memory, so a false alarm by another one is possible; it names the same argument, and only the two
    // refusals are held to it.
    fovea_fixed_attention a = good;
    const uintptr_t begin = reinterpret_cast<uintptr_t>(n.begin(good));
    a.out.data = reinterpret_cast<void*>(begin + n.size - 1);
    CHECK(fovea_fixed_check(&a) == (FOVEA_OVERLAP | FOVEA_ARG_OUT << 8));
    a.out.data = reinterpret_cast<void*>(begin - out + 1);
    CHECK(fovea_fixed_check(&a) == (FOVEA_OVERLAP | FOVEA_ARG_OUT << 8));
  }
  // One array for all: what is read, the output, what is read.
  std::vector<int8_t> room(q + out + k + v, 1);
  fovea_fixed_attention a{};
  a.q_heads = 4, a.kv_heads = 2, a.dim = 20, a.v_dim = 24, a.queries = 3, a.keys = 70, a.scale = good.scale;
  a.q.data = room.data(), a.out.data = room.data() + q, a.k.data = room.data() + q + out,
  a.v.data = room.data() + q + out + k;
  CHECK(fovea_fixed_check(&a) == FOVEA_OK);
  for (int by : {-1, 1}) {
    fovea_fixed_attention b = a;
    b.out.data = room.data() + static_cast<ptrdiff_t>(q) + by;
    CHECK(fovea_fixed_check(&b) == (FOVEA_OVERLAP | FOVEA_ARG_OUT << 8));
  }
}
