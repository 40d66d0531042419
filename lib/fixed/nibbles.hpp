// Weights of four bits where an instruction multiplies unsigned by signed bytes, four deep: two bits of
// logic make two products of a load. A dot of vnni.hpp multiplies; four bits are unsigned, and the 8 that is
// taken from each comes from the start of the sums.
#pragma once
#include "fixed/chunks.hpp"
#include "fixed/groups.hpp"
#include "fixed/product.hpp"
#include "fixed/scaling.hpp"
#include "fixed/shapes.hpp"

namespace fovea::fixed {

template <class Dot, class... Shapes>
struct nibble_product {
  static constexpr int lanes = Dot::lanes, regs = Dot::regs;
  // One row reads two streams where sixteen lanes are a register: others would not hold the sums of both.
  static constexpr bool takes_two_streams = regs == 1;
  using vectors = float_vectors<lanes>;
  using reg = typename Dot::reg;
  using floats = typename vectors::floats;
  using shapes = fixed_shapes<Shapes...>;

  // The starts of sums, then chunks of each group of rows.
  static constexpr ptrdiff_t starts_bytes(int32_t rows) { return 4 * ((rows + 3) / 4 * 4); }
  static size_t tile_bytes(int32_t rows) {
    return static_cast<size_t>(starts_bytes(rows)) + static_cast<size_t>(group_depth * rows);
  }
  static void take(const int8_t* x, ptrdiff_t step, int32_t rows, void* tile) {
    int32_t* const all = static_cast<int32_t*>(tile);
    int8_t* const chunks_at = static_cast<int8_t*>(tile) + starts_bytes(rows);
    const auto group = [&](auto shape, int r) {
      constexpr int M = decltype(shape)::rows;
      const int8_t* q[M];
      int32_t starts[M] = {};
      for (int m = 0; m < M; ++m) q[m] = x + (r + m) * step;
      take_group<Dot, M>(q, group_depth, group_depth, chunks_at + r * group_depth, starts);
      for (int m = 0; m < M; ++m) all[r + m] = starts[m] / (Dot::key_offset / -8); // 8 instead of 128
    };
    by_groups_of(rows, group, shapes{});
  }

  static void multiply_groups(const group_job& job, float* z) {
    for (int32_t n = 0; n < job.count; ++n, z += 16) {
      const unsigned char* const scales = job.panels + n * job.apart;
      const auto group = [&](auto shape, int r) FOVEA_LAMBDA_INLINE {
        multiply_panel<decltype(shape)::rows>(job, r, scales, z + r * sums_step);
      };
      by_groups_of(job.rows, group, shapes{});
    }
  }

  // One row by panels of two streams, each read in order, so that cores prefetch them by themselves.
  static void multiply_two(const group_job& job, const output_stream& first, const output_stream& second) {
    const auto multiply = job.groups <= held_groups ? multiply_two_panels<true> : multiply_two_panels<false>;
    output_stream streams[2] = {first, second};
    for (int32_t n = 0; n < job.count; ++n) {
      multiply(job, streams);
      for (output_stream& each : streams) each.panels += job.apart;
    }
  }

 private:
  static constexpr int32_t held_groups = 48; // with more, prefetched lines are faster: docs/speed/decoders.md

  // All scales are read before the bytes behind them: few are held as floats, lines of many are prefetched.
  template <bool HoldsScales>
  __attribute__((noinline)) static void multiply_two_panels(const group_job& job,
                                                            output_stream (&streams)[2]) {
    const int32_t groups = job.groups;
    const unsigned char* const panels[2] = {streams[0].panels, streams[1].panels};
    const unsigned char* tile = job.tiles;
    floats held[2][HoldsScales ? held_groups : 1], sum[2] = {};
#pragma GCC unroll 2
    for (int s = 0; s < 2; ++s)
      if constexpr (HoldsScales)
        for (int32_t g = 0; g < groups; ++g) held[s][g] = scales_of_group(job, panels[s], g);
      else
        for (int32_t g = 0; g < groups; g += 64 / group_scales)
          __builtin_prefetch(panels[s] + g * group_scales);
    const unsigned char* bytes[2];
    for (int s = 0; s < 2; ++s) bytes[s] = panels[s] + static_cast<ptrdiff_t>(groups) * group_scales;
    for (int32_t g = 0; g < groups; ++g, tile += job.tile_step) {
      const auto* const x = reinterpret_cast<const int8_t*>(tile + starts_bytes(1));
#pragma GCC unroll 2
      for (int s = 0; s < 2; ++s) {
        reg exact[1][1];
        multiply_bytes<1, false>(tile, x, bytes[s], exact);
        const auto words = reinterpret_cast<typename vectors::words>(exact[0][0]);
        const floats by = HoldsScales ? held[s][g] : scales_of_group(job, panels[s], g);
        sum[s] += __builtin_convertvector(words, floats) * by;
        bytes[s] += group_bytes;
      }
    }
    write_outputs(sum[0], streams[0]);
    write_outputs(sum[1], streams[1]);
  }
  static FOVEA_INLINE floats scales_of_group(const group_job& job, const unsigned char* panel, int32_t g) {
    floats x[1];
    Dot::load_halves(panel + g * group_scales, x);
    return x[0] * job.scales[g];
  }

  // M rows from r on by one panel. Sums of a group are exact; their products join a float each.
  template <int M>
  __attribute__((noinline)) static void multiply_panel(const group_job& job, int r,
                                                       const unsigned char* scales, float* z) {
    const int32_t groups = job.groups;
    const unsigned char* bytes = scales + static_cast<ptrdiff_t>(groups) * group_scales;
    const unsigned char* tile = job.tiles;
    const ptrdiff_t tile_step = job.tile_step, chunks_at = starts_bytes(job.rows) + r * group_depth;
    const float* const row_scales = job.scales + static_cast<ptrdiff_t>(r) * groups;
    floats sum[M][regs] = {};
    for (int32_t g = 0; g < groups; ++g, tile += tile_step, bytes += group_bytes, scales += group_scales) {
      reg exact[M][regs];
      const auto* const x = reinterpret_cast<const int8_t*>(tile + chunks_at);
      if (M <= 2) prefetch_weights(scales);
      if constexpr (Dot::multiplies_all_bytes)
        multiply_bytes<M>(tile + 4 * r, x, bytes, exact);
      else
        multiply_small_bytes<M>(tile + 4 * r, x, bytes, exact);
      floats by[regs];
      Dot::load_halves(scales, by);
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m) {
        const float row = row_scales[static_cast<ptrdiff_t>(m) * groups + g];
#pragma GCC unroll 4
        for (int i = 0; i < regs; ++i) {
          const auto words = reinterpret_cast<typename vectors::words>(exact[m][i]);
          sum[m][i] += __builtin_convertvector(words, floats) * (by[i] * row);
        }
      }
    }
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) std::memcpy(z + m * sums_step, sum[m], sizeof sum[m]);
  }

  template <int M, bool Prefetch = M <= 2>
  static FOVEA_INLINE void multiply_bytes(const unsigned char* starts, const int8_t* x,
                                          const unsigned char* bytes, reg (&sums)[M][regs]) {
    // Few rows have sums of their own for the high bits, so that two products are never in one's way. Their
    // bits are left where they stand, and the sums are 16 times as large.
    constexpr bool apart = M <= 2;
    const reg low_bits = Dot::spread(0x0f0f0f0f);
    reg highs[apart ? M : 1][regs];
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) {
      const reg start = Dot::spread(word_at(starts + 4 * m));
#pragma GCC unroll 4
      for (int i = 0; i < regs; ++i) {
        sums[m][i] = start;
        if (apart) highs[m][i] = Dot::spread(0);
      }
    }
#pragma GCC unroll 4
    for (int t = 0; t < 4; ++t)
#pragma GCC unroll 4
      for (int i = 0; i < regs; ++i) {
        const reg v = load_bytes<Prefetch>(bytes, t, i), low = v & low_bits;
        const reg high = apart ? v & ~low_bits : shifted<4>(v) & low_bits;
#pragma GCC unroll 16
        for (int m = 0; m < M; ++m) {
          Dot::dot_bytes(sums[m][i], low, Dot::spread(word_at(x + 4 * (t * M + m))));
          Dot::dot_bytes(apart ? highs[m][i] : sums[m][i], high,
                         Dot::spread(word_at(x + 4 * ((t + 4) * M + m))));
        }
      }
    if constexpr (apart)
#pragma GCC unroll 2
      for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
        for (int i = 0; i < regs; ++i) {
          using words = typename vectors::words;
          sums[m][i] = reinterpret_cast<reg>(reinterpret_cast<words>(sums[m][i]) +
                                             (reinterpret_cast<words>(highs[m][i]) >> 4));
        }
  }

  // Where an instruction adds two products of bytes to 16 bits: sums of a whole group fit them, as
  // 16 * 15 * 127 is below 2^15.
  template <int M>
  static FOVEA_INLINE void multiply_small_bytes(const unsigned char* starts, const int8_t* x,
                                                const unsigned char* bytes, reg (&sums)[M][regs]) {
    using halves = typename vectors::halves;
    const reg low_bits = Dot::spread(0x0f0f0f0f);
    halves pairs[M][regs];
#pragma GCC unroll 4
    for (int t = 0; t < 4; ++t)
#pragma GCC unroll 4
      for (int i = 0; i < regs; ++i) {
        const reg v = load_bytes<M <= 2>(bytes, t, i), low = v & low_bits, high = shifted<4>(v) & low_bits;
#pragma GCC unroll 16
        for (int m = 0; m < M; ++m) {
          const reg low_pairs = Dot::pair_products(low, Dot::spread(word_at(x + 4 * (t * M + m)))),
                    high_pairs = Dot::pair_products(high, Dot::spread(word_at(x + 4 * ((t + 4) * M + m))));
          const halves both = reinterpret_cast<halves>(low_pairs) + reinterpret_cast<halves>(high_pairs);
          pairs[m][i] = t == 0 ? both : pairs[m][i] + both;
        }
      }
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
      for (int i = 0; i < regs; ++i)
        sums[m][i] = Dot::add_pairs(Dot::spread(word_at(starts + 4 * m)), reinterpret_cast<reg>(pairs[m][i]));
  }

  // Register i of the bytes of four numbers.
  template <bool Prefetch>
  static FOVEA_INLINE reg load_bytes(const unsigned char* bytes, int t, int i) {
    const unsigned char* const at = bytes + 64 * t + 4 * lanes * i;
    if (Prefetch && i % (lanes < 16 ? 2 : 1) == 0) prefetch_weights(at);
    return Dot::load(at);
  }
  template <int Count>
  static FOVEA_INLINE reg shifted(reg x) { // of each half
    return reinterpret_cast<reg>(reinterpret_cast<typename vectors::halves>(x) >> Count);
  }
  static FOVEA_INLINE int32_t word_at(const void* p) {
    int32_t x;
    std::memcpy(&x, p, sizeof x);
    return x;
  }
};

} // namespace fovea::fixed
