//===- NormalizationOps.td - Softmax, norms, attention ----*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TINH_GRAPH_NORMALIZATION_OPS
#define TINH_GRAPH_NORMALIZATION_OPS

include "dialects/graph/GraphBase.td"
include "dialects/graph/GraphInterfaces.td"
include "dialects/graph/ops/AlongAxis.td"

class Graph_SoftmaxLikeOp<string mnemonic, string formula>
    : Graph_AlongAxisOp<mnemonic> {
  let readsOnce = 1;
  let summary = formula # " along an axis";
  let description = "y = " # formula # [{ with the sum along `axis` (0 ≤ axis < rank),
    computed after subtracting the maximum.

    Example: `%y = graph.}] # mnemonic # [{ %x axis 1 : tensor<1x1000xf32>`}];
  let arguments = (ins Graph_FloatTensor:$x, I64Attr:$axis);
  let assemblyFormat = "$x `axis` $axis attr-dict `:` type($x)";
  let extraClassDeclaration = [{
    std::optional<::tinh::graph::Neutral> getRowPadding() {
      return ::tinh::graph::Neutral::Lowest;
    }
  }];
}
def Graph_SoftmaxOp : Graph_SoftmaxLikeOp<"softmax", "e^x / Σ e^x">,
    Graph_Facts<"Anchor", 1, "Full">;
def Graph_LogSoftmaxOp : Graph_SoftmaxLikeOp<"log_softmax", "x - log Σ e^x">,
    Graph_Facts<"Anchor", 1, "Full">;

def Graph_LayerNormOp : Graph_InferredOp<"layer_norm">, Graph_Facts<"Anchor", 1, "Rounded"> {
  let readsOnce = 1;
  let summary = "Layer normalisation";
  let description = [{
    y = (x - mean) / sqrt(variance + epsilon) · scale + bias, mean and (biased)
    variance over the dimensions from `axis` to the last. scale and bias broadcast
    to those dimensions; bias may be left out. With `rms`, the mean is not
    subtracted and the variance is the mean square (RMSNorm).

    Example:
    ```mlir
    %y = graph.layer_norm %x, %scale, %bias axis 2 epsilon 1.000000e-05
        : tensor<1x128x768xf32>, tensor<768xf32>, tensor<768xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$scale,
                       Optional<Graph_FloatTensor>:$bias, I64Attr:$axis,
                       F64Attr:$epsilon, UnitAttr:$rms);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$x `,` $scale (`,` $bias^)? `axis` $axis `epsilon`
      $epsilon (`rms` $rms^)? attr-dict
      `:` type($x) `,` type($scale) (`,` type($bias)^)?}];
}

def Graph_BatchNormOp : Graph_InferredOp<"batch_norm">, Graph_Facts<"Anchor", 1, "Rounded"> {
  let summary = "Batch normalisation with given statistics";
  let description = [{
    y = (x - mean) / sqrt(variance + epsilon) · scale + bias, a vector over the
    channels each. The channels are dimension 1 (channels_first) or the last.

    `momentum` is for training: the part of the running mean and variance that a
    batch leaves as it was; 0.9 where nothing is said.

    Example:
    ```mlir
    %y = graph.batch_norm %x, %scale, %bias, %mean, %variance epsilon 1.000000e-05
        channels_first : tensor<1x64x56x56xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$scale,
                       Graph_FloatTensor:$bias, Graph_FloatTensor:$mean,
                       Graph_FloatTensor:$variance, F64Attr:$epsilon,
                       DefaultValuedAttr<F64Attr, "0.9">:$momentum,
                       Graph_Layout:$layout);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$x `,` $scale `,` $bias `,` $mean `,` $variance
      `epsilon` $epsilon (`momentum` $momentum^)? $layout attr-dict
      `:` type($x) `,` type($scale) `,` type($bias) `,` type($mean) `,`
      type($variance)}];
}

def Graph_LrnOp : Graph_InferredOp<"lrn">, Graph_Facts<"LoneAnchor", 1, "Rounded"> {
  let summary = "Local response normalisation across channels";
  let description = [{
    y[c] = x[c] / (bias + alpha/size · Σ x[j]²)^beta, the sum over the channels
    from c - floor((size-1)/2) to c + ceil((size-1)/2) that exist.

    Example:
    ```mlir
    %y = graph.lrn %x size 5 alpha 1.000000e-04 beta 7.500000e-01 bias 1.000000e+00
        channels_first : tensor<1x96x54x54xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, I64Attr:$size, F64Attr:$alpha,
                       F64Attr:$beta, F64Attr:$bias, Graph_Layout:$layout);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$x `size` $size `alpha` $alpha `beta` $beta `bias`
      $bias $layout attr-dict `:` type($x)}];
}

def Graph_AttentionOp : Graph_InferredOp<"attention">, Graph_Facts<"Anchor", 1, "Lowered"> {
  let readsOnce = 1;
  let summary = "Scaled dot-product attention";
  let description = [{
    y = softmax(scale · query·keyᵀ + mask) · value over [batch, heads, length,
    width] tensors; the softmax is along the keys. `mask`, of query's type,
    broadcasts to [batch, heads, queries, keys]. With `causal`, query i sees keys
    0 … i + (keys - queries) only: aligned at the lower right, as PyTorch's
    causal_lower_right, and not as its is_causal. Query's head h uses key's head
    h · key_heads / heads (grouped queries).

    Example:
    ```mlir
    %y = graph.attention %q, %k, %v, %m scale 1.250000e-01
        : tensor<1x12x128x64xf32>, tensor<1x12x128x64xf32>,
          tensor<1x12x128x64xf32>, tensor<1x1x128x128xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$query, Graph_FloatTensor:$key,
                       Graph_FloatTensor:$value, Optional<Graph_FloatTensor>:$mask,
                       F64Attr:$scale, UnitAttr:$causal);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$query `,` $key `,` $value (`,` $mask^)? `scale` $scale
      (`causal` $causal^)? attr-dict `:` type($query) `,` type($key) `,`
      type($value) (`,` type($mask)^)?}];
}

#endif // TINH_GRAPH_NORMALIZATION_OPS
