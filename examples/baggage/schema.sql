-- Boxes on a belt, in front of germanium detectors: every second a burst of counts, decided as soon as it can be.

-- A burst: which box, for how long, and the counts per channel, on the detector's own axis (energy of channel 0, keV a channel).
CREATE STREAM detections (id STRING, detector STRING, live FLOAT, e0 FLOAT, gain FLOAT, counts INT[2048]) PUSHED;

-- What is known: the background's counts a second in each bin of 2 keV, ...
CREATE TABLE background (rate FLOAT[800]) STORED AT 'background.csv';
-- ... for each label and amplitude the weights of the sequential test, ...
CREATE TABLE templates (label STRING, amplitude FLOAT, rate FLOAT, weights FLOAT[800]) STORED AT 'templates.csv';
-- ... how many bursts an undecided box still takes on average, by its evidence, ...
CREATE TABLE horizon (low FLOAT, high FLOAT, bursts FLOAT) STORED AT 'horizon.csv';
-- ... and examples of net spectra, scaled to length 1.
CREATE TABLE library (label STRING, features FLOAT[800]) STORED AT 'library.csv';

-- 1. Calibrated: every detector's burst on one axis.
CREATE VIEW spectra AS
  SELECT time, id, live, regrid(counts, e0, gain, 800, 2.0) AS spectrum FROM detections;

-- 2. Exposed: all bursts of a box. An exposure is bounded, so a window of ten minutes holds all of it. A box is looked
--    at when it has a new burst, not at every second of its ten minutes.
CREATE VIEW exposures AS
  SELECT id, SUM(spectrum) AS spectrum, SUM(live) AS seconds, COUNT(*) AS bursts
  FROM spectra [RANGE 10 MINUTES SLIDE 1 SECOND] GROUP BY id HAVING MAX(time) > now - 1 SECOND;

-- 3. Net: without the background of as many seconds.
CREATE VIEW nets AS
  SELECT e.id, e.seconds, e.bursts, e.spectrum, e.spectrum - b.rate * e.seconds AS net FROM exposures e, background b;

-- 4. Evidence: the logarithm of each label's likelihood ratio against background, the mean over five amplitudes.
CREATE VIEW evidence AS
  SELECT e.id, e.seconds, e.bursts, t.label,
         AVG(exp(least(dot(e.spectrum, t.weights) - t.rate * e.seconds, 500.0))) AS ratio
  FROM exposures e, templates t GROUP BY e.id, e.seconds, e.bursts, t.label;

-- 5. Decided, by Wald's bounds for errors of 1 %: hazard if something is there, safe if nothing is, else more data. The
--    label is the likeliest one, and NULL (none) for a safe box.
CREATE VIEW decided AS
  SELECT id, CASE WHEN ln(AVG(ratio)) >= 4.595 THEN 'hazard' WHEN ln(MAX(ratio)) <= -4.595 THEN 'safe' ELSE 'more' END
         AS decision, CASE WHEN ln(MAX(ratio)) > -4.595 THEN ARG_MAX(label, ratio) END AS label,
         ln(MAX(ratio)) AS evidence, MAX(seconds) AS seconds, MAX(bursts) AS bursts
  FROM evidence GROUP BY id;

-- What is to come: the counts a second to be expected in each bin, the mean of a Gamma posterior whose prior is worth ten
-- seconds of background; and how many bursts are expected until an undecided box is decided.
CREATE VIEW upcoming AS
  SELECT e.id, e.bursts, (e.spectrum + b.rate * 10.0) * (1.0 / (e.seconds + 10.0)) AS spectrum
  FROM exposures e, background b;
CREATE VIEW waiting AS
  SELECT d.id, d.bursts, h.bursts AS "left" FROM decided d, horizon h
  WHERE d.decision = 'more' AND d.evidence >= h.low AND d.evidence < h.high;

-- What a person at the belt does. Every decision is kept with its reason and its evidence, and the dashboard lists it.
CREATE DECISION act ON (SELECT id, decision, label, evidence, seconds FROM decided) CHOOSE (
  'open the box' WHEN decision = 'hazard',
  'scan longer' WHEN decision = 'more',
  'pass' OTHERWISE);
