-- Hourly PM2.5 of monitors in California, November 2018 (AirNow, WRCC, AIRSIS; see README.md).
CREATE STREAM air (
  time TIME FROM ts_utc,
  id STRING FROM monitor_id,
  pm25 FLOAT UNIT 'ug/m3' FROM pm25_ugm3
) SENSED EVERY 1 HOUR COORDINATES WGS84;

COPY SENSORS OF air FROM 'monitors.csv' (
  id FROM monitor_id, location FROM (longitude, latitude), name FROM locationName, county FROM countyName
);

CREATE PHENOMENON smoke ON air.pm25
  ABOVE 35 RANGE 3 HOURS SLIDE 1 HOUR STRENGTH 2 NEIGHBOURS WITHIN 60 KM MEMBERS 3;
