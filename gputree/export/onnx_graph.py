"""A graph of ONNX that grows node by node; names are made up.

Knows onnx; must not know plans.
"""

from typing import Any

import numpy as np

from gputree.dtypes import HostArray

ML = "ai.onnx.ml"


class Graph:
    """Nodes, constants, inputs and outputs."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._n_names = 0

    def input(self, name: str, kind: int, shape: list[Any]) -> str:
        """A new input."""
        self._inputs.append(self.onnx.helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, source: str, name: str, kind: int, shape: list[Any]) -> None:
        """Give a result to the world under a name."""
        self._nodes.append(self.onnx.helper.make_node("Identity", [source], [name]))
        self._outputs.append(self.onnx.helper.make_tensor_value_info(name, kind, shape))

    def constant(self, values: HostArray) -> str:
        """A constant; text is an array of objects."""
        name = self._new_name()
        self._constants.append(self.tensor(values, name))
        return name

    def tensor(self, values: HostArray, name: str = "") -> Any:
        """Values as ONNX holds them."""
        if values.dtype == object:
            raw = [text.encode() for text in values.tolist()]
            kind = self.onnx.TensorProto.STRING
            return self.onnx.helper.make_tensor(name, kind, list(values.shape), raw)
        return self.onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)

    def add(self, operator: str, *sources: str, n_outputs: int = 1, **options: Any) -> Any:
        """A new node; the name of its result, or of all of them."""
        names = [self._new_name() for _ in range(n_outputs)]
        node = self.onnx.helper.make_node(operator, list(sources), names, **options)
        self._nodes.append(node)
        return names[0] if n_outputs == 1 else names

    def proto(self, name: str) -> Any:
        """The graph itself."""
        return self.onnx.helper.make_graph(
            self._nodes, name, self._inputs, self._outputs, self._constants
        )

    def _new_name(self) -> str:
        self._n_names += 1
        return f"gputree.{self._n_names}"  # no column is called so: inputs are looked at first
