"""The measurement itself runs; how fast is not a test's business."""

from rtl_agent.backends.engine.speed import Load, measure


def test_every_kind_of_work_is_measured_on_both_sides(small: str) -> None:
    speeds = measure([small], Load(sequences=4, group=2, prompt=5, answer=6, rounds=1))
    assert [speed.what for speed in speeds] == ["sample", "score", "train all weights", "train LoRA 32"]
    assert all(speed.engine > 0 and speed.transformers > 0 for speed in speeds)
