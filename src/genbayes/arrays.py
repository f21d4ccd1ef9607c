"""Array aliases and the shape letters used in every docstring.

n rows, d inputs, p features, m quantile levels, k parameters, b rows of a mini-batch, K members.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
AnyArray = NDArray[Any]  # text, categories or numbers, as users give them
