"""Classes that rows have, by their numbers: text for every row would take far more memory."""

from dataclasses import dataclass
from typing import Any

from gputree.dtypes import HostArray


@dataclass(frozen=True, eq=False)
class Labels:
    """A target of text, which NumPy sees as an array."""

    classes: HostArray  # sorted, each of them in some row
    number: HostArray  # (rows,)

    def __len__(self) -> int:
        return len(self.number)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> HostArray:
        """The class of each row."""
        return self.classes[self.number].astype(dtype or self.classes.dtype, copy=False)
