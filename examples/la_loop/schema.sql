-- Speeds of 207 loop detectors in Los Angeles, every five minutes, 1 to 7 March 2012 (METR-LA; see README.md).
CREATE STREAM road (
  time TIME FROM ts,
  id INT FROM sensor_id,
  speed FLOAT UNIT '[mi_i]/h' FROM speed_mph
) SENSED EVERY 5 MINUTES COORDINATES WGS84;

COPY SENSORS OF road FROM 'sensors.csv' (id FROM sensor_id, location FROM (longitude, latitude));

CREATE TABLE adjacency (from_id INT, to_id INT, weight FLOAT) STORED AT 'adjacency.csv';

CREATE PHENOMENON jam ON road.speed
  BELOW 30 RANGE 15 MINUTES SLIDE 5 MINUTES STRENGTH 2 NEIGHBOURS BY adjacency MEMBERS 3;
