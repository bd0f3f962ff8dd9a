# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases of ops that ONNX Runtime does not run as the compiler does, and why.

Each entry has a kind of outcome, a reason, and the names of cases (patterns).
"""

import fnmatch

EXPECTATIONS = [
    (
        "unsupported",
        "dividing an integer by 0 is an error; here the result is 0",
        ["mod_i32", "fmod_i32", "div_i32"],
    ),
    (
        "unsupported",
        "an index out of bounds is an error; here it is clamped into them",
        ["gather", "scatter_outside*"],
    ),
    (
        "unsupported",
        "the Pad before the pool is fused into it, and then found too large",
        ["avgpcd_first", "avgpcd_last"],
    ),
    (
        "unsupported",
        "scatters of f16 only assign, but for maxima and minima of elements",
        [
            "scatter_???_float16",
            "scatter_nd_???_float16",
            "scatter_elements_add_float16",
            "scatter_elements_mul_float16",
        ],
    ),
    (
        "unsupported",
        "there are no products and no convolutions of bf16 on CPUs",
        ["matmul_bf16*", "conv_bf16*"],
    ),
    (
        "unsupported",
        "its Python has no arrays of floats of 8 bits, but bytes that E4M3FN becomes",
        [
            "decode_f8*",
            "dequantize_f8*",
            "quantize_f8*_zero_point",
            "encode_f8E4M3FNUZ_[!z]*",
            "encode_f8E5M2*_[!z]*",
            "quantize_f8E4M3FNUZ_*",
            "quantize_f8E5M2*",
        ],
    ),
    (
        "refused",
        "ONNX moves floats of 8 and 4 bits by Reshape, Transpose and Pad alone",
        ["move_f8*", "choose_f8*", "rows_f8*", "assign_f8*", "move_f4*", "choose_f4*"],
    ),
    (
        "refused",
        "floats of 4 bits lie in the bytes of constants alone, along the last dimension",
        ["unpack_int4_f4*", "matmul_mxfp4*"],
    ),
    (
        "unsupported",
        "it has no floats of 4 bits, and its Python no powers of two",
        ["decode_f4*", "encode_f4*", "*quantize_f4*", "encode_f8E8M0FNU*"],
    ),
    (
        "unsupported",
        "it reads no bits of floats of 8 bits",
        ["bitcast_f8*", "bitcast_*_f8*"],
    ),
    (
        "crashed",
        "the smallest integer divided by -1 ends the process",
        ["div_min"],
    ),
    (
        "refused",
        "ONNX has no gradients of convolutions by their weights, nor of pools",
        ["dw*_first", "dw*_last", "dw_bf16*", "dmaxp*_first", "dmaxp*_last"],
    ),
    (
        "refused",
        "ONNX dequantises i32 without a zero point",
        ["dequantize_i32_zero_point"],
    ),
    (
        "refused",
        "ONNX quantises f32, f16 and bf16",
        ["quantize_f64"],
    ),
    (
        "refused",
        "ONNX pads convolutions of integers with zeros",
        ["conv_bytes*_5"],
    ),
    (
        "different",
        "f64 is rounded to f32 before it is rounded to floats of 8 bits",
        ["encode_f8E4M3FN_f64*"],
    ),
    (
        "different",
        "what is little beyond the largest becomes NaN in E5M2, or 448 from f16",
        ["convert_f8E5M2", "encode_f8E4M3FN_f16"],
    ),
    (
        "different",
        "NaN is not the extreme element",
        ["argm??1", "argm??1l", "argm??_row_nan", "argm??_row_nan_last"],
    ),
]


def expectation(name):
    """How a case is expected to turn out: a kind, or "" for well."""
    for kind, _, patterns in EXPECTATIONS:
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            return kind
    return ""
