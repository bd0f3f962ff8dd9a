//===- InputOptions.h - What options say of inputs ------------ -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_INPUTOPTIONS_H
#define TINH_COMPILER_IMPORT_INPUTOPTIONS_H

#include "compiler/Import/Import.h"

#include "llvm/ADT/StringSet.h"

namespace tinh {

/// "; did you mean "conv"?" if one of the names is nearly `name`, else nothing.
std::string suggest(llvm::StringRef name,
                    llvm::ArrayRef<llvm::StringRef> names);

/// A sentence for each name that lengths, shapes or values are given for and
/// that is none of the model's inputs. Shapes and values may be those of
/// `elements` of its sequences.
std::vector<std::string>
describeUnknownInputs(const ImportOptions &options,
                      llvm::ArrayRef<llvm::StringRef> inputs,
                      const llvm::StringSet<> &elements = {});

/// What is wrong with a length that is given for a tensor.
inline constexpr llvm::StringLiteral kLengthOfTensor =
    "a length was given for a tensor; its shape is given by --shape";

/// The same of the length of strings.
inline constexpr llvm::StringLiteral kStringLengthOfNumbers =
    "a length of strings was given for a tensor of numbers";

/// A sentence for each of these inputs, all of them tensors of numbers, that a
/// length is given for.
std::vector<std::string>
describeLengthsOfTensors(const ImportOptions &options,
                         llvm::ArrayRef<llvm::StringRef> inputs);

/// The elements that the options give in place of an input of this type. Null
/// if they give none or, with the reason in `error`, none that fit.
mlir::DenseElementsAttr inputValue(const ImportOptions &options,
                                   llvm::StringRef input,
                                   mlir::RankedTensorType type,
                                   std::string &error);

} // namespace tinh

#endif // TINH_COMPILER_IMPORT_INPUTOPTIONS_H
