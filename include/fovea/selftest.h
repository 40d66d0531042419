/* selftest.h: known answers for a test at power-on. C99 and C++.
 *
 *   static unsigned char scratch[FOVEA_SELFTEST_SCRATCH];
 *   if (fovea_selftest(fovea_attend_plain, scratch, sizeof scratch)) stop();
 *   if (fovea_fixed_selftest(fovea_fixed_attend_plain, scratch, sizeof scratch)) stop();
 *
 * A test makes numbers in scratch, calls twice the entry that the product uses, and compares checksums of all
 * bits of the outputs with those in flash. FOVEA_DAMAGED: another result; any other status is the entry's.
 * The code that these calls execute takes part, and the constants that it reads: a few keys and more than a
 * block of them, in rows and panels, with output of 8 and 16 bits. docs/firmware.md says what damage is
 * noticed. A test is 0.5 KB of code. */
#ifndef FOVEA_SELFTEST_H
#define FOVEA_SELFTEST_H
#include "fovea/fixed.h"
#ifdef __cplusplus
extern "C" {
#endif

/* fovea_attend, fovea_attend_f32 or fovea_attend_plain. */
typedef int32_t (*fovea_float_entry)(const fovea_attention *a, void *scratch, size_t scratch_size);
FOVEA_API int32_t fovea_selftest(fovea_float_entry attend, void *scratch, size_t scratch_size);

/* fovea_fixed_attend, fovea_fixed_attend_s8 or fovea_fixed_attend_plain. */
typedef int32_t (*fovea_fixed_entry)(const fovea_fixed_attention *a, void *scratch, size_t scratch_size);
FOVEA_API int32_t fovea_fixed_selftest(fovea_fixed_entry attend, void *scratch, size_t scratch_size);

/* Enough for both, one after the other. */
#define FOVEA_SELFTEST_SCRATCH (4096 + FOVEA_SCRATCH(16, 16) + FOVEA_FIXED_SCRATCH(16, 16))

#ifdef __cplusplus
}
#endif
#endif
