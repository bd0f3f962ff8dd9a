"""What RecordedOperations.cpp computes, in Python: cases of each family."""

import numpy as np
import torch
import torch.nn.functional as F

from recorded_cases import add, case, f32, ints, positive, rng, unit


def elementwise():
    case("add", lambda a, b: a + b, f32(2, 3), f32(3))
    case("sub", lambda a, b: a - b, f32(2, 1, 3), f32(4, 1))
    case("mul_int_float", lambda a, b: a * b, ints(4), f32(4))
    case("div_int", lambda a, b: a / b, ints(5), ints(5, low=1))
    case(
        "floor_divide_int",
        lambda a, b: a // b,
        ints(20),
        np.where(np.arange(20) % 2, 4, -3),
    )
    case("floor_divide", lambda a, b: a // b, f32(20), positive(20))
    case(
        "remainder_int",
        lambda a, b: a % b,
        ints(20),
        np.where(np.arange(20) % 2, 4, -3),
    )
    case("remainder", lambda a, b: a % b, f32(20), f32(20))
    case("fmod", torch.fmod, f32(20), f32(20))
    case("pow", torch.pow, positive(6), f32(6))
    case("pow_int", lambda a: a**3, ints(6))
    case("pow_half", lambda a: a**0.5, positive(6))
    case("minimum", torch.minimum, f32(6), f32(6))
    case("maximum", torch.maximum, f32(6), f32(6))
    case("lerp", torch.lerp, f32(6), f32(6), f32(6))
    case("less", lambda a, b: a < b, ints(6), f32(6))
    case("equal", lambda a, b: a == b, ints(20, low=0, high=3), ints(20, low=0, high=3))
    case(
        "logical",
        lambda a, b: torch.logical_and(a, b) | torch.logical_not(b),
        ints(9, low=0, high=2),
        f32(9),
    )
    case(
        "bitwise",
        lambda a, b: (a & b) ^ (a | ~b),
        ints(9, dtype=np.int32),
        ints(9, dtype=np.int32),
    )
    case("shift", lambda a: (a << 3) >> 1, ints(9))
    case(
        "where", lambda c, a, b: torch.where(c, a, b), f32(2, 3) > 0, f32(3), f32(2, 1)
    )
    case("uint8_wraps", lambda a: a * a + 200, ints(6, low=0, high=100, dtype=np.uint8))
    case("scalar_is_weak", lambda a: a + 1.5, f32(3).astype(np.float16))
    case("int_scalar", lambda a: a + 300, ints(3, dtype=np.int16))
    for name in (
        "abs",
        "sign",
        "square",
        "relu",
        "exp",
        "exp2",
        "expm1",
        "erf",
        "sin",
        "cos",
        "tan",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "sigmoid",
        "floor",
        "ceil",
        "trunc",
        "round",
    ):
        case(name, getattr(torch, name), f32(12))
    for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"):
        case(name, getattr(torch, name), positive(12))
    for name in ("asin", "acos", "atanh"):
        case(name, getattr(torch, name), unit(12))
    case("acosh", torch.acosh, positive(12) + 1)
    tiny = np.array([1e-7, -1e-7, 3e-4, 0, 1e-30], np.float32)
    case("expm1_tiny", torch.expm1, tiny)
    case("log1p_tiny", torch.log1p, tiny)
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 2.5], np.float32)
    for name in (
        "isnan",
        "isinf",
        "isfinite",
        "relu",
        "sigmoid",
        "exp",
        "sqrt",
        "round",
    ):
        case(name + "_special", getattr(torch, name), special)
    case("softplus", F.softplus, f32(8))
    case("gelu", F.gelu, f32(8))
    case("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), f32(8))
    case("silu", F.silu, f32(8))
    case("leaky_relu", lambda x: F.leaky_relu(x, 0.2), f32(8))
    case("elu", lambda x: F.elu(x, 1.5), f32(8))
    case("clamp", lambda x: x.clamp(-1, 1.5), f32(8))
    case("exp_of_int", torch.exp, ints(5, low=-3, high=4))
    case("f64", lambda a: torch.sin(a) * a, rng.standard_normal(5))


def reductions():
    x = f32(2, 3, 4)
    for name in ("sum", "mean", "prod", "amax", "amin"):
        case(name, getattr(torch.Tensor, name), x) if name != "prod" else case(
            name, torch.prod, x
        )
    case("sum_axes", lambda x: x.sum((0, 2)), x)
    case("mean_keepdims", lambda x: x.mean(1, keepdim=True), x)
    case("sum_int8", torch.sum, ints(7, dtype=np.int8))
    case("sum_bool", torch.sum, f32(7) > 0)
    case("max_int", lambda x: x.amax(0), ints(3, 4))
    case("any", lambda x: (x > 1).any(1), f32(3, 4))
    case("all", lambda x: (x > -2).all(0), f32(3, 4))
    case("argmax", lambda x: x.argmax(1), f32(3, 5))
    case("argmin_flat", lambda x: x.argmin(), f32(3, 5))
    case("var", lambda x: x.var(1), f32(3, 5))
    case("std_biased", lambda x: x.std((0, 1), correction=0), f32(3, 5))
    case("norm", lambda x: x.norm(), f32(3, 5))
    case("norm1", lambda x: torch.linalg.vector_norm(x, 1, 1), f32(3, 5))
    case("norm3", lambda x: torch.linalg.vector_norm(x, 3), f32(3, 5))
    case("norm_inf", lambda x: torch.linalg.vector_norm(x, float("inf"), 0), f32(3, 5))
    case("logsumexp", lambda x: x.logsumexp(1), f32(3, 5))
    case(
        "logsumexp_infinite", lambda x: x.logsumexp(0), np.full(3, -np.inf, np.float32)
    )
    case("cumsum", lambda x: x.cumsum(1), f32(3, 5))
    case("cumsum_int", lambda x: x.cumsum(0), ints(6, dtype=np.int32))
    case("cumprod", lambda x: x.cumprod(1), f32(3, 5))
    case("cumprod_int", lambda x: x.cumprod(0), ints(6, low=1, dtype=np.int32))
    case("count_nonzero", torch.count_nonzero, ints(20, low=0, high=2))
    case("sum_empty", lambda x: x.sum(0), f32(0, 3))


def products():
    case("matmul", torch.matmul, f32(3, 4), f32(4, 5))
    case("matmul_vector", torch.matmul, f32(3, 4), f32(4))
    case("vector_matmul", torch.matmul, f32(4), f32(4, 5))
    case("matmul_batched", torch.matmul, f32(2, 1, 3, 4), f32(5, 4, 2))
    case("matmul_int", torch.matmul, ints(3, 4), ints(4, 2))
    case("matmul_transposed", lambda a, b: a.t() @ b.t(), f32(4, 3), f32(5, 4))
    case("bmm", torch.bmm, f32(2, 3, 4), f32(2, 4, 5))
    case("dot", torch.dot, f32(5), f32(5))
    case("outer", torch.outer, f32(3), f32(4))
    case("linear", F.linear, f32(2, 3, 4), f32(5, 4), f32(5))
    case("linear_no_bias", F.linear, f32(4), f32(5, 4))
    for equation, shapes in EINSUMS:
        operands = [f32(*shape) for shape in shapes]
        add("einsum " + equation, np.einsum(equation, *operands), *operands)


EINSUMS = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    ("ba,cb", [(2, 3), (4, 2)]),
    ("ii", [(3, 3)]),
    ("ii->i", [(3, 3)]),
    ("ij->ji", [(2, 3)]),
    ("ij->", [(2, 3)]),
    ("i,i->", [(4,), (4,)]),
    ("i,j->ij", [(3,), (4,)]),
    ("i,j->ji", [(3,), (4,)]),
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
    ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("ijk,jil->kl", [(2, 3, 4), (3, 2, 5)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
    ("ij,kj,lj->ikl", [(2, 3), (4, 3), (2, 3)]),
    ("iij,jk->ik", [(3, 3, 2), (2, 4)]),
    ("ij,ij->i", [(3, 4), (3, 4)]),
    ("i...->...", [(3, 2, 2)]),
    ("ijkk->j", [(2, 3, 2, 2)]),
]


def windows():
    case(
        "conv1d",
        lambda x, w, b: F.conv1d(x, w, b, 2, 1),
        f32(2, 3, 9),
        f32(4, 3, 3),
        f32(4),
    )
    case(
        "conv2d",
        lambda x, w, b: F.conv2d(x, w, b, padding=1),
        f32(2, 3, 5, 6),
        f32(4, 3, 3, 3),
        f32(4),
    )
    case(
        "conv2d_strided",
        lambda x, w: F.conv2d(x, w, stride=(2, 1), dilation=(1, 2)),
        f32(1, 2, 7, 8),
        f32(3, 2, 3, 2),
    )
    case(
        "conv2d_groups",
        lambda x, w, b: F.conv2d(x, w, b, groups=2),
        f32(1, 4, 5, 5),
        f32(6, 2, 2, 2),
        f32(6),
    )
    case("conv2d_unbatched", lambda x, w: F.conv2d(x, w), f32(2, 4, 4), f32(3, 2, 2, 2))
    case(
        "conv3d",
        lambda x, w: F.conv3d(x, w, padding=1),
        f32(1, 2, 3, 4, 3),
        f32(2, 2, 2, 2, 2),
    )
    case(
        "conv_transpose1d",
        lambda x, w, b: F.conv_transpose1d(x, w, b, 2),
        f32(2, 3, 4),
        f32(3, 2, 3),
        f32(2),
    )
    case(
        "conv_transpose2d",
        lambda x, w: F.conv_transpose2d(x, w, None, 2, 1, 1, 2, 2),
        f32(1, 4, 4, 3),
        f32(4, 2, 3, 2),
    )
    case(
        "conv_transpose_padding",
        lambda x, w: F.conv_transpose2d(x, w, None, 1, 2),
        f32(1, 2, 5, 6),
        f32(2, 2, 2, 2),
    )
    case("max_pool2d", lambda x: F.max_pool2d(x, 3, 2, 1), f32(1, 2, 7, 6))
    case(
        "max_pool2d_ceil", lambda x: F.max_pool2d(x, 2, ceil_mode=True), f32(1, 2, 5, 5)
    )
    case("max_pool1d", lambda x: F.max_pool1d(x, 3, 1, 1, 1), f32(2, 2, 5))
    case(
        "max_pool3d_dilated", lambda x: F.max_pool3d(x, 2, 1, 0, 2), f32(1, 1, 4, 4, 4)
    )
    case("avg_pool2d", lambda x: F.avg_pool2d(x, 3, 2, 1), f32(1, 2, 7, 6))
    case(
        "avg_pool2d_ceil",
        lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
        f32(1, 2, 6, 6),
    )
    case(
        "avg_pool2d_exclude",
        lambda x: F.avg_pool2d(x, 3, 2, 1, True, False),
        f32(1, 2, 6, 6),
    )
    case("avg_pool1d", lambda x: F.avg_pool1d(x, 2), f32(2, 6))
    case("avg_pool3d", lambda x: F.avg_pool3d(x, 2), f32(1, 2, 4, 2, 3))
    case(
        "adaptive_avg_pool2d",
        lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
        f32(1, 2, 4, 6),
    )
    case("adaptive_uneven", lambda x: F.adaptive_avg_pool2d(x, (3, 2)), f32(1, 2, 7, 5))


def norms():
    case("softmax", lambda x: x.softmax(1), f32(3, 4, 2))
    case("log_softmax", lambda x: x.log_softmax(-1), f32(3, 4))
    case(
        "layer_norm",
        lambda x, w, b: F.layer_norm(x, (4,), w, b),
        f32(2, 3, 4),
        f32(4),
        f32(4),
    )
    case("layer_norm2", lambda x: F.layer_norm(x, (3, 4)), f32(2, 3, 4))
    case("rms_norm", lambda x, w: F.rms_norm(x, (4,), w, 1e-6), f32(3, 4), f32(4))
    case(
        "group_norm",
        lambda x, w, b: F.group_norm(x, 2, w, b),
        f32(2, 4, 3),
        f32(4),
        f32(4),
    )
    case(
        "batch_norm",
        lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b),
        f32(3, 2, 4),
        f32(2),
        positive(2),
        f32(2),
        f32(2),
    )
    case(
        "batch_norm_training",
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
        f32(3, 2, 4),
        f32(2),
        f32(2),
    )
    x, mean, variance = f32(3, 2, 4), f32(2), positive(2)

    def statistics(x, m, v):
        F.batch_norm(x, m, v, None, None, True, 0.3)
        return torch.stack([m, v])

    case("batch_norm_statistics", statistics, x, mean, variance)
    case(
        "attention",
        F.scaled_dot_product_attention,
        f32(2, 3, 4),
        f32(2, 5, 4),
        f32(2, 5, 6),
    )
    case(
        "attention_causal",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        f32(1, 4, 4),
        f32(1, 4, 4),
        f32(1, 4, 3),
    )
    case(
        "attention_mask",
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m),
        f32(2, 2, 4),
        f32(2, 3, 4),
        f32(2, 3, 3),
        np.array([[True, False, True], [False, True, True]]),
    )
    case(
        "embedding",
        lambda w, i: F.embedding(i, w),
        f32(6, 3),
        ints(2, 4, low=0, high=6),
    )
    case("one_hot", lambda i: F.one_hot(i, 4), ints(5, low=0, high=4))


def movement():
    x = f32(3, 4)
    case("concat", lambda a, b: torch.cat([a, b], 1), f32(2, 3), f32(2, 2))
    case("stack", lambda a, b: torch.stack([a, b], 1), f32(2, 3), f32(2, 3))
    case("tile", lambda x: x.tile(2, 1, 3), f32(2, 3))
    case("repeat_interleave", lambda x: x.repeat_interleave(2, 1), f32(2, 3))
    case("flip", lambda x: x.flip(0, 1), f32(2, 3))
    case("roll", lambda x: x.roll((1, -2), (0, 1)), x)
    for mode, name in (
        ("edge", "edge"),
        ("reflect", "reflect"),
        ("wrap", "wrap"),
        ("constant", "constant"),
    ):
        add("pad_" + name, np.pad(x, ((1, 2), (2, 1)), mode=mode), x)
    case("pad_cut", lambda x: F.pad(x, (-1, 2, 1, -1), value=7), x)
    case("tril", lambda x: x.tril(1), f32(2, 4, 3))
    case("triu", lambda x: x.triu(-1), f32(4, 3))
    case("index_select", lambda x, i: x.index_select(1, i), x, np.array([3, 0, 3]))
    case("take", torch.take, x, np.array([[11, 0], [5, 2]]))
    case("gather", lambda x, i: x.gather(1, i), x, ints(2, 6, low=0, high=4))
    case(
        "take_along",
        lambda x, i: torch.take_along_dim(x, i, 0),
        x,
        ints(2, 1, low=0, high=3),
    )
    case(
        "scatter",
        lambda x, i, s: x.scatter(0, i, s),
        x,
        np.array([[2, 0, 1, 1]]),
        f32(1, 4),
    )
    case(
        "scatter_add",
        lambda x, i, s: x.scatter_add(1, i, s),
        x,
        ints(3, 6, low=0, high=4),
        f32(3, 6),
    )
    case(
        "index_add",
        lambda x, i, s: x.index_add(1, i, s),
        x,
        np.array([1, 1, 3]),
        f32(3, 3),
    )
    case("masked_fill", lambda x: x.masked_fill(x > 0, 9), x)
    case("sort", lambda x: x.sort(0).values, x)
    case(
        "argsort",
        lambda x: torch.argsort(x, stable=True, dim=1, descending=True),
        ints(3, 8, low=0, high=4),
    )
    case("topk", lambda x: x.topk(2, 1).values, x)
    case("topk_smallest", lambda x: x.topk(2, 0, largest=False).indices, x)
    case("nonzero", torch.nonzero, ints(3, 4, low=0, high=2))
    case("masked_select", lambda x: x.masked_select(x > 0), x)
    case("unique", torch.unique, ints(20, low=0, high=6))
    y = f32(3, 4, 5)
    i, j = np.array([[0, 2], [1, -1]]), np.array([3, 1])
    case("index_one", lambda y, i: y[:, i], y, i)
    case("index_two", lambda y, i, j: y[i, j], y, i, j)
    case("index_apart", lambda y, i, j: y[i, :, j], y, i, j)
    case("index_last", lambda y, i, j: y[:, i, j], y, i, j)
    case("index_mask", lambda y: y[:, (y > 0).any(2)[0]], y)
    case("index_mixed", lambda y, j: y[1, ..., None, 1:4:2][j - 1], y, j)

    def put(y, i, j):
        y[:, i, j] = torch.arange(12.0).reshape(3, 2, 2)
        return y

    def accumulate(y, i):
        return y.index_put_((i,), torch.ones(()), accumulate=True)

    def put_mask(y):
        y[y > 0] = -1
        return y

    case("put", put, y.copy(), i, j)
    case("put_accumulate", accumulate, y.copy(), i)
    case("put_mask", put_mask, y.copy())


def creation():
    case("arange", lambda: torch.arange(2, 11, 3))
    case("arange_down", lambda: torch.arange(5, -2, -2))
    case("arange_float", lambda: torch.arange(0, 1, 0.25))
    case("linspace", lambda: torch.linspace(-1, 1, 7))
    case("eye", lambda: torch.eye(3, 5))
    case("eye_tall", lambda: torch.eye(5, 3))
    case("full", lambda: torch.full((2, 2), 7))


FAMILIES = (
    elementwise,
    reductions,
    products,
    windows,
    norms,
    movement,
    creation,
)
