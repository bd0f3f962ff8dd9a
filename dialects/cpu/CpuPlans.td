//===- CpuPlans.td - How kernels for CPUs are computed -----*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel function in phase `kernels` says in `graph.plan` how it is computed.
// A plan holds what a strategy has decided and nothing that follows from it: its
// chunks and its scratch memory do. Whoever edits one in a module's text gets
// other code for the same result, or an error that says what the kernel or the
// CPU does not allow.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CPU_PLANS
#define TINH_CPU_PLANS

include "dialects/graph/GraphInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Cpu_Dialect : Dialect {
  let name = "cpu";
  let cppNamespace = "::tinh::cpu";
  let summary = "How kernels for CPUs are computed.";
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
}

class Cpu_Plan<string name, string itsMnemonic>
    : AttrDef<Cpu_Dialect, name # "Plan", [Graph_KernelPlanInterface]> {
  let mnemonic = itsMnemonic;
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

class Cpu_Access<string name, string text, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, text, cases> {
  let cppNamespace = "::tinh::cpu";
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

def Cpu_LeftAccess : Cpu_Access<"LeftAccess", "where a product finds its left factor", [
    I32EnumAttrCase<"InPlace", 0, "in_place">, // An operand of the kernel.
    I32EnumAttrCase<"Staged", 1, "staged">,    // Copied to scratch memory first.
    I32EnumAttrCase<"Extended", 2, "extended"> // … bytes, extended to 16 bits.
  ]>;

def Cpu_RightAccess : Cpu_Access<"RightAccess", "where a product finds its right factor", [
    I32EnumAttrCase<"InPlace", 0, "in_place">, // An operand, vectors as they lie.
    I32EnumAttrCase<"Packed", 1, "packed">,    // An operand in panels.
    I32EnumAttrCase<"Copied", 2, "copied">     // Panels in scratch memory.
  ]>;

def Cpu_Multiplier : Cpu_Access<"Multiplier", "what multiplies and adds", [
    I32EnumAttrCase<"Vectors", 0, "vectors">, // FMAs, or dot products of groups.
    I32EnumAttrCase<"Amx", 1, "amx">          // Tiles of 16 rows by 16 columns.
  ]>;

def Cpu_ContractionPlan : Cpu_Plan<"Contraction", "contraction"> {
  let summary = "A matmul in register tiles";
  let description = [{
    Matmuls and dense convolutions. A register tile has `tile` rows by
    columns, which are whole vectors: as many columns as a panel of the right
    factor has. A chunk computes `block` lines × tiles × panels, where a line is
    what the last loop over rows runs along. `depth` iterations of the outermost
    loop that is summed over are done at a time; sums wait in scratch memory
    in between. With the `multiplier` amx, products of groups are summed in up to
    four tiles of AMX, and go to registers by way of scratch memory; a register
    tile may have the rows of several short lines then. Where there
    is no instruction for bytes, `left` is extended: the staged bytes at even
    positions have 16 bits each, and so have, behind them, those at odd ones.

    Example: `#cpu.contraction<tile = [12, 32], block = [1, 7, 4], depth = 512, left = in_place, right = packed>`
  }];
  let parameters = (ins "::mlir::DenseI64ArrayAttr":$tile,
                        "::mlir::DenseI64ArrayAttr":$block, "int64_t":$depth,
                        "::tinh::cpu::LeftAccess":$left,
                        "::tinh::cpu::RightAccess":$right,
                        DefaultValuedParameter<"::tinh::cpu::Multiplier",
                                               "::tinh::cpu::Multiplier::Vectors">:$multiplier);
  let extraClassDeclaration = [{
    int64_t getTileRows() const { return getTile()[0]; }
    int64_t getTileColumns() const { return getTile()[1]; }
    int64_t getLinesPerBlock() const { return getBlock()[0]; }
    int64_t getTilesPerBlock() const { return getBlock()[1]; }
    int64_t getPanelsPerBlock() const { return getBlock()[2]; }
  }];
}

def Cpu_WinogradPlan : Cpu_Plan<"Winograd", "winograd"> {
  let summary = "A convolution with 3 x 3 kernels by Winograd's algorithms";
  let description = [{
    Tiles of outputs are multiplied as rows of matrices, one for each of the
    elements that transformed filters have, in register tiles of `rows` by a
    panel. A chunk computes `block` tiles of outputs × panels: a block's images
    are transformed once, to scratch memory.

    Example: `#cpu.winograd<rows = 12, block = [48, 2]>`
  }];
  let parameters = (ins "int64_t":$rows, "::mlir::DenseI64ArrayAttr":$block);
  let extraClassDeclaration = [{
    int64_t getTilesPerBlock() const { return getBlock()[0]; }
    int64_t getPanelsPerBlock() const { return getBlock()[1]; }
  }];
}

def Cpu_FilterTransformPlan : Cpu_Plan<"FilterTransform", "filter_transform"> {
  let summary = "Filters of 3 x 3 transformed for Winograd's algorithms";
  let description = [{
    Vectors lie along a panel's columns. A unit is one channel of a panel, a chunk
    has `units` units.

    Example: `#cpu.filter_transform<units = 64>`
  }];
  let parameters = (ins "int64_t":$units);
}

def Cpu_LanesOf : Cpu_Access<"LanesOf", "which factor's elements vectors hold", [
    I32EnumAttrCase<"Sliding", 0, "sliding">,
    I32EnumAttrCase<"Plain", 1, "plain">
  ]>;

def Cpu_OuterProductsPlan : Cpu_Plan<"OuterProducts", "outer_products"> {
  let summary = "Sums of outer products";
  let description = [{
    The gradient of a convolution with respect to its weights and its like. The
    sums of a `block` of rows × lanes, for all filter elements (taps), stay in
    scratch memory, while `sums` iterations of the `level`-th loop that is
    summed over, with all of those within it, go through slabs of both factors.
    A register tile has `tile` rows by columns, whole vectors of the factor
    that `lanes` names. Rows are the elements of `taps` neighbouring taps. With
    the `multiplier` amx, the slabs have pairs of bf16 of what is summed over,
    and tiles of AMX multiply them.

    Example: `#cpu.outer_products<lanes = plain, tile = [12, 32], taps = 1, block = [64, 128], level = 1, sums = 16>`
  }];
  let parameters = (ins "::tinh::cpu::LanesOf":$lanes,
                        "::mlir::DenseI64ArrayAttr":$tile, "int64_t":$taps,
                        "::mlir::DenseI64ArrayAttr":$block, "int64_t":$level,
                        "int64_t":$sums,
                        DefaultValuedParameter<"::tinh::cpu::Multiplier",
                                               "::tinh::cpu::Multiplier::Vectors">:$multiplier);
  let extraClassDeclaration = [{
    int64_t getTileRows() const { return getTile()[0]; }
    int64_t getTileColumns() const { return getTile()[1]; }
    int64_t getRowsPerBlock() const { return getBlock()[0]; }
    int64_t getLanesPerBlock() const { return getBlock()[1]; }
  }];
}

def Cpu_WinogradGradientPlan : Cpu_Plan<"WinogradGradient", "winograd_gradient"> {
  let summary = "The gradient with respect to 3 x 3 filters by Winograd's algorithms";
  let description = [{
    Tiles of `positions` x `positions` of the plain factor, and what they are
    multiplied by, become as many elements of each channel as transformed filters
    have. `lanes`, `tile`, `block`, `level` and `sums` are those of outer products
    of these; loops over positions go from tile to tile.

    Example: `#cpu.winograd_gradient<positions = 2, lanes = plain, tile = [13, 32], block = [64, 64], level = 1, sums = 2>`
  }];
  let parameters = (ins "int64_t":$positions, "::tinh::cpu::LanesOf":$lanes,
                        "::mlir::DenseI64ArrayAttr":$tile,
                        "::mlir::DenseI64ArrayAttr":$block, "int64_t":$level,
                        "int64_t":$sums);
  let extraClassDeclaration = [{
    int64_t getTileRows() const { return getTile()[0]; }
    int64_t getTileColumns() const { return getTile()[1]; }
    int64_t getRowsPerBlock() const { return getBlock()[0]; }
    int64_t getLanesPerBlock() const { return getBlock()[1]; }
  }];
}

def Cpu_DepthwiseGradientPlan : Cpu_Plan<"DepthwiseGradient", "depthwise_gradient"> {
  let summary = "Sums of products for each channel";
  let description = [{
    The gradient of a depthwise convolution with respect to its weights and its
    like. A tile has `tile` filter elements (taps) by channels, whole vectors,
    as sums in registers; a chunk has those of all taps of so many channels.
    They wait in scratch memory while `sums` iterations of the `level`-th loop
    that is summed over, with all of those within it, go through a slab of the
    factor that slides.

    Example: `#cpu.depthwise_gradient<tile = [9, 16], level = 0, sums = 1>`
  }];
  let parameters = (ins "::mlir::DenseI64ArrayAttr":$tile, "int64_t":$level,
                        "int64_t":$sums);
}

//===----------------------------------------------------------------------===//
// Layouts of weights
//===----------------------------------------------------------------------===//

def Cpu_Panels : AttrDef<Cpu_Dialect, "Panels"> {
  let summary = "Weights as products read them";
  let description = [{
    A tensor of type `of`, maybe reshaped to `shape`, lies as
    [batch…, panels, k…, `width`]. `order` names its dimensions in the order
    batch…, k…, columns, of which the first `batch` are the batch's. The last panel
    has zeros, or what means nothing, behind the last column. Elements are as
    before, or have become an `element`. Where an instruction sums the products of
    `group` neighbours, these lie side by side, [batch…, panels, k…, `width`,
    `group`], of the last dimension of k, at whose end there are zeros if groups do
    not divide it.

    An argument of a kernel and a variable that lie so say it in `cpu.layout`.

    Example: `#cpu.panels<of = tensor<1000x100xf32>, order = [0, 1], batch = 0, width = 32>`,
    which is a `tensor<4x1000x32xf32>`
  }];
  let mnemonic = "panels";
  let parameters = (ins "::mlir::RankedTensorType":$of,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$shape,
                        "::mlir::DenseI64ArrayAttr":$order, "int64_t":$batch,
                        "int64_t":$width,
                        OptionalParameter<"::mlir::Type">:$element,
                        DefaultValuedParameter<"int64_t", "1">:$group);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// What is cut into panels: `of`, reshaped.
    ::mlir::RankedTensorType getPlain() const;
    ::mlir::RankedTensorType getPacked() const;
    /// The dimension of `getPlain()` that panels are of, its extent, and how many
    /// panels that makes.
    int64_t getLane() const { return getOrder().asArrayRef().back(); }
    int64_t getColumns() const { return getPlain().getDimSize(getLane()); }
    int64_t getPanels() const {
      return ::llvm::divideCeil(getColumns(), getWidth());
    }
    /// The last dimension of k, and how many groups that makes.
    int64_t getGrouped() const { return getOrder().asArrayRef().end()[-2]; }
    int64_t getGroups() const {
      return ::llvm::divideCeil(getPlain().getDimSize(getGrouped()), getGroup());
    }
    /// Whether the last panel has columns that are no outputs, or the last group
    /// elements that are none.
    bool isPadded() const;
    /// The same for other elements, which are packed as they are; for another
    /// width; for other groups; and for what has been reshaped.
    PanelsAttr withElement(::mlir::Type element) const;
    PanelsAttr withWidth(int64_t width) const;
    PanelsAttr withGroup(int64_t group) const;
    PanelsAttr ofPlain() const;
  }];
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

def Cpu_WindowsPlan : Cpu_Plan<"Windows", "windows"> {
  let summary = "A reduction of each channel over sliding windows";
  let description = [{
    Depthwise convolutions and pooling. The accumulators of up to `outputs`
    neighbours are in registers together, each a vector of `lanes` channels. A
    unit is `channels` channels of a line of the result, a chunk `units` units.

    Example: `#cpu.windows<lanes = 16, outputs = 7, channels = 64, units = 4>`
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$outputs,
                        "int64_t":$channels, "int64_t":$units);
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

def Cpu_TransposePlan : Cpu_Plan<"Transpose", "transpose"> {
  let summary = "Rows that become columns";
  let description = [{
    Squares of `side` elements each way are transposed in registers. A unit is
    one square wide and `rows` rows long, a chunk has `units` units.

    Example: `#cpu.transpose<side = 16, rows = 128, units = 2>`
  }];
  let parameters = (ins "int64_t":$side, "int64_t":$rows, "int64_t":$units);
}

def Cpu_ScatterPlan : Cpu_Plan<"Scatter", "scatter"> {
  let summary = "Updates whose positions are computed";
  let description = [{
    A unit goes through all updates of `block` elements of the last dimension, a
    chunk has `units` units.

    Example: `#cpu.scatter<block = 64, units = 1>`
  }];
  let parameters = (ins "int64_t":$block, "int64_t":$units);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

def Cpu_RowsPlan : Cpu_Plan<"Rows", "rows"> {
  let summary = "Any kernel, row by row";
  let description = [{
    The `outer` first dimensions of all results are rows. Of what is left, the
    last `merged` dimensions are one, and vectors of `lanes` elements lie along
    it, or along dimension `along` of the one result. A unit is a row, or a
    `block` of its elements, a chunk has `units` units. Products that the kernel
    keeps in scratch memory are computed as `products` says. In a kernel that
    keeps anything, a `block` is of indices of the dimension behind `outer`, for
    which all that is kept is computed together, whole tiles of products; the
    units of a chunk are then of one row, and share copies of right factors.

    Example: `#cpu.rows<outer = 0, lanes = 16, block = 1024, units = 4>`
  }];
  let parameters = (ins "int64_t":$outer,
                        DefaultValuedParameter<"int64_t", "1">:$merged,
                        DefaultValuedParameter<"int64_t", "-1">:$along,
                        "int64_t":$lanes,
                        DefaultValuedParameter<"int64_t", "0">:$block,
                        "int64_t":$units,
                        OptionalParameter<"::mlir::ArrayAttr">:$products);
}

//===----------------------------------------------------------------------===//
// Dynamic-shape kernels
//===----------------------------------------------------------------------===//

def Cpu_RowLanes : Cpu_Access<"RowLanes", "what the lanes of vectors are, in rows of any length", [
    I32EnumAttrCase<"AlongColumns", 0, "along_columns">, // Elements of one row.
    I32EnumAttrCase<"AcrossRows", 1, "across_rows">      // Of one column.
  ]>;

def Cpu_SizedRowsPlan : Cpu_Plan<"SizedRows", "sized_rows"> {
  let summary = "A function of a row, for rows of any number and length";
  let description = [{
    Vectors of `vector` bytes of the widest elements that are computed with have
    their lanes along a row or across rows. A pass over the row that does little
    with each element works on `registers` of them together, as one accumulator
    alone would wait for its own sums.

    Example: `#cpu.sized_rows<lanes = along_columns, vector = 64, registers = 4>`
  }];
  let parameters = (ins "::tinh::cpu::RowLanes":$lanes, "int64_t":$vector,
                        "int64_t":$registers);
}

def Cpu_SizedTransposePlan : Cpu_Plan<"SizedTranspose", "sized_transpose"> {
  let summary = "Rows of any number and length that lie as columns";
  let description = [{
    Squares of `side` elements each way are transposed in registers.

    Example: `#cpu.sized_transpose<side = 16>`
  }];
  let parameters = (ins "int64_t":$side);
}

def Cpu_SizedContractionPlan : Cpu_Plan<"SizedContraction", "sized_contraction"> {
  let summary = "A matmul of dynamic shape in register tiles";
  let description = [{
    Register tiles are `columns` wide and have one of the numbers of `rows`, the
    first one for as many rows as possible. Those that are left are computed one
    by one, `row` columns at a time.

    Example: `#cpu.sized_contraction<rows = [12, 8, 6, 4, 2], columns = 32, row = 64>`
  }];
  let parameters = (ins "::mlir::DenseI64ArrayAttr":$rows, "int64_t":$columns,
                        "int64_t":$row);
}

#endif // TINH_CPU_PLANS
