"""ATen graphs, as torch.compile makes them, lowered to Tinh's graphs. Nothing
here needs PyTorch: `tinh.dynamo` reads its graphs."""

from .graph import Dtype, Graph, Node, Ref, TensorType
from .lowering import Lowered, lower, unsupported
from .table import TABLE, Unsupported

__all__ = [
    "TABLE",
    "Dtype",
    "Graph",
    "Lowered",
    "Node",
    "Ref",
    "TensorType",
    "Unsupported",
    "lower",
    "unsupported",
]
