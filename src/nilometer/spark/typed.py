"""Turns the packets of an answer into a Spark DataFrame with ordinary typed columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from nilometer.types import Kind, Schema, Type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame as DataFrame
    from pyspark.sql.types import DataType, StructType


def typed(packets: DataFrame, schema: Schema) -> DataFrame:
    """The rows of the answer, unpacked in the executors."""
    return packets.mapInArrow(unpacker(schema), spark_schema(schema))


def unpacker(schema: Schema) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function from batches of packets to batches of rows."""
    wanted = arrow_schema(schema)

    def unpack_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from nilometer.spark.packing import ANSWER, target_of, unpack

        for batch in batches:
            for value in batch.column("packet"):
                data = value.as_py()
                if target_of(data) != ANSWER:
                    continue
                rows = unpack(data).rows
                if rows is not None and rows.height:
                    yield from rows.select(wanted.names).to_arrow().cast(wanted).to_batches()

    return unpack_batches


def spark_schema(schema: Schema) -> StructType:
    """Spark's types: TIME is a timestamp, DURATION a day-time interval, POINT a struct of x and y."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(column.name, spark_type(column.type)) for column in schema])


def spark_type(type_: Type) -> DataType:
    """The Spark type for values of a type."""
    from pyspark.sql import types

    if type_.element is not None:
        return types.ArrayType(spark_type(type_.element))
    if type_.kind is Kind.STRUCT:
        return types.StructType([types.StructField(f.name, spark_type(f.type)) for f in type_.fields])
    if type_.kind is Kind.POINT:
        coordinates = [types.StructField(name, types.DoubleType()) for name in ("x", "y")]
        return types.StructType(coordinates)
    simple: dict[Kind, Any] = {
        Kind.INT: types.LongType,
        Kind.FLOAT: types.DoubleType,
        Kind.STRING: types.StringType,
        Kind.BOOLEAN: types.BooleanType,
        Kind.TIME: types.TimestampType,
        Kind.DURATION: types.DayTimeIntervalType,
        Kind.NULL: types.NullType,
    }
    found: DataType = simple[type_.kind]()
    return found


def arrow_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema that Spark accepts for these types."""
    return pa.schema([(column.name, arrow_type(column.type)) for column in schema])


def arrow_type(type_: Type) -> Any:
    """The Arrow type that Spark accepts for a type."""
    if type_.element is not None:
        return pa.list_(arrow_type(type_.element))
    if type_.kind is Kind.STRUCT:
        return pa.struct([(field.name, arrow_type(field.type)) for field in type_.fields])
    if type_.kind is Kind.POINT:
        return pa.struct([("x", pa.float64()), ("y", pa.float64())])
    return {
        Kind.INT: pa.int64(),
        Kind.FLOAT: pa.float64(),
        Kind.STRING: pa.string(),
        Kind.BOOLEAN: pa.bool_(),
        Kind.TIME: pa.timestamp("us", tz="UTC"),
        Kind.DURATION: pa.duration("us"),
        Kind.NULL: pa.null(),
    }[type_.kind]
