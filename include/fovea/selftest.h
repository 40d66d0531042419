/* selftest.h: known answers for a test at power-on. C99 and C++.
 *
 *   static unsigned char scratch[FOVEA_SELFTEST_SCRATCH];
 *   if (fovea_selftest(fovea_attend_plain, scratch, sizeof scratch)) stop();
 *   if (fovea_fixed_selftest(fovea_fixed_attend_plain, scratch, sizeof scratch)) stop();
 *
 * A test makes numbers in scratch, calls the entry that the product uses, and compares a checksum of all
 * bits of the output with one in flash. FOVEA_DAMAGED: another result; any other status is the entry's. The
 * code that an attention of a few keys executes takes part, and the constants that it reads. The test itself
 * is less than 1 KB of code. */
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
