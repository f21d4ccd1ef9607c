"""Seeds become generators in one place."""

import numpy as np
import pytest
import torch

from genbayes.errors import InvalidInput
from genbayes.seeding import as_generator, torch_generator


def test_a_number_always_gives_the_same_stream() -> None:
    assert as_generator(3).integers(10**9) == as_generator(np.int64(3)).integers(10**9)


def test_a_generator_is_used_as_it_is() -> None:
    rng = np.random.default_rng(0)
    assert as_generator(rng) is rng


def test_a_legacy_state_advances() -> None:
    state = np.random.RandomState(0)
    assert as_generator(state).integers(10**9) != as_generator(state).integers(10**9)


def test_none_gives_fresh_entropy() -> None:
    assert as_generator(None).integers(2**62) != as_generator(None).integers(2**62)


@pytest.mark.parametrize("bad", [-1, 1.5, "seed", True])
def test_anything_else_is_refused(bad) -> None:
    with pytest.raises(
        InvalidInput, match="random_state must be None, a whole number of at least 0 or a NumPy generator"
    ):
        as_generator(bad)


def test_torch_follows_numpy() -> None:
    first, second = (torch.rand(3, generator=torch_generator(as_generator(5))) for _ in range(2))
    assert torch.equal(first, second)
