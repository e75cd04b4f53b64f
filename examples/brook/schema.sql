-- SNEE's running example: four gauges along a brook, a rain gauge on the hill above it, a reading of each every 15 minutes.
CREATE STREAM river (rain INT UNIT 'mm', depth INT UNIT 'cm') SENSED EVERY 15 MINUTES;
CREATE STREAM hilltop (rain INT UNIT 'mm') SENSED EVERY 15 MINUTES;
CREATE NETWORK brook FROM 'brook.toml';
