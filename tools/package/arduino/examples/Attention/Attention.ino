#include <fovea.h>

@EXAMPLE@
void setup() {
  Serial.begin(115200);
}

void loop() {
  float out[4];
  const int32_t status = look_up(out);
  Serial.print(fovea_reason_text(status));
  for (int i = 0; i < 4; ++i) {
    Serial.print(' ');
    Serial.print(out[i], 4);
  }
  Serial.println();
  delay(1000);
}
