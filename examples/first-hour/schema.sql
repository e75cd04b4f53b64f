-- soil.jsonl: 108 readings, 3 sensors, 2026-05-31T22:00:55.057Z to 2026-06-03T20:14:21.933Z
-- a sensor sends every 2 HOURS (about)
-- battery is always 3.6
CREATE STREAM soil (
  time TIME FROM received_at,
  id STRING FROM '$.end_device_ids.device_id',
  moisture FLOAT FROM '$.uplink_message.decoded_payload.moisture',
  battery FLOAT FROM '$.uplink_message.decoded_payload.battery'
) PUSHED EXPECT EVERY 2 HOURS;

-- pumps.csv.gz: 365 readings, 2 sensors, 2026-06-01T04:00:00.243Z to 2026-06-03T18:29:00.264Z
-- a sensor sends every 1 MINUTE (about)
-- 72 rows (20 %) come after a later one, by up to 808 MINUTES; files are sorted when they are read: too much for a DELAY
-- 6 gaps are longer than 3 intervals; the longest of pump-b lasts 1 DAY
CREATE STREAM pumps (
  time INT UNIT 'ms' FROM ts,
  id STRING FROM device,
  power_w INT UNIT 'W'
) PUSHED EXPECT EVERY 1 MINUTE;

CREATE STREAM weather (
  time TIME FROM Zeit,
  id STRING FROM Station,
  temp FLOAT UNIT 'Cel' FROM Lufttemperatur,
  rain FLOAT UNIT 'mm' FROM Regen
) SENSED EVERY 30 MINUTES
  FORMAT CSV (DECIMAL ',', TIME FORMAT '%d.%m.%Y %H:%M', TIMEZONE 'Europe/Zurich');

COPY SENSORS OF soil FROM 'places.geojson' (id FROM name);

CREATE STREAM rooms (
  time TIME FROM '$.Time',
  id STRING,
  temp FLOAT UNIT 'Cel' FROM '$.AM2301.Temperature',
  humidity INT UNIT '%' FROM '$.AM2301.Humidity'
) PUSHED FROM 'mqtt://localhost/tele/{id}/SENSOR' KEY (id, time) FORMAT JSON (TIMEZONE 'Europe/Zurich');
