CREATE STREAM river (depth FLOAT, name STRING, site INT) SENSED EVERY 10 SECONDS;
CREATE STREAM rain (depth FLOAT, name STRING, site INT) SENSED EVERY 5 MINUTES;
CREATE STREAM air (celsius FLOAT, room INT, name STRING) PUSHED DELAY 5 SECONDS;
CREATE STREAM door (open BOOLEAN, room INT) PUSHED;
CREATE SENSOR 1 OF river AT (0.0, 0.0) WITH kind = 'gauge';
CREATE SENSOR 2 OF river AT (3.0, 4.0) WITH kind = 'radar';
CREATE TABLE places (site INT, label STRING, limit_of FLOAT) STORED AT 'places.csv';
