// The bit identity set: the calls whose results must have the same bits on every ISA, for any parts, scratch,
// chunks and layout.
#pragma once
#include <vector>

#include "problem.hpp"

inline std::vector<shape> plain_bit_set() {
  return {
      // Around a panel of 16 keys, with every dim.
      shape("15 keys, one dim").heads(2, 1).dims(1).lengths(3, 15),
      shape("16 keys, three dims").heads(4, 2).dims(3, 5).lengths(5, 16),
      shape("17 keys, 20 dims, causal prefill").heads(4, 2).dims(20).lengths(17, 17).causal(),
      shape("17 keys, 64 dims").heads(2, 1).dims(64, 20).lengths(4, 17),
      shape("16 keys, 128 dims, one row").heads(2, 2).dims(128, 3).lengths(1, 16),
      shape("15 keys, 128 values of a row").heads(1).dims(3, 128).lengths(2, 15),
      // Around a block of 256 keys.
      shape("255 keys, 64 dims, decode of a group").heads(4, 2).dims(64).lengths(1, 255),
      shape("256 keys, 20 dims, a causal chunk").heads(2, 1).dims(20, 12).lengths(6, 256).causal(),
      shape("257 keys, 128 dims").heads(1).dims(128, 64).lengths(2, 257),
      shape("257 keys, 3 dims, causal prefill").heads(1).dims(3).lengths(29, 257).causal(),
      shape("256 keys, 1 dim, negative scale").heads(4, 2).dims(1, 20).lengths(2, 256).scale(-0.37f),
      // Around a span of 4,096 keys, and two of them.
      shape("4,095 keys").dims(8).lengths(1, 4095),
      shape("4,096 keys").dims(8).lengths(1, 4096),
      shape("4,097 keys, a causal chunk").dims(8).lengths(2, 4097).causal(),
      shape("8,193 keys").dims(8, 4).lengths(1, 8193),
      // What a row may see.
      shape("a window, causal").heads(4, 2).dims(20).lengths(12, 48).causal().window(9, 0),
      shape("a window to both sides over a block border")
          .heads(2, 1)
          .dims(8)
          .lengths(7, 300)
          .position(250)
          .window(20, 5),
      shape("kept keys and a window, a block apart")
          .heads(2, 1)
          .dims(8)
          .lengths(5, 530)
          .causal()
          .window(17, 0)
          .keep_first(3),
      shape("a prefix").heads(2, 1).dims(20).lengths(9, 20).causal().prefix(6),
      shape("rows that see nothing").heads(2, 1).dims(8).lengths(9, 20).causal().position(-4),
      shape("rows that begin inside a block").heads(2, 1).dims(8).lengths(5, 60).causal().first_key(229),
      shape("rows that begin inside a span")
          .heads(2, 1)
          .dims(8)
          .lengths(5, 60)
          .causal()
          .first_key(4061)
          .window(33, 0),
      // Scores of any size.
      shape("scores of 100").heads(2, 1).dims(20).lengths(4, 270).causal().scores(100),
      shape("scores of 1e4").heads(2, 1).dims(8).lengths(5, 270).causal().scores(1e4f),
      shape("scores of 1e9").heads(2, 1).dims(8).lengths(5, 270).causal().scores(1e9f),
      shape("scores of 3e6: tops on both sides of 2^22")
          .heads(2, 1)
          .dims(8)
          .lengths(6, 270)
          .causal()
          .scores(6e6f),
      shape("a scale of 0").heads(2, 1).dims(8).lengths(2, 270).scale(0),
  };
}

// The same promise with everything that may happen to a score, alone and together, and with all that a call
// may tell.
inline std::vector<shape> modified_bit_set() {
  const mask_kind shown = mask_kind::shown, bias = mask_kind::bias;
  return {
      shape("softcap").heads(2, 1).dims(5).lengths(3, 257).causal().softcap(5).lse(),
      shape("a softcap far below the scores")
          .heads(2, 1)
          .dims(8)
          .lengths(5, 40)
          .softcap(0.01f)
          .scores(1e4f)
          .weights(2),
      shape("ALiBi, also behind the query")
          .heads(4, 2)
          .dims(1, 3)
          .lengths(3, 270)
          .position(200)
          .alibi()
          .lse(),
      shape("a sink above all scores").heads(4, 2).dims(8).lengths(3, 40).causal().sinks(30).lse().weights(0),
      shape("sinks over two spans").heads(2, 1).dims(1).lengths(1, 4100).sinks().lse(),
      shape("a bool mask of each row").heads(4, 2).dims(20, 12).lengths(7, 17).mask(shown).lse().weights(0),
      shape("an additive mask of each row")
          .heads(4, 2)
          .dims(8, 20)
          .lengths(7, 17)
          .causal()
          .mask(bias)
          .lse()
          .weights(3),
      shape("one additive row for all, shorter than the keys")
          .dims(3)
          .lengths(3, 300)
          .mask(bias, false, false)
          .mask_keys(270)
          .lse(),
      shape("everything, decode of a group")
          .heads(4, 2)
          .dims(8)
          .lengths(1, 257)
          .softcap(5)
          .alibi()
          .sinks()
          .mask(shown)
          .lse()
          .weights(0),
      shape("everything, a causal chunk")
          .heads(4, 2)
          .dims(3, 5)
          .lengths(5, 262)
          .causal()
          .softcap(5)
          .alibi()
          .sinks()
          .mask(bias)
          .lse(),
      shape("everything over a block border")
          .heads(4, 2)
          .dims(3)
          .lengths(9, 60)
          .first_key(229)
          .causal()
          .window(20, 0)
          .keep_first(240)
          .softcap(5)
          .alibi()
          .sinks()
          .mask(bias)
          .lse()
          .weights(1),
      shape("everything over a span border")
          .heads(2, 1)
          .dims(8)
          .lengths(5, 60)
          .first_key(4061)
          .causal()
          .prefix(4070)
          .softcap(5)
          .alibi()
          .sinks()
          .mask(shown)
          .lse(),
      shape("everything over two spans")
          .dims(1, 3)
          .lengths(2, 4130)
          .causal()
          .softcap(5)
          .alibi(0.001f)
          .sinks()
          .mask(shown, false)
          .lse(),
      shape("rows of which some see nothing")
          .heads(2, 1)
          .dims(3)
          .lengths(9, 20)
          .causal()
          .position(-4)
          .sinks()
          .mask(bias)
          .lse(),
      shape("scores of 1e9 under a mask")
          .heads(2, 1)
          .dims(3)
          .lengths(5, 270)
          .causal()
          .scores(1e9f)
          .mask(bias)
          .sinks()
          .lse(),
  };
}
