#include <string.h>

#include <fovea.h>

@EXAMPLE@
#ifdef ARDUINO
#include <Arduino.h>

void setup() { Serial.begin(115200); }

void loop() {
  float out[4];
  Serial.print(fovea_reason_text(look_up(out)));
  for (float x : out) {
    Serial.print(' ');
    Serial.print(x, 4);
  }
  Serial.println();
  delay(1000);
}
#else
#include <stdio.h>

int main() {
  float out[4];
  const int32_t status = look_up(out);
  printf("%s: %.4f %.4f %.4f %.4f\n", fovea_reason_text(status), out[0], out[1], out[2], out[3]);
  return status == FOVEA_OK ? 0 : 1;
}
#endif
