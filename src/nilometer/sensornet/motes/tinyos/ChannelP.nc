#include "Atm128Adc.h"
generic module ChannelP(uint8_t channel) {
  provides interface Atm128AdcConfig;
  provides interface ResourceConfigure;
}
implementation {
  async command uint8_t Atm128AdcConfig.getChannel() { return channel; }
  async command uint8_t Atm128AdcConfig.getRefVoltage() { return ATM128_ADC_VREF_AVCC; }
  async command uint8_t Atm128AdcConfig.getPrescaler() { return ATM128_ADC_PRESCALE_64; }  // 115 kHz
  // A sensor that is to be switched on for a reading is switched here.
  async command void ResourceConfigure.configure() { }
  async command void ResourceConfigure.unconfigure() { }
}
