"""Test vectors by the Python models: near misses differ on them, and resets can be told apart."""

import itertools
from collections import Counter

import pytest

from rtl_agent.problems.generate import HELD_OUT_WHOLE, LONGER, TRAINED, Instance, instances, mutants
from rtl_agent.problems.generate.instance import wrong_specs
from rtl_agent.problems.generate.spec import CLOCK, RESET
from rtl_agent.problems.generate.vectors import Simulation, plan

EQUIVALENT = {
    "sequence_detector": "reversed_pattern",  # a palindrome
    "comparator": "signed_and_unsigned_swapped",  # equal and different do not mind the sign
    "mux": "codes_in_order",  # they were in order
}


@pytest.mark.parametrize("family", [*TRAINED, *HELD_OUT_WHOLE, *LONGER])
def test_the_harness_vectors_tell_every_near_miss_from_the_reference(family: str) -> None:
    for instance in instances(11, 12, families=[family], split="held-out"):
        steps = plan(instance.family, instance.spec, f"vectors {instance.seed}")
        possibly = {mutant.name for mutant in mutants(instance) if mutant.may_be_equivalent}
        for name, wrong in wrong_specs(instance):
            if name in possibly or _shape(instance) != [
                (p.role, p.width) for p in instance.family.ports(wrong.choices)
            ]:
                continue
            simulation = Simulation(instance.family, wrong)
            seen = [(simulation.step(step.changes), step.outputs) for step in steps]
            assert any(got != expected for got, expected in seen if expected is not None), (name, instance.spec)


def _shape(instance: Instance) -> list[tuple[str, int]]:
    return [(port.role, port.width) for port in instance.family.ports(instance.spec.choices)]


def test_only_the_near_misses_that_are_known_to_be_may_be_equivalent() -> None:
    drawn = instances(12, 30 * 16, families=(*TRAINED, *HELD_OUT_WHOLE), split="held-out")
    found = {(one.spec.family, mutant.name) for one in drawn for mutant in mutants(one) if mutant.may_be_equivalent}
    assert found <= set(EQUIVALENT.items())


def test_reset_comes_at_edges_and_between_them_where_it_shows() -> None:
    kinds: Counter[str] = Counter()
    for instance in instances(13, 24, families=["counter", "edge_detector", "sequence_detector"]):
        clocking = instance.spec.clocking
        assert clocking is not None
        steps = plan(instance.family, instance.spec, f"vectors {instance.seed}")[5:]  # after the first reset
        on = int(clocking.active_high)
        for before, now in itertools.pairwise(steps):
            if now.changes == {RESET: on}:
                changed = now.outputs != before.outputs
                assert changed is not clocking.synchronous
                kinds["between"] += 1
            if now.changes.get(RESET) == on and CLOCK in now.changes:
                kinds["at an edge"] += 1
    assert min(kinds["between"], kinds["at an edge"]) >= 24


def test_the_vectors_are_few_enough_to_be_cheap_and_the_same_every_time() -> None:
    for instance in instances(14, 32):
        steps = plan(instance.family, instance.spec, "one seed")
        assert 60 <= len(steps) <= 300
        assert steps == plan(instance.family, instance.spec, "one seed")
