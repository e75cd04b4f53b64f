-- Speeds on a lane of US-101 (NGSIM), in cells of 3 m and 5 s: the size is the source's own guess (see README.md).
CREATE STREAM lane (
  time TIME,
  id INT,
  speed FLOAT UNIT 'm/s'
) SENSED EVERY 5 SECONDS COORDINATES 'm';

COPY SENSORS OF lane FROM 'cells.csv' (id FROM id, location FROM (x, y));

CREATE PHENOMENON wave ON lane.speed
  BELOW 4 RANGE 5 SECONDS SLIDE 5 SECONDS STRENGTH 1 NEIGHBOURS WITHIN 12 M MEMBERS 5;
