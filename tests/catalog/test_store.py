"""The store: what is declared comes back exactly, and openers do not disturb each other."""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
from dataclasses import replace
from pathlib import Path
from subprocess import run

import pytest
import sqlalchemy as sql
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog import strategies
from nilometer.catalog import Catalog, QueryDefinition, Sensor, Stream, Table, stream_columns
from nilometer.catalog import store as store_module
from nilometer.catalog.catalog import ViewDefinition
from nilometer.catalog.form import Form, Format
from nilometer.catalog.network import Network, NetworkNode
from nilometer.catalog.profiles import cost_profile
from nilometer.catalog.store import CatalogStore
from nilometer.errors import CatalogError, ResourceError
from nilometer.types import INT, STRING, Column

RIVER = Stream("River", stream_columns((Column("depth", INT, "cm"),)), every=900_000_000)


def everything(catalog: Catalog) -> tuple[object, ...]:
    """All that a catalog holds, in order; attributes with the types of their values."""
    contents = catalog._contents
    return (
        list(contents.extents.items()),
        [
            (key, sensor, [type(value) for _, value in sensor.attributes])
            for key, sensor in contents.sensors.items()
        ],
        list(contents.networks.items()),
        list(contents.queries.items()),
        list(contents.views.items()),
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "catalog.db"


@pytest.fixture
def postgres(postgres_url: str) -> str:
    """An empty database: our schema is dropped first."""
    engine = sql.create_engine(postgres_url)
    with engine.begin() as connection:
        connection.execute(sql.text("DROP SCHEMA IF EXISTS nilometer CASCADE"))
    engine.dispose()
    return postgres_url.replace("postgresql+psycopg", "postgresql")


def clear(store: CatalogStore) -> None:
    """Forget everything."""
    catalog = store.load()
    for extent in catalog.extents():
        catalog.drop("STREAM" if isinstance(extent, Stream) else "TABLE", extent.name)
    for network in catalog.networks():
        catalog.drop("NETWORK", network.name)
    for query in catalog.queries():
        catalog.drop("QUERY", query.name)
    for view in catalog.views():
        catalog.drop("VIEW", view.name)


# ---- round trips -----------------------------------------------------------------------------------------------------


@settings(max_examples=settings().max_examples // 2)
@given(st.data())
def test_what_is_declared_comes_back_from_sqlite(data: st.DataObject) -> None:
    with CatalogStore() as store:
        catalog = data.draw(strategies.filled(store.load()))
        assert everything(store.load()) == everything(catalog)


@pytest.mark.postgres
@settings(
    max_examples=settings().max_examples // 5, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_what_is_declared_comes_back_from_postgresql(postgres: str, data: st.DataObject) -> None:
    with CatalogStore(postgres) as store:
        clear(store)
        catalog = data.draw(strategies.filled(store.load()))
        assert everything(store.load()) == everything(catalog)


def test_a_file_is_found_again(path: Path) -> None:
    with CatalogStore(path) as store:
        store.load().add_stream(RIVER)
    with CatalogStore(f"sqlite:///{path}") as store:
        assert store.load().extent("river") == RIVER


def test_the_tables_are_named_as_in_sensorthings(path: Path) -> None:
    with CatalogStore(path) as store:
        catalog = store.load()
        catalog.add_stream(RIVER)
        catalog.add_sensor(Sensor(5, "river", (120, 44.5), (("kind", "gauge"),)))
    database = sqlite3.connect(path)
    assert database.execute("SELECT name, kind, sensed_every FROM datastreams").fetchall() == [
        ("River", "sensed", 900_000_000)
    ]
    assert database.execute("SELECT name, type, unit_of_measurement FROM observed_properties").fetchall() == [
        ("time", "TIME", None),
        ("id", "INT", None),
        ("depth", "INT", "cm"),
    ]
    assert database.execute("SELECT id, id_type, properties FROM things").fetchall() == [
        ("5", "INT", '{"kind": "gauge"}')
    ]
    assert database.execute("SELECT thing, x, y FROM locations").fetchall() == [("5", 120.0, 44.5)]
    database.close()


def test_a_stream_declared_anew_keeps_its_place_and_its_sensors(path: Path) -> None:
    with CatalogStore(path) as store:
        catalog = store.load()
        catalog.add_stream(RIVER)
        catalog.add_stream(replace(RIVER, name="hilltop"))
        catalog.add_sensor(Sensor(5, "river", (1.0, 2.0)))
        catalog.replace_stream(Stream("RIVER", stream_columns((Column("depth", INT),), STRING), every=1))
        assert [(s.id, s.stream, s.location) for s in catalog.sensors()] == [("5", "River", (1.0, 2.0))]
        assert [extent.name for extent in catalog.extents()] == ["River", "hilltop"]
        assert everything(store.load()) == everything(catalog)


def test_dropping_a_stream_leaves_nothing_behind(path: Path) -> None:
    with CatalogStore(path) as store:
        catalog = store.load()
        catalog.add_stream(RIVER)
        catalog.add_sensors([Sensor(number, "river", (0.0, 0.0)) for number in range(100)])
        catalog.drop("stream", "RIVER")
    database = sqlite3.connect(path)
    for table in ("datastreams", "observed_properties", "things", "locations"):
        assert database.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    database.close()


# ---- several openers -------------------------------------------------------------------------------------------------


def test_two_catalogs_of_one_file_see_each_other(path: Path) -> None:
    with CatalogStore(path) as one, CatalogStore(path) as two:
        first, second = one.load(), two.load()
        first.add_stream(RIVER)
        with pytest.raises(CatalogError, match="there is a stream 'River' already"):
            second.add_table(Table("river", (), "file.csv"))
        second.add_sensor(Sensor(5, "river"))
        assert first.sensors("river") == ()
        first.refresh()
        assert [sensor.id for sensor in first.sensors("river")] == [5]
        first.drop("STREAM", "river")
        with pytest.raises(CatalogError, match="no stream 'river'"):
            second.add_sensor(Sensor(6, "river"))
        assert second.sensors() == ()


def test_a_change_that_fails_changes_nothing(path: Path) -> None:
    with CatalogStore(path) as store:
        catalog = store.load()
        catalog.add_stream(RIVER)
        before = everything(catalog)
        with pytest.raises(CatalogError):
            catalog.add_sensors([Sensor(1, "river"), Sensor(2, "river"), Sensor(1, "river")])
        with pytest.raises(CatalogError, match="no database takes"):
            catalog.add_query(QueryDefinition("q", "SELECT '\0'"))
        assert everything(catalog) == before == everything(store.load())


def declare_concurrently(url: str | Path) -> None:
    count = 4
    barrier = threading.Barrier(count)
    failures: list[str] = []

    def declare(number: int) -> None:
        barrier.wait()
        with CatalogStore(url) as store:
            catalog = store.load()
            try:
                catalog.add_stream(RIVER)
            except CatalogError as error:
                failures.append(error.message)
            for index in range(10):
                catalog.add_sensor(Sensor(number * 100 + index, "river"))

    threads = [threading.Thread(target=declare, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == ["there is a stream 'River' already"] * (count - 1)
    with CatalogStore(url) as store:
        assert len(store.load().sensors("river")) == count * 10


def test_openers_at_the_same_moment_take_turns_in_sqlite(path: Path) -> None:
    declare_concurrently(path)


@pytest.mark.postgres
def test_openers_at_the_same_moment_take_turns_in_postgresql(postgres: str) -> None:
    declare_concurrently(postgres)


def test_one_catalog_may_be_changed_by_several_threads() -> None:
    with CatalogStore() as store:
        catalog = store.load()
        catalog.add_stream(RIVER)

        def declare(number: int) -> None:
            for index in range(20):
                catalog.add_sensor(Sensor(number * 100 + index, "river"))

        threads = [threading.Thread(target=declare, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(catalog.sensors()) == 80
        assert everything(store.load()) == everything(catalog)


# ---- versions --------------------------------------------------------------------------------------------------------


NEXT = store_module.VERSION + 1
"""A version that is still to come."""


def test_an_older_catalog_is_brought_up_to_date(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    CatalogStore(path).close()

    def add_note(connection: sql.Connection) -> None:
        connection.execute(sql.text("ALTER TABLE queries ADD COLUMN note TEXT"))

    monkeypatch.setattr(store_module, "VERSION", NEXT)
    monkeypatch.setattr(store_module, "MIGRATIONS", {NEXT - 1: add_note})
    for _ in range(2):  # the second time there is nothing left to do
        CatalogStore(path).close()
    database = sqlite3.connect(path)
    assert database.execute("SELECT version FROM catalog_version").fetchone() == (NEXT,)
    assert "note" in [row[1] for row in database.execute("PRAGMA table_info(queries)")]
    database.close()


def test_a_migration_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    CatalogStore(path).close()

    def fail(connection: sql.Connection) -> None:
        connection.execute(sql.text("ALTER TABLE queries ADD COLUMN note TEXT"))
        connection.execute(sql.text("ALTER TABLE nowhere ADD COLUMN note TEXT"))

    monkeypatch.setattr(store_module, "VERSION", NEXT)
    monkeypatch.setattr(store_module, "MIGRATIONS", {NEXT - 1: fail})
    with pytest.raises(ResourceError):
        CatalogStore(path)
    database = sqlite3.connect(path)
    assert database.execute("SELECT version FROM catalog_version").fetchone() == (NEXT - 1,)
    assert "note" not in [row[1] for row in database.execute("PRAGMA table_info(queries)")]
    database.close()


def test_a_catalog_from_before_views_gets_them(path: Path) -> None:
    CatalogStore(path).close()
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE views")
        database.execute("UPDATE catalog_version SET version = 2")
    database.close()
    with CatalogStore(path) as store:
        store.load().add_view(ViewDefinition("deep", "SELECT 1", ("one",)))
        assert store.load().views() == (ViewDefinition("deep", "SELECT 1", ("one",)),)


def declared_before_retries(url: str, schema: str = "") -> Network:
    """A catalog as version 1 wrote it, with one network in it: no retries, and a profile that knows no acknowledgements."""
    network = Network("brook", 0, (NetworkNode(0),), (), cost_profile("mica2", {"send_packet": 9.0}))
    with CatalogStore(url) as store:
        store.load().add_network(network)
    old = {name: value for name, value in network.profile.parameters if "acknowledgement" not in name}
    engine = sql.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.execute(sql.text(f"ALTER TABLE {schema}networks DROP COLUMN retries"))
        connection.execute(
            sql.text(f"UPDATE {schema}networks SET profile_parameters = :old"), {"old": json.dumps(old)}
        )
        connection.execute(sql.text(f"UPDATE {schema}catalog_version SET version = 1"))
    engine.dispose()
    return network


def test_a_network_that_was_declared_before_there_were_retries(path: Path) -> None:
    network = declared_before_retries(f"sqlite:///{path}")
    with CatalogStore(path) as store:
        assert store.load().network("brook") == network
        again = replace(network, name="again", retries=3)
        store.load().add_network(again)
        assert store.load().network("again") == again


@pytest.mark.postgres
def test_a_network_that_was_declared_before_there_were_retries_in_postgresql(postgres: str) -> None:
    network = declared_before_retries(postgres, "nilometer.")
    with CatalogStore(postgres) as store:
        assert store.load().network("brook") == network


def declared_before_forms(url: str, schema: str = "") -> None:
    """A catalog as version 3 wrote it, with a stream in it."""
    with CatalogStore(url) as store:
        store.load().add_stream(RIVER)
    engine = sql.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.execute(sql.text(f"ALTER TABLE {schema}datastreams DROP COLUMN form"))
        connection.execute(sql.text(f"UPDATE {schema}catalog_version SET version = 3"))
    engine.dispose()


def check_forms(url: str) -> None:
    with CatalogStore(url) as store:
        catalog = store.load()
        assert catalog.stream("river") == RIVER
        form = Form((("depth", "$.a.b"),), "$.obs", Format("JSON", time_format="%Y", nulls=("NA",)))
        catalog.add_stream(replace(RIVER, name="brook", form=form))
        assert store.load().stream("brook").form == form


def test_a_stream_that_was_declared_before_there_were_forms(path: Path) -> None:
    declared_before_forms(f"sqlite:///{path}")
    check_forms(f"sqlite:///{path}")


@pytest.mark.postgres
def test_a_stream_that_was_declared_before_there_were_forms_in_postgresql(postgres: str) -> None:
    declared_before_forms(postgres, "nilometer.")
    check_forms(postgres)


def test_every_older_version_has_a_migration() -> None:
    assert set(store_module.MIGRATIONS) == set(range(1, store_module.VERSION))


def test_a_newer_catalog_is_left_alone(path: Path) -> None:
    CatalogStore(path).close()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE catalog_version SET version = 99")
    database.close()
    with pytest.raises(CatalogError, match="written by a newer Nilometer"):
        CatalogStore(path)


# ---- errors and start-up ---------------------------------------------------------------------------------------------


def test_a_file_that_is_no_database(path: Path) -> None:
    path.write_text("not a database " * 100)
    with pytest.raises(ResourceError, match="cannot be used") as caught:
        CatalogStore(path)
    assert caught.value.detail == "file is not a database"


def test_a_busy_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "BUSY_SECONDS", 0.01)
    with CatalogStore(path) as store:
        catalog = store.load()
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ResourceError) as caught:
            catalog.add_stream(RIVER)
        assert caught.value.hint == "another program is writing to it; try again"
        other.close()
        catalog.add_stream(RIVER)


@pytest.mark.parametrize("url", ["mysql://localhost/x", "://", "nothing://"])
def test_urls_that_cannot_be_used(url: str) -> None:
    with pytest.raises(ResourceError):
        CatalogStore(url)


def test_a_password_is_never_shown() -> None:
    with pytest.raises(ResourceError) as caught:
        CatalogStore("postgresql://someone:secret@127.0.0.1:1/nowhere?connect_timeout=1")
    assert "secret" not in str(caught.value)
    assert "someone:***@127.0.0.1" in str(caught.value)


def test_the_catalog_imports_no_database() -> None:
    heavy = ("sqlalchemy", "networkx", "pyarrow", "polars", "numpy")
    code = (
        "import sys, types; sys.modules['nilometer'] = package = types.ModuleType('nilometer');"
        f"package.__path__ = {[str(Path(store_module.__file__).parent.parent)]!r};"
        "import nilometer.catalog, nilometer.catalog.store, nilometer.catalog.units, nilometer.catalog.functions;"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    assert (
        run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
