"""Settings: the nearer to the user wins, and what is not known is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import nilometer
from nilometer.errors import ConfigurationError
from nilometer.spark.settings import NAMES, READERS, SparkSettings


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory without a nilometer.toml."""
    (tmp_path / "working").mkdir()
    monkeypatch.chdir(tmp_path / "working")


def write(directory: Path, text: str) -> None:
    directory.mkdir(exist_ok=True)
    (directory / "nilometer.toml").write_text(text)


def test_nothing_said() -> None:
    assert SparkSettings.from_environment(None, {}) == SparkSettings()


def test_every_name_can_be_read() -> None:
    assert set(NAMES) == set(READERS)


def test_a_file_of_the_data_directory(tmp_path: Path) -> None:
    write(
        tmp_path / "data",
        """
        [spark]
        master = "spark://gateway:7077"
        buckets = 32
        trigger = "500 ms"
        checkpoints = "s3a://bucket/checkpoints"
        log_level = "WARN"
        spark.executor.memory = "4g"
        spark.ui.enabled = true
        "spark.sql.shuffle.partitions" = 8
        """,
    )
    assert SparkSettings.from_environment(tmp_path / "data", {}) == SparkSettings(
        master="spark://gateway:7077",
        buckets=32,
        trigger=0.5,
        checkpoints="s3a://bucket/checkpoints",
        log_level="warn",
        options={
            "spark.executor.memory": "4g",
            "spark.ui.enabled": "true",
            "spark.sql.shuffle.partitions": "8",
        },
    )


def test_the_working_directory_when_the_data_directory_says_nothing(tmp_path: Path) -> None:
    write(tmp_path / "working", "[spark]\nbuckets = 3\n")
    assert SparkSettings.from_environment(tmp_path / "data", {}).buckets == 3


def test_the_nearer_wins(tmp_path: Path) -> None:
    write(tmp_path / "working", '[spark]\nbuckets = 2\nmaster = "yarn"\n')
    write(tmp_path / "data", "[spark]\nbuckets = 3\nmax_rows = 3\nspark.executor.memory = '3g'\n")
    environment = {
        "NILOMETER_SPARK__MAX_ROWS": "4",
        "NILOMETER_SPARK__BUCKETS": "4",
        "NILOMETER_SPARK__spark__executor__memory": "4g",
        "NILOMETER_SPARKLE": "not ours",
    }
    settings = SparkSettings.from_environment(tmp_path / "data", environment, buckets=5, master=None)
    assert settings == SparkSettings(buckets=5, max_rows=4, options={"spark.executor.memory": "4g"})


def test_the_master_by_its_full_name_is_the_master() -> None:
    settings = SparkSettings.from_environment(None, {"NILOMETER_SPARK__spark__master": "local[3]"})
    assert settings.master == "local[3]"
    assert settings.options == {}


def test_what_the_session_is_told() -> None:
    settings = SparkSettings(master="yarn", log_level="warn", options={"spark.executor.memory": "4g"})
    assert settings.session == {
        "spark.master": "yarn",
        "spark.log.level": "WARN",
        "spark.executor.memory": "4g",
    }


@pytest.mark.parametrize(
    ("said", "message", "hint"),
    [
        ({"bukets": 3}, "there is no setting 'bukets' of spark", "did you mean 'buckets'?"),
        ({"buckets": "many"}, "the setting 'buckets' is 'many', and must be a whole number", None),
        ({"buckets": True}, "the setting 'buckets' is 'true', and must be a whole number", None),
        ({"buckets": 0}, "the setting 'buckets' is 0, and must be at least 1", None),
        ({"max_rows": -1}, "the setting 'max_rows' is -1, and must be at least 1", None),
        ({"master": 7}, "the setting 'master' is '7', and must be text", None),
        ({"log_level": "loud"}, "'loud' is not a level of logging", None),
        ({"master": "http://x"}, "'http://x' is not a master URL of Spark", None),
        ({"trigger": "soon"}, "the setting 'trigger' is 'soon', which is no duration", None),
        ({"trigger": "3 parsecs"}, "the setting 'trigger' is '3 parsecs', which is no duration", None),
    ],
)
def test_what_cannot_be_meant_is_refused(said: dict[str, object], message: str, hint: str | None) -> None:
    with pytest.raises(ConfigurationError) as caught:
        SparkSettings.of(said)
    assert caught.value.message == message
    if hint:
        assert caught.value.hint == hint


@pytest.mark.parametrize(
    "master",
    ["local", "local[4]", "local[*]", "local[2,3]", "spark://a:1,b:2", "yarn", "k8s://https://h:1", "sc://h"],
)
def test_masters(master: str) -> None:
    assert SparkSettings(master=master).master == master


def test_a_file_that_is_not_toml(tmp_path: Path) -> None:
    write(tmp_path / "data", "[spark\n")
    with pytest.raises(ConfigurationError, match=r"nilometer\.toml is not TOML"):
        SparkSettings.from_environment(tmp_path / "data", {})


def test_a_section_that_is_not_known(tmp_path: Path) -> None:
    write(tmp_path / "data", "[sparc]\n")
    with pytest.raises(ConfigurationError) as caught:
        SparkSettings.from_environment(tmp_path / "data", {})
    assert caught.value.message == "there is no section 'sparc' of settings"
    assert caught.value.hint == "did you mean 'spark'?"


def test_a_question_on_spark_obeys_its_data_directory(tmp_path: Path) -> None:
    write(tmp_path / "data", "[spark]\nbucket = 4\n")
    (tmp_path / "data" / "schema.sql").write_text("CREATE STREAM river (depth FLOAT) PUSHED;")
    database = nilometer.connect(tmp_path / "data")
    with pytest.raises(ConfigurationError, match="bucket"):
        database.sql("SELECT * FROM river").run("spark")


def test_a_pipeline_has_settings_of_its_own(tmp_path: Path) -> None:
    write(
        tmp_path / "data",
        """
        [spark]
        trigger = "1 s"
        parts = 2
        [spark.pipelines.Slow]
        trigger = "1 min"
        max_rows = 1000
        """,
    )
    variables = {"NILOMETER_SPARK__PIPELINES__SLOW__MAX_ROWS": "2000"}
    found = SparkSettings.from_environment(tmp_path / "data", variables)
    assert found.trigger == found.of_pipeline("main").trigger == 1.0
    slow = found.of_pipeline("slow")
    assert (slow.trigger, slow.max_rows, slow.parts) == (60.0, 2000, 2)
    assert slow.session == found.session


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"pipelines.slow.master": "yarn"}, "there is no setting 'master' of a pipeline"),
        ({"pipelines.slow": "1 min"}, "there is no setting 'slow' of a pipeline"),
        ({"pipelines.slow.parts": 0}, "the setting 'parts' is 0, and must be at least 1"),
        (
            {"pipelines.slow.trigger": "soon"},
            "the setting 'pipelines.slow.trigger' is 'soon', which is no duration",
        ),
    ],
)
def test_settings_of_a_pipeline_that_cannot_be(setting: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        SparkSettings.of(setting)
    assert caught.value.message == message
