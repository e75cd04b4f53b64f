"""Every query printed in the five papers, as printed; only the typesetting of names ($S_1$) is undone."""

PAPER_QUERIES = {
    "snee fig. 1a": """SELECT  R.id, MAX(R.time), AVG(R.moisture), AVG(R.temp)
FROM    River R [FROM NOW TO NOW-2 HOURS]
GROUP BY R.id""",
    "snee fig. 1b": """SELECT  MAX(V.time) AS time, COUNT(V.moisture) AS drySites
FROM    Vineyard[NOW] V
WHERE   V.moisture < 20;""",
    "snee fig. 1c": """SELECT  B.time, B.id, B.temp, W.temp
FROM    Burrow[NOW] B, Weather[NOW] W
WHERE   B.temp > W.temp AND B.id = W.id;""",
    "snee fig. 4a": """SELECT  R.time, R.depth
FROM    River R
WHERE   R.depth > 10;""",
    "snee fig. 4b": """SELECT  R.time, AVG(R.depth)
FROM    River [RANGE 10 ROWS SLIDE 10 ROWS] R
WHERE   R.depth > 10;""",
    "snee fig. 4c": """SELECT  R.time, H.rain, R.depth
FROM    River [NOW] R, Hilltop [AT NOW-15 MINUTES] H
WHERE   H.rain > 5 AND R.rain < H.rain""",
    "snee fig. 4d": """SELECT  R1.id, R1.time, R1.depth
FROM    River [NOW] R1,
      (SELECT  AVG(R2.depth) as avgDepth
       FROM    River [NOW-7 DAYS] R2) LastWeek
WHERE   R1.depth > LastWeek.avgDepth""",
    "snee fig. 5": """RSTREAM\tSELECT
\tRiver.time, Hilltop.rain, River.depth
FROM\tRiver[NOW], Hilltop[AT NOW-15 MINUTES]
WHERE\tHilltop.rain > 5
AND\tRiver.rain < Hilltop.rain;""",
    "snee fig. 25 q1": """RSTREAM SELECT River.time, River.depth
    FROM River[NOW];""",
    "snee fig. 25 q2": """RSTREAM SELECT AVG(River.depth)
    FROM River[NOW];""",
    "snee fig. 25 q3": """RSTREAM SELECT River.time, Hilltop.rain, River.depth
    FROM River[NOW], Hilltop[AT NOW - 15 MINUTES]
    WHERE Hilltop.rain > 5
    AND River.rain < Hilltop.rain;""",
    "snee fig. 25 q*": """RSTREAM SELECT *
    FROM Sensors[NOW];""",
    "steam section 4": "Select S.SensorValue.temperature FROM Sensors S WHERE S.SensorID=2 AND S.SensorID=4",
    "steam section 6.2 uniform": """SELECT A.GasName FROM SensorTables A, B, C
WINDOW =w
WHERE A.GasId=B.GasId AND B.GasId= C.GasId""",
    "steam section 6.2 different": """SELECT A.GasId FROM SensorTables A, B, C
WINDOW(A,B) =w1 AND WINDOW(B,C) =w2 AND WINDOW(A,C) =w3
WHERE A.GasId=B.GasId AND B.GasId= C.GasId""",
    "steam section 6.2 some": """SELECT A.GasId FROM SensorTables A, B, C
WINDOW(A,B) =w1 AND WINDOW(B,C) =w2
WHERE A.GasId=B.GasId AND B.GasId= C.GasId""",
    "dhtjoin q1 section 1": """Select sum ( S1 .size)
      From  S1[range 10 min],  S2[range 10 min],  S3[range 10 min]
      Where  S1.dest= S2.dest and  S2.dest= S3.dest""",
    "dhtjoin q1 section 3": """Select sum (X.size)
 From X[range 10 min], Y[range 10 min], Z[range 10 min]
 Where X.dest = Y.dest = Z.dest""",
    "dhtjoin q2": """Select Y.B, Z.C
      From X[range 5 min], Y[range 5 min], Z[range 5 min]
      Where X.B=Y.B and Y.C=Z.C""",
    "dhtjoin section 5": """Select *
 from S_1 [range 5 min], S_2 [range 5 min]
 where S_1.x = S_2.x""",
    "fjords query 1": """SELECT AVG(s.speed, w)
FROM sensorReadings AS s
WHERE s.segment ∈
knownSegments""",
    "fjords query 2": """SELECT AVG(s.speed, w), i.description
FROM incidents as i,
    sensorReadings as s
WHERE i.time >= now - timeWindow
GROUP BY i.description
HAVING speedThreshold >
    (SELECT AVG(s.speed, w)
     FROM sensorReadings as s
     WHERE i.segment = s.segment
     AND s.segment ∈ {knownSegments})""",
}
