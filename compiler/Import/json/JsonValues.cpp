//===- JsonValues.cpp - Checked reading of JSON values ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/json/JsonValues.h"

#include "compiler/Graph/GraphBuilder.h"
#include "compiler/Import/Limits.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <tuple>

using namespace mlir;

namespace tinh::json {

namespace {

/// Watches a parse: notes the first error, keys given twice, and nesting that
/// no graph has.
class Checker : public nlohmann::json_sax<Json> {
public:
  ParseError error;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }

  bool key(string_t &name) override {
    if (keys.back().insert(name).second)
      return true;
    error.message = "the key \"" + name + "\" is given twice";
    return false;
  }

  bool parse_error(std::size_t position, const std::string &,
                   const nlohmann::detail::exception &problem) override {
    StringRef text = problem.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: …"
    error.message = text.split("] ").second.str();
    error.position = position ? position - 1 : 0;
    return false;
  }

private:
  bool open() {
    keys.emplace_back();
    if (keys.size() <= kMaxJsonDepth)
      return true;
    error.message =
        "nested more than " + std::to_string(kMaxJsonDepth) + " deep";
    return false;
  }
  bool close() {
    keys.pop_back();
    return true;
  }

  std::vector<llvm::StringSet<>> keys;
};

} // namespace

std::pair<unsigned, unsigned> lineAndColumn(StringRef text, size_t position) {
  StringRef before = text.take_front(position);
  size_t line = 1 + before.count('\n');
  size_t lineStart = before.rfind('\n') + 1; // 0 if there is none.
  return {static_cast<unsigned>(line),
          static_cast<unsigned>(1 + before.size() - lineStart)};
}

Json parseJson(StringRef text, ParseError &error) {
  Checker checker;
  if (!Json::sax_parse(text.begin(), text.end(), &checker)) {
    error = checker.error;
    std::tie(error.line, error.column) = lineAndColumn(text, error.position);
    return {};
  }
  return Json::parse(text.begin(), text.end(), nullptr,
                     /*allow_exceptions=*/false);
}

const Json *find(const Json &object, StringRef key) {
  auto it = object.find(key.str());
  return it == object.end() ? nullptr : &*it;
}

bool getString(const Json &object, StringRef key, std::string &value) {
  const Json *member = find(object, key);
  if (!member || !member->is_string())
    return false;
  value = member->get_ref<const std::string &>();
  return true;
}

bool toInt(const Json &value, int64_t &result) {
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() &&
       value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)))
    return false;
  result = value.get<int64_t>();
  return true;
}

bool getInts(const Json &object, StringRef key,
             SmallVectorImpl<int64_t> &values) {
  const Json *member = find(object, key);
  if (!member || !member->is_array())
    return false;
  for (const Json &value : *member)
    if (!toInt(value, values.emplace_back()))
      return false;
  return true;
}

Type parseDtype(StringRef name, MLIRContext *context) {
  Builder b(context);
  auto natural = [&](unsigned width) {
    return IntegerType::get(context, width, IntegerType::Unsigned);
  };
  return llvm::StringSwitch<Type>(name)
      .Case("f64", b.getF64Type())
      .Case("f32", b.getF32Type())
      .Case("f16", b.getF16Type())
      .Case("bf16", b.getBF16Type())
      .Case("f8e4m3fn", Float8E4M3FNType::get(context))
      .Case("f8e4m3fnuz", Float8E4M3FNUZType::get(context))
      .Case("f8e5m2", Float8E5M2Type::get(context))
      .Case("f8e5m2fnuz", Float8E5M2FNUZType::get(context))
      .Case("f8e8m0fnu", Float8E8M0FNUType::get(context))
      .Case("f4e2m1fn", Float4E2M1FNType::get(context))
      .Case("i64", b.getI64Type())
      .Case("i32", b.getI32Type())
      .Case("i16", b.getIntegerType(16))
      .Case("i8", b.getIntegerType(8))
      .Case("u64", natural(64))
      .Case("u32", natural(32))
      .Case("u16", natural(16))
      .Case("u8", natural(8))
      .Case("bool", b.getI1Type())
      .Default(Type());
}

StringRef formatDtype(Type element) {
  for (StringRef name : llvm::split(kDtypes, ' '))
    if (parseDtype(name, element.getContext()) == element)
      return name;
  llvm_unreachable("the dialect has no other element types");
}

//===----------------------------------------------------------------------===//
// Inline data
//===----------------------------------------------------------------------===//

namespace {

/// Whether a number has a neighbour in a type that lacks NaN, infinities or
/// what is not positive.
bool isWithin(FloatType type, double number) {
  if (isa<Float4E2M1FNType>(type))
    return std::fabs(number) <= 6;
  return !isa<Float8E8M0FNUType>(type) || number > 0 || std::isnan(number);
}

/// A number; none if it is beyond a type that has no infinities.
Attribute floatAttribute(FloatType type, double number) {
  if (!isWithin(type, number))
    return {};
  auto value = FloatAttr::get(type, number);
  bool isBeyond = value.getValue().isNaN() && !std::isnan(number);
  return isBeyond ? Attribute() : value;
}

/// A float: a number, or one of the strings that JSON has no numbers for.
Attribute floatElement(const Json &value, FloatType type) {
  if (value.is_number())
    return floatAttribute(type, value.get<double>());
  if (!value.is_string())
    return {};
  double number =
      llvm::StringSwitch<double>(value.get_ref<const std::string &>())
          .Case("nan", std::numeric_limits<double>::quiet_NaN())
          .Case("inf", std::numeric_limits<double>::infinity())
          .Case("-inf", -std::numeric_limits<double>::infinity())
          .Default(0);
  return number == 0 ? Attribute() : floatAttribute(type, number);
}

Attribute integerElement(const Json &value, IntegerType type) {
  unsigned width = type.getWidth();
  if (width == 1)
    return value.is_boolean()
               ? IntegerAttr::get(type, value.get<bool>() ? -1 : 0)
               : Attribute();
  if (!value.is_number_integer())
    return {};
  bool isUnsigned = type.isUnsigned();
  bool negative = !value.is_number_unsigned() && value.get<int64_t>() < 0;
  if (negative && (isUnsigned || !llvm::isIntN(width, value.get<int64_t>())))
    return {};
  uint64_t magnitude = value.get<uint64_t>();
  if (!negative && !llvm::isUIntN(isUnsigned ? width : width - 1, magnitude))
    return {};
  return IntegerAttr::get(type, APInt(width, magnitude, !isUnsigned,
                                      /*implicitTrunc=*/true));
}

} // namespace

Attribute elementAttribute(const Json &value, Type element) {
  if (auto floats = dyn_cast<FloatType>(element))
    return floatElement(value, floats);
  return integerElement(value, cast<IntegerType>(element));
}

DenseElementsAttr parseData(const Json &data, RankedTensorType type,
                            std::string &error) {
  Type element = type.getElementType();
  auto fail = [&](const Twine &what) {
    error = what.str();
    return DenseElementsAttr();
  };
  if (!data.is_array()) {
    Attribute value = elementAttribute(data, element);
    if (!value)
      return fail("its data " +
                  data.dump(-1, ' ', false, Json::error_handler_t::replace)
                      .substr(0, 40) +
                  " is no element of " + graph::shapeToString(type));
    return DenseElementsAttr::get(type, value);
  }
  if (static_cast<int64_t>(data.size()) != type.getNumElements())
    return fail("expected " + Twine(type.getNumElements()) + " elements for " +
                graph::shapeToString(type) + ", found " + Twine(data.size()));
  SmallVector<Attribute> elements;
  for (const Json &value : data) {
    elements.push_back(elementAttribute(value, element));
    if (!elements.back())
      return fail("its element " + Twine(elements.size() - 1) + ", " +
                  value.dump(-1, ' ', false, Json::error_handler_t::replace)
                      .substr(0, 40) +
                  ", is no element of " + graph::shapeToString(type));
  }
  return DenseElementsAttr::get(type, elements);
}

} // namespace tinh::json
