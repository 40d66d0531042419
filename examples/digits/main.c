/* Classifies the pictures for testing and prints how many are right. C99. */
#include <stdio.h>

#include "digits.h"
#include "digits_images.h"

int main(void) {
  const uint8_t *const picture = (const uint8_t *)pixels, *const label = (const uint8_t *)labels;
  int right = 0;
  if (digits_begin() != FOVEA_OK) return 1;
  for (int i = 0; i < images; ++i)
    right += digits_classify(picture + digits_pixels * i, FOVEA_FIXED_BEST, NULL) == label[i];
  printf("digits: %d of %d pictures, %s\n", right, (int)images, fovea_fixed_isa_name(fovea_fixed_isa()));
  return 100 * right < 96 * images;
}
