// What a build of attention may leave out, to be smaller: -DFOVEA_WITHOUT=masks+alibi+sinks names
// features of the list below, with + between them; `options` are all that a call may ask for beyond
// fovea_attend_plain. A call that asks for a feature that is not there is refused as FOVEA_UNSUPPORTED, with
// the argument. What is left has the same bits. Code asks the constants at the end; a name that is not in the
// list does not compile.
#pragma once

#ifndef FOVEA_WITHOUT
#define FOVEA_WITHOUT nothing
#endif

namespace fovea::features {

struct set {
  unsigned bits;
};
constexpr set operator+(set a, set b) { return {a.bits | b.bits}; }

namespace names {
constexpr set nothing{0}, masks{1}, alibi{2}, softcap{4}, sinks{8}, lse{16}, weights{32}, parts{64},
    partials{128}, kept_keys{256}, chunks{512}, trees{1024}, segments{2048};
constexpr set types{4096};         // float16, bfloat16 and int8 in memory
constexpr set few_row_tiles{8192}; // of x86, for up to eight rows: calls are slower, none is refused
constexpr set options{4095}, everything{16383};
} // namespace names

constexpr set left_out() {
  using namespace names;
  return FOVEA_WITHOUT;
}
constexpr unsigned built = names::everything.bits & ~left_out().bits;
constexpr bool has(set s) { return (built & s.bits) != 0; }

constexpr bool masks = has(names::masks), alibi = has(names::alibi), softcap = has(names::softcap),
               sinks = has(names::sinks), lse = has(names::lse), weights = has(names::weights),
               parts = has(names::parts), partials = has(names::partials), kept_keys = has(names::kept_keys),
               chunks = has(names::chunks), trees = has(names::trees), segments = has(names::segments),
               types = has(names::types), few_row_tiles = has(names::few_row_tiles);

} // namespace fovea::features
