//===- Strings.h - Tensors of strings, as graphs have them ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor of strings is one of bytes, ui8, with a dimension behind its own:
// the *width*, how many bytes a string has at most. A string is UTF-8, and NUL
// fills it up, as in NumPy's dtype S. Names that stand for one say so
// (Operand::isString), so that an op that computes with numbers refuses it.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_STRINGS_STRINGS_H
#define TINH_COMPILER_IMPORT_ONNX_STRINGS_STRINGS_H

#include "compiler/Import/Import.h"
#include "compiler/Import/onnx/OpTable.h"

#include <string>
#include <vector>

namespace tinh::onnx {

using StringList = std::vector<std::string>;

/// The most bytes that a string may have.
constexpr int64_t kLongestString = 1 << 20;

//===--- Types
//--------------------------------------------------------------===//

/// The shape of a tensor of strings, without the width.
llvm::ArrayRef<int64_t> stringShape(mlir::Value bytes);
int64_t stringWidth(mlir::Value bytes);

//===--- Constants
//----------------------------------------------------------===//

/// What is wrong with the length of a string; empty if nothing is.
std::string checkStringLength(uint64_t bytes);

/// A constant as wide as the longest string, and one byte at least. Null, with
/// an error, if one is too long.
mlir::Value constantStrings(GraphOps &b, llvm::ArrayRef<int64_t> shape,
                            const StringList &strings);

/// The strings of a tensor of STRING; nothing, with an error, if these do not
/// fit its shape.
std::optional<StringList> stringsOf(const TensorProto &tensor,
                                    std::string &error);

/// The same as a constant; null, with an error.
mlir::Value buildStrings(GraphBuilder &builder, const TensorProto &tensor,
                         std::string &error);

/// The strings that options give in place of an input, of bytes of this type.
/// Null if they give none or, with the reason, none that fit.
mlir::DenseElementsAttr stringValue(const ImportOptions &options,
                                    llvm::StringRef input,
                                    mlir::RankedTensorType type,
                                    std::string &error);

/// Those of an attribute of STRINGS; none if it is not there.
StringList stringsAttribute(NodeBuilder &b, llvm::StringRef name);

//===--- Results
//------------------------------------------------------------===//

/// Makes strings the first result of a node, before all others; fails without
/// them.
Results giveStrings(NodeBuilder &b, mlir::Value bytes, Results others = {});

//===--- Operations
//---------------------------------------------------------===//

/// The same strings with a width that is no smaller.
mlir::Value withWidth(GraphOps &b, mlir::Value bytes, int64_t width);

/// How many bytes each string has, i64: up to the last that is not NUL.
mlir::Value stringLengths(GraphOps &b, mlir::Value bytes);

/// Whether strings are equal; their shapes are broadcast.
mlir::Value areEqual(GraphOps &b, mlir::Value x, mlir::Value y);

/// Whether strings [shape…] are each of some others: [shape…, others].
mlir::Value equalToEach(GraphOps &b, mlir::Value bytes,
                        const StringList &others);

/// Which of some others, all different, each string is, i64; their number, if
/// it is none.
mlir::Value placesIn(GraphOps &b, mlir::Value bytes, const StringList &others);

/// Strings of which all are used, those of padding empty, and what is made of
/// each of them with the sizes that strings have.
mlir::Value withoutSizes(GraphOps &b, mlir::Value bytes);
mlir::Value withSizesOf(GraphOps &b, mlir::Value y, mlir::Value bytes);

/// x moved by so many places along its last dimension, to the back or, if
/// negative, to the front, with 0 where nothing was.
mlir::Value movedBy(GraphOps &b, mlir::Value x, int64_t places);

//===--- Ops
//----------------------------------------------------------------===//

/// What builds an op that has a string among its inputs, where that is another
/// builder than that of numbers.
std::optional<OpEntry> findOpOnStrings(llvm::StringRef domain,
                                       llvm::StringRef name, int64_t opset);

/// Whether an op moves strings, or counts them, and does no more.
bool isMove(const OpEntry &entry);

/// A Constant of strings; nothing if it is one of numbers.
std::optional<Results> stringConstant(NodeBuilder &b);

Results stringNormalizer(NodeBuilder &b);
Results stringSplit(NodeBuilder &b);
Results regexFullMatch(NodeBuilder &b);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_STRINGS_STRINGS_H
