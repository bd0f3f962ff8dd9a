//===- Passes.td - Passes from graph to graph ------------------*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TINH_TRANSFORMS_PASSES
#define TINH_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def InferShapes : Pass<"infer-shapes", "::mlir::func::FuncOp"> {
  let summary = "Infer the result types of graph ops from the arguments' on";
  let description = [{
    Gives arguments the shapes that `shapes` names, recomputes every result
    type from them on, and the function's own result types. An op whose shape
    is written in the model (reshape, broadcast) keeps it, but for a reshape's
    leading dimension and what a broadcast's operand enlarges. Regions follow
    what they read; what a loop carries keeps its type. What does not fit is
    reported at the op.

    Preconditions: phase `graph`.
  }];
  let options = [
    ListOption<"shapes", "shapes", "std::string",
               "New shapes of arguments by their name: x=4x3,y=1">
  ];
  let statistics = [
    Statistic<"numChanged", "changed", "Ops whose result type changed">
  ];
}

def ResolveDimensionSizes
    : Pass<"resolve-dimension-sizes", "::mlir::func::FuncOp"> {
  let summary = "Compute on whole tensors where a part of a dimension is used";
  let description = [{
    Propagates what `graph.set_dimension_size` says from op to op, and makes ops of
    whole tensors of those that would see the padding: it masks what is reduced,
    moves together what is concatenated, counts negative indices from the size.
    Results of the function whose size the run decides say so in `graph.sizes`, and
    the sizes become further results. `set_dimension_size` and `dimension_size` are
    gone after it.

    Preconditions: phase `graph`. An op without a rule for a dimension of which a
    part is used is refused.
  }];
  let statistics = [
    Statistic<"numResolved", "resolved", "Ops with a dimension of which a part is used">
  ];
}

def SimplifyGraph : Pass<"simplify-graph", "::mlir::func::FuncOp"> {
  let summary = "Remove what computes nothing, and write the rest simply";
  let description = [{
    The dialect's canonicalisation and arithmetic identities: x·1, x+0, a
    selection with a known condition, casts to the same type, explicit
    broadcasts that an element-wise op implies, padding before a convolution,
    transposes before a matrix product, reshapes after slices.

    Preconditions: none. Dead ops are removed.
  }];
}

def PropagateQuantization : Pass<"propagate-quantization", "::mlir::func::FuncOp"> {
  let summary = "Keep integers where ops only move or limit them";
  let description = [{
    A dequantise sinks below what moves elements or chooses the largest, a
    quantise rises above it; both go where they undo each other, and so do
    limits, such as a ReLU's, that no integer of the type is beyond.

    Preconditions: none.
  }];
}

def QuantizeProducts : Pass<"quantize-products", "::mlir::func::FuncOp"> {
  let summary = "Multiply integers instead of what they stand for";
  let description = [{
    Matmuls and convolutions of dequantised operands become those of ui8 by i8,
    with sums in i32 that are dequantised; zero points become a term that is
    subtracted, a constant where the other factor is. Left factors become ui8,
    right ones i8.

    Preconditions: none. Parameters that differ along what is summed over, and
    zero points of a convolution's weights, leave an op as it is.
  }];
  let statistics = [
    Statistic<"numProducts", "products", "Products of integers">
  ];
}

def FoldQuantizationScales : Pass<"fold-quantization-scales", "::mlir::func::FuncOp"> {
  let summary = "Let scales of quantise be part of those before it";
  let description = [{
    What is quantised by one scale is computed in its units where that takes
    other constants only.

    Preconditions: none.
  }];
  let statistics = [
    Statistic<"numFolded", "folded", "Scales that became 1">
  ];
}

def RoundInKernels : Pass<"round-in-kernels", "::mlir::func::FuncOp"> {
  let summary = "Round to integers that no kernel writes as floats";
  let description = [{
    Within a kernel, what is quantised for one dequantise alone with the same zero
    point is limited and rounded instead.

    Preconditions: phase `fused`; others have nothing to change.
  }];
  let statistics = [
    Statistic<"numRounded", "rounded", "Pairs that became a rounding">
  ];
}

def FoldConstants : Pass<"fold-constants", "::mlir::func::FuncOp"> {
  let summary = "Evaluate ops on small constants";
  let description = [{
    Ops whose operands are all inline constants are evaluated by the reference
    interpreter, if the result has at most `max-elements` elements. What
    depends on larger constants, or on constants in files, stays: compiled code
    computes it when the artifact is written.

    Preconditions: none.
  }];
  let options = [
    Option<"maxElements", "max-elements", "int64_t", "16384",
           "The most elements that a folded result has">
  ];
  let statistics = [
    Statistic<"numFolded", "folded", "Ops that became constants">
  ];
}

def FoldBatchNorm : Pass<"fold-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "Fold batch normalisation and constant affine maps into weights";
  let description = [{
    batch_norm becomes a multiplication and an addition per channel.
    Multiplications by constants move through additions of constants up to a
    convolution or matrix product, whose constant weights they scale: an op on
    constants, which runs when the artifact is written.

    Preconditions: inference, where the statistics are given.
  }];
  let statistics = [
    Statistic<"numNorms", "norms", "Batch norms rewritten">,
    Statistic<"numScaled", "scaled", "Contractions whose weights were scaled">
  ];
}

def RecognizeComposites : Pass<"recognize-composites", "::mlir::func::FuncOp"> {
  let summary = "Find GELU, layer norm, softmax and attention in their parts";
  let description = [{
    Rewrites the forms in which exporters write these, above all
    PyTorch's, to graph.gelu, graph.layer_norm, graph.softmax and
    graph.attention. What the parts computed remains where something else reads it.

    Preconditions: simplified (`simplify-graph`).
  }];
  let statistics = [
    Statistic<"numGelu", "gelu", "GELUs found">,
    Statistic<"numLayerNorm", "layer-norm", "Layer norms found">,
    Statistic<"numSoftmax", "softmax", "Softmaxes found">,
    Statistic<"numAttention", "attention", "Attentions found">
  ];
}

def ForgetDropout : Pass<"forget-dropout", "::mlir::func::FuncOp"> {
  let summary = "Replace dropouts by their operands";
  let description = [{
    What they do in training was made of them before, in the functions that
    train.
  }];
}

def ForgetGradients : Pass<"forget-gradients", "::mlir::func::FuncOp"> {
  let summary = "Drop what only gradients need to know";
  let description = [{
    stop_gradient gives its operand; custom_gradient becomes what its first
    region computes. Branches and scans that gradients run again, with further
    results, are merged with the first ones.

    Preconditions: nothing is differentiated afterwards.
  }];
}

def DecomposeVariance : Pass<"decompose-variance", "::mlir::func::FuncOp"> {
  let summary = "Rewrite variances as means of squared distances";
  let description = [{
    A variance becomes the mean of (x - mean(x))², whose inner mean is one with
    that of a norm beside it (`cse`). The outer one reads x again, and computes
    the squares where it does.

    Preconditions: nothing is differentiated afterwards.
  }];
  let statistics = [
    Statistic<"numDecomposed", "decomposed", "Variances rewritten">
  ];
}

def LowerPrecision : Pass<"lower-precision", "::mlir::ModuleOp"> {
  let summary = "Compute matmuls and the like on bf16 or f16";
  let description = [{
    Matmuls, convolutions and attention take operands of the lower
    precision and give such results, and so do ops between them that lose nothing
    by it. Norms, sums, softmax, exponentials and the like stay in f32, as do
    arguments and results of functions, and ops that a pattern fits.
    dialects/graph/OpFacts.h has the classes of all ops.

    With `weights-alone`, constant weights of matmuls and tables of which rows are
    gathered have the lower precision, and nothing else.

    Preconditions: phase `normalised`. Weights that are trained are arguments
    with `graph.variable`.
  }];
  let options = [
    Option<"type", "type", "std::string", "\"bf16\"",
           "bf16 or f16, or f32, which changes nothing">,
    ListOption<"keepF32", "keep-f32", "std::string",
               "Patterns of names of ops or of the model's nodes that stay f32">,
    Option<"weightsAlone", "weights-alone", "bool", "false",
           "Round constant operands of matmuls, and nothing that is computed">
  ];
  let statistics = [
    Statistic<"numLowered", "lowered", "Ops that compute with rounded numbers">
  ];
}

def RepeatCheapOps : Pass<"repeat-cheap-ops", "::mlir::func::FuncOp"> {
  let summary = "Let each reader of a cheap op compute it";
  let description = [{
    An element-wise op with little arithmetic and one large operand, which is in
    memory anyway, is copied for each element-wise op or reduction that reads
    it: kernels compute it where they read the operand.

    Preconditions: no `cse` runs afterwards.
  }];
  let statistics = [
    Statistic<"numRepeated", "repeated", "Copies made">
  ];
}

def Rematerialise : Pass<"rematerialise", "::mlir::func::FuncOp"> {
  let summary = "Compute values again rather than keep them";
  let description = [{
    Where more than `limit` bytes would be live, values that have long to wait
    for their next reader are computed again before it: those that free most for
    the work that this takes, of the kernels that `form-kernels` will form. What
    depends on chance or on variables stays the same: randomness is a value, and
    a variable's next value comes after all that reads the old one.

    Nothing is done about what a branch or a loop has inside. Where the limit
    cannot be kept, what is live is brought as far down as can be.

    Preconditions: no `cse` runs afterwards.
  }];
  let options = [
    Option<"limit", "limit", "uint64_t", "0",
           "Bytes that may be live, of results of kernels">,
    Option<"fuse", "fuse", "bool", "true",
           "As form-kernels will have it">
  ];
  let statistics = [
    Statistic<"numRepeated", "repeated", "Kernels that are computed again">
  ];
}

def ChannelsLast : Pass<"channels-last", "::mlir::func::FuncOp"> {
  let summary = "Convert image-like ops to the channels-last layout";
  let description = [{
    Convolutions, pools and channel-wise norms take and give channels-last
    tensors between two transposes; those after them sink through
    element-wise ops, reductions, concatenation, padding, slices, softmax and
    reshapes until they meet the next and cancel. What a region reads from above
    or hands on keeps the model's layout.

    Preconditions: simplified (`simplify-graph`).
  }];
  let statistics = [
    Statistic<"numConverted", "converted", "Ops that changed their layout">,
    Statistic<"numTransposes", "transposes", "Transposes that remain">
  ];
}

def DecomposeConvTranspose
    : Pass<"decompose-conv-transpose", "::mlir::func::FuncOp"> {
  let summary = "Rewrite transposed convolutions as convolutions";
  let description = [{
    A transposed convolution becomes a convolution without strides over the same
    input, whose channels are those of each phase: outputs whose indices have the
    same remainder by the strides. Reshapes and a transpose put the phases
    side by side; a slice cuts off what is left of padding. The weights are
    rearranged by ops on them: with constant ones, when the artifact is written.

    Where the kernel is no multiple of the stride, or is dilated, weights are
    filled up with zeros, so that infinite elements of the input can make outputs
    beyond their own taps NaN.

    Preconditions: none. In channels-last layout (`channels-last`) phases move
    whole vectors.
  }];
  let statistics = [
    Statistic<"numDecomposed", "decomposed", "Transposed convolutions rewritten">
  ];
}

def KeepQuantizedWeights
    : Pass<"keep-quantized-weights", "::mlir::func::FuncOp"> {
  let summary = "Let matmuls read constant weights as integers";
  let description = [{
    The right factor of a matmul of floats that is dequantised from constant
    bytes, with scales for columns or for blocks of the depth, gets these in the
    order [blocks, depth, columns], so that the product's kernel can dequantise
    it (`form-kernels`). Numbers of 4 bits are packed in pairs along the depth.
    What changes the order are ops on constants.

    Preconditions: no two products share what dequantises; the module is not for
    GPUs, else nothing changes.
  }];
  let statistics = [
    Statistic<"numKept", "kept", "Products that read integers">
  ];
}

def FormKernels : Pass<"form-kernels", "::mlir::func::FuncOp"> {
  let summary = "Group ops into kernels";
  let description = [{
    Puts every op but constants, reshapes, branches and loops into a
    `graph.kernel`, which lies within one block. A kernel has at most one anchor
    (contraction, window, reduction, norm, attention) with element-wise ops after
    it and cheap ones before it, or is a tree of element-wise and movement ops.
    Ops on constants alone never share a kernel with others, but for what
    dequantises a product's right factor (`keep-quantized-weights`): its kernel
    reads a quarter of the bytes, or an eighth. Constants that are
    one value are cloned into the kernels that read them; others are their
    operands.

    Preconditions: no `graph.kernel` yet.
  }];
  let options = [
    Option<"fuse", "fuse", "bool", "true",
           "Put several ops into a kernel; otherwise each gets its own">,
    Option<"remarks", "remarks", "bool", "false",
           "Say at each op why it was fused or not">
  ];
  let statistics = [
    Statistic<"numKernels", "kernels", "Kernels that depend on inputs">,
    Statistic<"numConstantKernels", "constant-kernels",
              "Kernels on constants alone">
  ];
}

#endif // TINH_TRANSFORMS_PASSES
