// Prints over semihosting.
#include "result.hpp"

#include "../../platforms/cortex-m/semihosting.hpp"
#include "../fields.hpp"

namespace board {
namespace {

using bench::shape;

bool same(const char* a, const char* b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}

text quoted(const char* words) { return text().add('"').add(words).add('"'); }

text compiler_name() {
#if defined(__clang__)
  return text("clang ").number(__clang_major__).add('.').number(__clang_minor__);
#else
  return text("gcc ").number(__GNUC__).add('.').number(__GNUC_MINOR__);
#endif
}

text name_of(const shape& s) {
  char name[bench::longest_name];
  bench::write_name(s, name);
  return text(name);
}

// Thousandths of the core's time: seconds in units of 1e-12 fit 64 bits for ten days of cycles.
text seconds_of(const machine& m, uint64_t cycles) {
  const uint64_t picoseconds = cycles * 1000000 / m.kilohertz * 1000;
  return text().number(picoseconds / 1000000000000u).add('.').number(picoseconds % 1000000000000u, 12);
}

text value_of(const char* field, const machine& m, const result& r) {
  const shape& s = *r.what;
  const auto is = [&](const char* name) { return same(field, name); };
  if (is("work")) return quoted(name_of(s).words());
  if (is("isa")) return quoted(r.isa);
  if (is("dtype")) return quoted(s.integers() ? "int8" : "f32");
  if (is("q_heads")) return decimal(static_cast<uint64_t>(s.q_heads));
  if (is("kv_heads")) return decimal(static_cast<uint64_t>(s.kv_heads));
  if (is("dim")) return decimal(static_cast<uint64_t>(s.dim));
  if (is("queries")) return decimal(static_cast<uint64_t>(s.queries));
  if (is("keys")) return decimal(static_cast<uint64_t>(s.keys));
  if (is("causal")) return text(s.causal ? "true" : "false");
  if (is("seconds") && m.kilohertz > 0 && !m.emulated) return seconds_of(m, r.count);
  if (is("scratch")) return quoted("best");
  if (is("scratch_bytes")) return decimal(r.scratch_bytes);
  if (is("samples")) return decimal(static_cast<uint64_t>(r.samples));
  if (is("parts") || is("threads")) return text("1");
  if (is("digest")) return text().add('"').hex(r.digest).add('"');
  if (is("disturbed")) return text("false");
  if (is(m.unit())) return decimal(r.count);
  if (is("per_mac")) return text().thousandths(r.per_mac());
  if (is("board")) return quoted(FOVEA_BOARD_NAME);
  if (is("cpu")) return text().add('"').add(core_name()).add(m.emulated ? " by qemu-system-arm\"" : "\"");
  if (is("compiler")) return quoted(compiler_name().words());
  if (is("fovea")) return quoted(version_text().words());
  if (is("date") && m.begun > 0) return quoted(date_of(m.begun).words());
  if (is("clock_mhz") && m.kilohertz > 0 && !m.emulated) return text().thousandths(m.kilohertz);
  if (is("emulated")) return text(m.emulated ? "true" : "false");
  return text("null");
}

uint32_t read_clock() { return ask_host(request::read_clock, nullptr); } // hundredths of a second

// The host's clock is coarse, and the core's counter stands still while the host answers: so it counts for a
// second or more.
uint32_t measure_kilohertz() {
  for (uint64_t cycles = 1u << 20; cycles < uint64_t{1} << 31; cycles *= 2) {
    const uint32_t before = read_clock();
    const uint64_t begin = read_counter();
    while (elapsed(begin, read_counter()) < cycles) {
    }
    const uint64_t ran = elapsed(begin, read_counter());
    const uint32_t hundredths = read_clock() - before;
    if (hundredths >= 100 && hundredths < 6000) return static_cast<uint32_t>(ran / hundredths / 10);
  }
  return 0;
}

} // namespace

// The part number of the core itself. In QEMU a board for a larger core may stand in for a smaller one.
const char* core_name() {
  const uint32_t part = *reinterpret_cast<volatile uint32_t*>(0xE000ED00) >> 4 & 0xfff;
  switch (part) {
    case 0xc20:
      return "Cortex-M0";
    case 0xc60:
      return "Cortex-M0+";
    case 0xc23:
      return "Cortex-M3";
    case 0xc24:
      return "Cortex-M4";
    case 0xc27:
      return "Cortex-M7";
    case 0xd20:
      return "Cortex-M23";
    case 0xd21:
      return "Cortex-M33";
    case 0xd22:
      return "Cortex-M55";
    case 0xd23:
      return "Cortex-M85";
    default:
      return "unknown Cortex-M";
  }
}

machine find_machine(bool emulated) {
  machine m;
  m.emulated = emulated;
  m.counter = start_counter();
  m.begun = ask_host(request::read_time, nullptr);
  if (emulated)
    m.per_tick = instructions_per_tick();
  else
    m.kilohertz = measure_kilohertz();
  return m;
}

text version_text() {
  const uint32_t version = static_cast<uint32_t>(fovea_version());
  return text().number(version / 10000).add('.').number(version / 100 % 100).add('.').number(version % 100);
}

text date_of(uint32_t seconds) {
  uint32_t days = seconds / 86400, year = 1970, month = 0;
  const auto leap = [](uint32_t y) { return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0; };
  while (days >= (leap(year) ? 366u : 365u)) days -= leap(year++) ? 366 : 365;
  const uint8_t lengths[] = {
      31, static_cast<uint8_t>(leap(year) ? 29 : 28), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  while (days >= lengths[month]) days -= lengths[month++];
  text date;
  date.number(year).add('-').number(month + 1, 2).add('-').number(days + 1, 2).add('T');
  date.number(seconds / 3600 % 24, 2).add(':').number(seconds / 60 % 60, 2).add(':');
  return date.number(seconds % 60, 2).add('Z');
}

void print_table_head(const machine& m) {
  text head;
  head.left("work", 35).left("isa", 10).right(text("scratch"), 9).right(text(m.unit()), 14);
  head.right(text("per MAC"), 9).add("  digest\n");
  write_text(head.words());
}

void print_row(const result& r) {
  text row;
  row.left(name_of(*r.what).words(), 35).left(r.isa, 10);
  row.right(decimal(r.scratch_bytes).add(" B"), 9).right(decimal(r.count), 14);
  row.right(text().thousandths(r.per_mac()), 9).add("  ").hex(r.digest).add('\n');
  write_text(row.words());
}

void print_refusal(const shape& what, const char* reason) {
  write_text(text().left(name_of(what).words(), 35).add("refused: ").add(reason).add('\n').words());
}

void print_json(const machine& m, const result* results, int count) {
  for (int i = 0; i < count; ++i) {
    write_text(i == 0 ? "[\n {" : ",\n {");
    const char* comma = "\"";
    for (const char* name : bench::field_names) {
      write_text(comma);
      write_text(name);
      write_text("\":");
      write_text(value_of(name, m, results[i]).words());
      comma = ",\"";
    }
    write_text("}");
  }
  write_text(count == 0 ? "[]\n" : "\n]\n");
}

} // namespace board
