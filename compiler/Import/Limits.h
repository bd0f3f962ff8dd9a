//===- Limits.h - How deep and how large models may be ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is beyond these is refused before anything is made of it. Importers and
// passes recurse into graphs, so that depth is what bounds their stack.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_LIMITS_H
#define TINH_COMPILER_IMPORT_LIMITS_H

#include <cstdint>

namespace tinh {

/// Graphs within graphs, as the branches of an If or the body of a Loop are.
/// Each is three messages of an ONNX file, in a node's attribute, and protobuf
/// reads 100 messages within each other, types and tensors among them.
constexpr unsigned kMaxGraphDepth = 20;

/// Objects and arrays of a JSON file within each other: a graph within a graph
/// is three.
constexpr unsigned kMaxJsonDepth = 200;

/// Braces of MLIR text within each other: those of a model of any other format
/// once it is text, with room for a module, kernels and their attributes.
constexpr unsigned kMaxTextDepth = 100;

/// Functions of an ONNX model that call each other. Exporters make a function
/// of a module of modules, of which deep ones have a dozen levels.
constexpr unsigned kMaxFunctionDepth = 64;

/// Nodes that the calls of a model's functions become. They grow exponentially
/// with the depth of calls, while each node takes about a tenth of a
/// millisecond to compile: so many take up to half a minute.
constexpr uint64_t kMaxExpandedNodes = 200000;

} // namespace tinh

#endif // TINH_COMPILER_IMPORT_LIMITS_H
