-- Forty motes on a meadow read the density of haze every minute. `make.py` made the readings.
CREATE STREAM air (haze INT UNIT 'ug/m3') SENSED EVERY 1 MINUTE COORDINATES 'm';

COPY SENSORS OF air FROM 'motes.csv' (id FROM id, location FROM (x, y), patience FROM patience);

CREATE NETWORK meadow FROM 'meadow.toml';

CREATE PHENOMENON haze ON air.haze
  ABOVE 40 RANGE 3 MINUTES STRENGTH 2 NEIGHBOURS WITHIN 40 M MEMBERS 3;
