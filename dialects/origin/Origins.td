//===- Origins.td - What ops of kernels were lowered from --*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowering takes convolutions and attention apart into ops of linalg. What each
// of these was, and its maps do not tell, it says in `origin.op`, so that nobody
// has to guess it again. An origin says nothing that its op computes: who reads
// it checks that the op's maps and its body fit.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_ORIGIN_ORIGINS
#define TINH_ORIGIN_ORIGINS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Origin_Dialect : Dialect {
  let name = "origin";
  let cppNamespace = "::tinh::origin";
  let summary = "What ops of kernels were lowered from.";
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

def Origin_Role : I32EnumAttr<"Role", "what a loop of a convolution runs over", [
    I32EnumAttrCase<"Image", 0, "image">,
    I32EnumAttrCase<"Position", 1, "position">, // Of the filter, in a dimension.
    I32EnumAttrCase<"Group", 2, "group">,
    I32EnumAttrCase<"Output", 3, "output">,     // Channels of a group's result.
    I32EnumAttrCase<"Tap", 4, "tap">,           // Of the filter, in a dimension.
    I32EnumAttrCase<"Channel", 5, "channel">    // Of a group's image.
  ]> {
  let cppNamespace = "::tinh::origin";
}

def Origin_Convolution : AttrDef<Origin_Dialect, "Convolution"> {
  let mnemonic = "convolution";
  let summary = "Products of images and filters, summed up";
  let description = [{
    What each loop is. There is a position and a tap, an index into the filter,
    for each spatial dimension, in the same order, and one loop at most for
    each other role; taps and channels are summed up. How far apart positions
    and taps lie, the image's map says.

    The gradient with respect to the weights is a convolution, too: its images
    are the channels of x, its channels the batch, its filter dy, and the taps
    that it gives are its positions.

    Example: `#origin.convolution<image, position, position, output, tap, tap, channel>`
  }];
  let parameters = (ins ArrayRefParameter<"::tinh::origin::Role">:$loops);
  let assemblyFormat = "`<` $loops `>`";
  let genVerifyDecl = 1;
}

def Origin_Part : I32EnumAttr<"Part", "a step of attention", [
    I32EnumAttrCase<"Scores", 0, "scores">,             // queries · keys
    I32EnumAttrCase<"Masked", 1, "masked">,             // scores, scaled, masked
    I32EnumAttrCase<"Largest", 2, "largest">,           // max masked
    I32EnumAttrCase<"Exponentials", 3, "exponentials">, // exp(masked - largest)
    I32EnumAttrCase<"Sum", 4, "sum">,                   // Σ exponentials
    I32EnumAttrCase<"Weights", 5, "weights">,           // exponentials / sum
    I32EnumAttrCase<"Values", 6, "values">              // weights · values
  ]> {
  let cppNamespace = "::tinh::origin";
}

def Origin_Attention : AttrDef<Origin_Dialect, "Attention"> {
  let mnemonic = "attention";
  let summary = "A step of attention";
  let description = [{
    Each step reads those before it. Queries are the second last dimension of the
    scores, keys the last one.

    Example: `#origin.attention<scores>`
  }];
  let parameters = (ins "::tinh::origin::Part":$part);
  let assemblyFormat = "`<` $part `>`";
}

def Origin_Filters : AttrDef<Origin_Dialect, "Filters"> {
  let mnemonic = "filters";
  let summary = "What filters were before they were transformed";
  let description = [{
    The op says so of an operand of the kernel. Nobody computes it: code multiplies
    by what filters have become (Winograd's algorithms), and the kernel's work is
    that of the convolution.

    Example: `#origin.filters`
  }];
}

#endif // TINH_ORIGIN_ORIGINS
