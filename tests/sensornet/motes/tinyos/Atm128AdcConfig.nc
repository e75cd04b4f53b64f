#include "Atm128Adc.h"
interface Atm128AdcConfig {
  async command uint8_t getChannel();
  async command uint8_t getRefVoltage();
  async command uint8_t getPrescaler();
}
