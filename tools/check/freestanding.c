/* Links the library with nothing but what is in this file, and runs it: one query over two keys, in floats where there is an FPU, and in
 * integers. Exit code 0 when the means come out, and the known answers where FOVEA_SELF_TESTS asks for them. */
#include <fovea/fixed.h>
#include <fovea/fovea.h>

/* The four functions that a compiler may call by itself. */
void *memset(void *to, int byte, size_t count) {
  volatile unsigned char *at = to;
  while (count--) *at++ = (unsigned char)byte;
  return to;
}

void *memcpy(void *to, const void *from, size_t count) {
  volatile unsigned char *at = to;
  const unsigned char *source = from;
  while (count--) *at++ = *source++;
  return to;
}

void *memmove(void *to, const void *from, size_t count) {
  volatile unsigned char *at = to;
  const unsigned char *source = from;
  if ((uintptr_t)to <= (uintptr_t)from) return memcpy(to, from, count);
  while (count--) at[count] = source[count];
  return to;
}

int memcmp(const void *left, const void *right, size_t count) {
  const volatile unsigned char *a = left, *b = right;
  for (; count; --count, ++a, ++b)
    if (*a != *b) return *a < *b ? -1 : 1;
  return 0;
}

#if defined(__ARM_EABI__) && !defined(__linux__)
/* The same by the names that the ABI of bare Arm gives them, which clang prefers. */
#define COPY(name) \
  void name(void *to, const void *from, size_t count); \
  void name(void *to, const void *from, size_t count) { memmove(to, from, count); }
#define CLEAR(name) \
  void name(void *to, size_t count); \
  void name(void *to, size_t count) { memset(to, 0, count); }
COPY(__aeabi_memcpy) COPY(__aeabi_memcpy4) COPY(__aeabi_memcpy8)
COPY(__aeabi_memmove) COPY(__aeabi_memmove4) COPY(__aeabi_memmove8)
CLEAR(__aeabi_memclr) CLEAR(__aeabi_memclr4) CLEAR(__aeabi_memclr8)
void __aeabi_memset(void *to, size_t count, int byte);
void __aeabi_memset(void *to, size_t count, int byte) { memset(to, byte, count); }
#endif

#if defined(__ARM_FP) || defined(__riscv_flen) || !(defined(__arm__) || defined(__riscv))
static float q[8], k[2][8], v[2][8], out[8];
static unsigned char scratch[FOVEA_SCRATCH(8, 8)];
FOVEA_ASSERT_FITS(scratch, 8, 8);

static int floats_are_right(void) {
  fovea_attention a;
  memset(&a, 0, sizeof a);
  a.q.data = q;
  a.k.data = k;
  a.v.data = v;
  a.out.data = out;
  a.q_heads = 1;
  a.dim = 8;
  a.queries = 1;
  a.keys = 2;
  for (int c = 0; c < 8; ++c) v[0][c] = (float)c, v[1][c] = (float)(3 * c);
  if (fovea_attend(&a, scratch, sizeof scratch) != FOVEA_OK) return 0;
  for (int c = 0; c < 8; ++c)
    if (out[c] != (float)(2 * c)) return 0;
  return 1;
}
#else
static int floats_are_right(void) { return 1; }
#endif

static int8_t q8[8], k8[2][8], v8[2][8], out8[8];
static unsigned char scratch8[FOVEA_FIXED_SCRATCH_ROWS(8, 8)];

/* A score of 1 is 64 of 65536 octaves, 2^30 / 2^24. The output has the scale of v. */
static const fovea_fixed_scale scale = {1 << 30, 24, 0, 1 << 30, 1, 0x3f800000};

static int integers_are_right(void) {
  fovea_fixed_attention a;
  memset(&a, 0, sizeof a);
  a.q.data = q8;
  a.k.data = k8;
  a.v.data = v8;
  a.out.data = out8;
  a.q_heads = 1;
  a.dim = 8;
  a.queries = 1;
  a.keys = 2;
  a.scale = scale;
  for (int c = 0; c < 8; ++c) v8[0][c] = (int8_t)c, v8[1][c] = (int8_t)(3 * c);
  if (fovea_fixed_attend(&a, scratch8, sizeof scratch8) != FOVEA_OK) return 0;
  for (int c = 0; c < 8; ++c)
    if (out8[c] != 2 * c) return 0;
  return 1;
}

#if FOVEA_SELF_TESTS
#include <fovea/selftest.h>

static unsigned char memory[FOVEA_SELFTEST_SCRATCH];

/* Each call that has a known answer gives it. */
static int answers_are_known(void) {
  static const fovea_float_entry floats[] = {fovea_attend, fovea_attend_f32, fovea_attend_plain};
  static const fovea_fixed_entry integers[] = {fovea_fixed_attend, fovea_fixed_attend_s8, fovea_fixed_attend_plain};
  for (int i = 0; i < 3; ++i)
    if (fovea_selftest(floats[i], memory, sizeof memory) != FOVEA_OK ||
        fovea_fixed_selftest(integers[i], memory, sizeof memory) != FOVEA_OK)
      return 0;
  return 1;
}
#else
static int answers_are_known(void) { return 1; }
#endif

int main(void) {
  if (!floats_are_right()) return 1;
  if (!integers_are_right()) return 2;
  return answers_are_known() ? 0 : 3;
}

#if defined(__linux__)
#if defined(__aarch64__) || defined(__arm__)
/* What the kernel says of the core: nothing, so the kernels that every core has are chosen. */
unsigned long getauxval(unsigned long type);
unsigned long getauxval(unsigned long type) { return 0 & type; }
#endif

/* A system whose compiler guards stacks by default wants a guard, and on x86 a thread block to find it in. */
uintptr_t __stack_chk_guard = 1;
void __stack_chk_fail(void);
void __stack_chk_fail(void) { __builtin_trap(); }

static long system_call(long number, long first, long second) {
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(first), "S"(second) : "rcx", "r11", "memory");
  return result;
#elif defined(__arm__)
  register long code __asm__("r7") = number;
  register long r0 __asm__("r0") = first;
  register long r1 __asm__("r1") = second;
  __asm__ volatile("svc 0" : "+r"(r0) : "r"(code), "r"(r1) : "memory");
  return r0;
#else
  register long code __asm__("x8") = number;
  register long x0 __asm__("x0") = first;
  register long x1 __asm__("x1") = second;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(code), "r"(x1) : "memory");
  return x0;
#endif
}

#if defined(__x86_64__)
#define ENTRY __attribute__((used, noreturn, force_align_arg_pointer))
#else
#define ENTRY __attribute__((used, noreturn))
#endif
ENTRY void start(void);
void start(void) {
#if defined(__x86_64__)
  static long thread_block[16];
  const long arch_prctl = 158, set_fs = 0x1002, exit_group = 231;
  system_call(arch_prctl, set_fs, (long)thread_block);
#elif defined(__arm__)
  const long exit_group = 248;
#else
  const long exit_group = 94;
#endif
  system_call(exit_group, main(), 0);
  for (;;) {
  }
}
#endif
