// Single conversions for all clients, in turn; the converter is off when nobody waits.
#include "Atm128Adc.h"
module AdcP {
  provides interface Read<uint16_t>[uint8_t client];
  uses interface Atm128AdcConfig[uint8_t client];
  uses interface ResourceConfigure[uint8_t client];
}
implementation {
  enum { CLIENTS = uniqueCount("AdcP") };
  bool waiting[CLIENTS], converting;
  uint8_t current;
  norace uint16_t count;

  void convert(uint8_t client) {
    waiting[client] = FALSE;
    converting = TRUE;
    current = client;
    call ResourceConfigure.configure[client]();
    ADMUX = call Atm128AdcConfig.getRefVoltage[client]() << REFS0 | call Atm128AdcConfig.getChannel[client]();
    ADCSRA = 1 << ADEN | 1 << ADIE | 1 << ADSC | call Atm128AdcConfig.getPrescaler[client]();
  }

  task void converted() {
    uint8_t client;
    converting = FALSE;
    call ResourceConfigure.unconfigure[current]();
    signal Read.readDone[current](SUCCESS, count);
    for (client = 0; client < CLIENTS && !converting; client++)
      if (waiting[client]) convert(client);
    if (!converting) ADCSRA = 0;
  }

  INTERRUPT(ADC_vect) {
    count = ADC;
    post converted();
  }

  command error_t Read.read[uint8_t client]() {
    if (waiting[client]) return EBUSY;
    if (converting) waiting[client] = TRUE;
    else convert(client);
    return SUCCESS;
  }

  default event void Read.readDone[uint8_t client](error_t result, uint16_t val) { }
  default async command uint8_t Atm128AdcConfig.getChannel[uint8_t client]() { return 0; }
  default async command uint8_t Atm128AdcConfig.getRefVoltage[uint8_t client]() { return ATM128_ADC_VREF_AVCC; }
  default async command uint8_t Atm128AdcConfig.getPrescaler[uint8_t client]() { return ATM128_ADC_PRESCALE_64; }
  default async command void ResourceConfigure.configure[uint8_t client]() { }
  default async command void ResourceConfigure.unconfigure[uint8_t client]() { }
}
