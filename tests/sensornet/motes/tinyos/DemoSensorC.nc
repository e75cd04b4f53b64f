generic module DemoSensorC() { provides interface Read<uint16_t>; }
implementation { command error_t Read.read() { signal Read.readDone(SUCCESS, 0); return SUCCESS; } }
