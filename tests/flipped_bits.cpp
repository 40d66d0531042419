// For boards whose flash an emulator lets programs write: flips bits of the linked image, one after the
// other, and runs the self-test with each. tools/check/selftest builds and calls it.
//   flipped_bits IMAGE BYTES STEP FIRST ADDRESS BYTES...   each STEP-th bit from bit FIRST on of these places
// Addresses and numbers are hexadecimal. It prints a letter for each bit: f where the self-test found it, x
// where the core faulted or hung, and m where the self-test passed.
#include "fovea/selftest.h"
#include "platforms/cortex-m/semihosting.hpp"

extern "C" {
extern unsigned char stack_top;
__attribute__((used, noreturn)) void go_on_behind_fault();
void end_of_flip();
}

namespace {

unsigned char scratch[FOVEA_SELFTEST_SCRATCH];

int32_t self_test() { return FOVEA_SELFTEST(FOVEA_ENTRY, scratch, sizeof scratch); }

struct place {
  volatile unsigned char* at;
  uint32_t bytes;
};

struct {
  place image, flipped[8];
  uint32_t step, bit; // bit: of all places, one behind the other
  int places;
} job;

volatile unsigned char* flipped_byte; // null: none is
unsigned char byte_before;

// What runs after a flip may write anywhere, also into the image.
uint32_t image_before[16384];
volatile uint32_t& word_of_image(uint32_t i) {
  return reinterpret_cast<volatile uint32_t*>(const_cast<unsigned char*>(job.image.at))[i];
}
void keep_image() {
  for (uint32_t i = 0; i < job.image.bytes / 4; ++i) image_before[i] = word_of_image(i);
}
void restore_image() {
  for (uint32_t i = 0; i < job.image.bytes / 4; ++i)
    if (word_of_image(i) != image_before[i]) word_of_image(i) = image_before[i];
}

void say(char letter) {
  const char text[2] = {letter, 0};
  board::write_text(text);
}

volatile uint32_t& system_register(uint32_t address) {
  return *reinterpret_cast<volatile uint32_t*>(address);
}

// After so many ticks an interrupt ends what hangs.
void begin_watch() {
  system_register(0xE000E014) = 0x3fffff;
  system_register(0xE000E018) = 0;
  system_register(0xE000E010) = 7;
}
void end_watch() { system_register(0xE000E010) = 0; }

void restore() {
  if (flipped_byte) *flipped_byte = byte_before;
  flipped_byte = nullptr;
  asm volatile("dsb\n isb" ::: "memory");
}

bool flip_next() {
  uint32_t byte = job.bit / 8;
  int n = 0;
  for (; n < job.places && byte >= job.flipped[n].bytes; ++n) byte -= job.flipped[n].bytes;
  if (n == job.places) return false;
  volatile unsigned char* const at = job.flipped[n].at + byte;
  byte_before = *at;
  flipped_byte = at;
  *at = static_cast<unsigned char>(byte_before ^ 1u << job.bit % 8);
  asm volatile("dsb\n isb" ::: "memory");
  job.bit += job.step;
  return true;
}

[[noreturn]] void flip_all() {
  while (flip_next()) {
    begin_watch();
    const int32_t status = self_test();
    end_watch();
    restore();
    restore_image();
    say(status == FOVEA_OK ? 'm' : 'f');
  }
  board::exit_with(self_test() == FOVEA_OK ? 0 : 4);
}

uint32_t number_of(const char* text) {
  uint32_t number = 0;
  for (; *text; ++text)
    number = number * 16 + static_cast<uint32_t>(*text <= '9' ? *text - '0' : *text - 'a' + 10);
  return number;
}
place place_of(char** words) {
  return {reinterpret_cast<volatile unsigned char*>(number_of(words[0])), number_of(words[1])};
}

} // namespace

void go_on_behind_fault() {
  end_watch();
  restore();
  restore_image();
  say('x');
  flip_all();
}

// Returns from the exception to go_on_behind_fault, on a new stack. The frame: r0-r3, r12, lr, pc, xpsr.
__attribute__((naked)) void end_of_flip() {
  asm volatile(
      ".syntax unified\n"
      "ldr r0, =stack_top\n"
      "subs r0, #32\n"
      "mov sp, r0\n"
      "ldr r1, =go_on_behind_fault\n"
      "movs r2, #1\n"
      "bics r1, r2\n"
      "str r1, [sp, #24]\n"
      "ldr r1, =0x01000000\n"
      "str r1, [sp, #28]\n"
      "ldr r0, =0xfffffff9\n"
      "bx r0\n"
      ".ltorg");
}

int main(int argc, char** argv) {
  if (argc < 7 || argc % 2 == 0) {
    board::write_text("flipped_bits: give IMAGE BYTES STEP FIRST ADDRESS BYTES...\n");
    return 2;
  }
  job.image = place_of(argv + 1);
  job.step = number_of(argv[3]);
  job.bit = number_of(argv[4]);
  for (int i = 5; i < argc; i += 2) job.flipped[job.places++] = place_of(argv + i);
  if (job.image.bytes > sizeof image_before) return 6;
  keep_image();
  if (self_test() != FOVEA_OK) return 5;
  volatile uint32_t* const vectors = reinterpret_cast<volatile uint32_t*>(FOVEA_VECTORS);
  for (int i = 2; i < 16; ++i) vectors[i] = reinterpret_cast<uint32_t>(end_of_flip);
  flip_all();
}
