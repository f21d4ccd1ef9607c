"""Seeds become generators in one place."""

import numpy as np
import pytest
import torch

from genbayes.errors import InvalidInput
from genbayes.seeding import as_generator, torch_generator


def test_a_number_always_gives_the_same_stream_to_numpy_and_to_torch() -> None:
    assert as_generator(3).integers(10**9) == as_generator(np.int64(3)).integers(10**9)
    first, second = (torch.rand(3, generator=torch_generator(as_generator(5))) for _ in range(2))
    assert torch.equal(first, second)


def test_a_generator_is_used_as_it_is() -> None:
    rng = np.random.default_rng(0)
    assert as_generator(rng) is rng


@pytest.mark.parametrize("seed", [np.random.RandomState(0), None], ids=["legacy state", "fresh entropy"])
def test_what_is_no_fixed_seed_gives_another_stream_each_time(seed: np.random.RandomState | None) -> None:
    assert as_generator(seed).integers(2**62) != as_generator(seed).integers(2**62)


@pytest.mark.parametrize("bad", [-1, 1.5, "seed", True])
def test_anything_else_is_refused(bad) -> None:
    with pytest.raises(InvalidInput, match="random_state must be None, a whole number of at least 0 or a NumPy gen"):
        as_generator(bad)
