//===- JsonValues.h - Checked reading of JSON values ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_JSON_JSONVALUES_H
#define TINH_COMPILER_IMPORT_JSON_JSONVALUES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>

namespace tinh::json {

using Json = nlohmann::json;

struct ParseError {
  /// Empty if there is no error.
  std::string message;
  /// Where it is: a byte from 0; a line and a column from 1.
  uint64_t position = 0;
  unsigned line = 0, column = 0;
};

/// Parses without exceptions. Keys given twice are errors too.
Json parseJson(llvm::StringRef text, ParseError &error);

/// A byte's line and column, from 1.
std::pair<unsigned, unsigned> lineAndColumn(llvm::StringRef text,
                                            size_t position);

/// The member `key` of an object; null if there is none.
const Json *find(const Json &object, llvm::StringRef key);

/// Members of the wanted type; false if they are missing or of another.
bool getString(const Json &object, llvm::StringRef key, std::string &value);
bool getInts(const Json &object, llvm::StringRef key,
             llvm::SmallVectorImpl<int64_t> &values);
bool toInt(const Json &value, int64_t &result);

/// The element type that the format calls "f32", "u8", "bool" …; else null.
mlir::Type parseDtype(llvm::StringRef name, mlir::MLIRContext *context);
/// What the format calls an element type of the dialect.
llvm::StringRef formatDtype(mlir::Type element);
inline constexpr llvm::StringLiteral kDtypes =
    "f64 f32 f16 bf16 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0fnu f4e2m1fn "
    "i64 i32 i16 i8 u64 u32 u16 u8 bool";

/// A number or boolean, or "nan", "inf" or "-inf", as an element of a tensor;
/// null if it is none of this type.
mlir::Attribute elementAttribute(const Json &value, mlir::Type element);

/// Inline elements: a flat list, or one number for all. Null with the reason
/// in `error` if they do not fit the type.
mlir::DenseElementsAttr parseData(const Json &data, mlir::RankedTensorType type,
                                  std::string &error);

} // namespace tinh::json

#endif // TINH_COMPILER_IMPORT_JSON_JSONVALUES_H
