from genbayes.data import load_motorcycle


def test_the_bundled_data_are_those_of_mass() -> None:
    table = load_motorcycle()
    assert list(table.columns) == ["times", "accel"]
    assert len(table) == 133
    assert (table["times"].min(), table["times"].max()) == (2.4, 57.6)
    assert (table["accel"].min(), table["accel"].max()) == (-134.0, 75.0)
    assert round(float(table["accel"].sum()), 1) == -3397.6
