//===- PrintNumbers.cpp - Numbers as NumPy prints them ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Digits first: the fewest that tell a number from its neighbours, or correctly
// rounded ones. Then the widths in which all of them line up.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Printing/PrintNumbers.h"

#include "compiler/Eager/Tensor/Half.h"

#include <charconv>
#include <cmath>
#include <cstring>

using namespace tinh;
using namespace tinh::eager;

constexpr int kPrecision = 8; // Digits after the point.

//===----------------------------------------------------------------------===//
// Digits
//===----------------------------------------------------------------------===//

namespace {

/// ± d.ddd · 10^exponent
struct Decimal {
  bool negative;
  std::string digits;
  int exponent;

  int fraction() const {
    return std::max(int(digits.size()) - 1 - exponent, 0);
  }
};

} // namespace

static Decimal parse(const char *text, size_t size) {
  Decimal decimal{text[0] == '-', {}, 0};
  std::string_view all(text, size);
  size_t e = all.find('e');
  for (char c : all.substr(0, e))
    if (c >= '0' && c <= '9')
      decimal.digits += c;
  decimal.exponent = std::atoi(text + e + 1);
  while (decimal.digits.size() > 1 && decimal.digits.back() == '0')
    decimal.digits.pop_back();
  return decimal;
}

/// `precision` digits after the point, correctly rounded, as in %e.
static std::string scientific(double value, int precision) {
  char text[64];
  auto [end, _] = std::to_chars(text, std::end(text), value,
                                std::chars_format::scientific, precision);
  return {text, end};
}

/// The fewest digits that give the number back, in its own dtype.
static Decimal shortest(double value, DType dtype) {
  char text[64];
  if (dtype == float64 || dtype == float32) {
    auto end = dtype == float64
                   ? std::to_chars(text, text + sizeof text - 1, value,
                                   std::chars_format::scientific)
                   : std::to_chars(text, text + sizeof text - 1,
                                   static_cast<float>(value),
                                   std::chars_format::scientific);
    *end.ptr = 0;
    return parse(text, static_cast<size_t>(end.ptr - text));
  }
  for (int precision = 0;; ++precision) {
    std::string digits = scientific(value, precision);
    double back = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), back);
    back = dtype == float16 ? halfToFloat(floatToHalf(float(back)))
                            : bfloat16ToFloat(floatToBfloat16(float(back)));
    if (back == value)
      return parse(digits.data(), digits.size());
  }
}

/// As d.ddd, with a point but no zeros at the end.
static std::string positional(const Decimal &decimal) {
  std::string text = decimal.negative ? "-" : "";
  const std::string &digits = decimal.digits;
  int point = decimal.exponent + 1; // Digits before it.
  if (point <= 0)
    return text + "0." +
           (digits == "0" ? "" : std::string(-point, '0') + digits);
  if (point >= int(digits.size()))
    return text + digits + std::string(point - digits.size(), '0') + ".";
  return text + digits.substr(0, point) + "." + digits.substr(point);
}

/// With at most kPrecision digits after the point.
static std::string roundedPositional(double value, DType dtype) {
  Decimal decimal = shortest(value, dtype);
  if (decimal.fraction() <= kPrecision)
    return positional(decimal);
  char text[64];
  auto [end, _] = std::to_chars(text, std::end(text), value,
                                std::chars_format::fixed, kPrecision);
  std::string digits(text, end);
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits;
}

/// The digits after the point that d.ddde±xx needs, at most kPrecision.
static int scientificDigits(double value, DType dtype) {
  int needed = int(shortest(value, dtype).digits.size()) - 1;
  if (needed <= kPrecision)
    return needed;
  std::string text = scientific(value, kPrecision);
  return int(parse(text.data(), text.size()).digits.size()) - 1;
}

//===----------------------------------------------------------------------===//
// Formats of arrays
//===----------------------------------------------------------------------===//

static std::string padded(const std::string &text, size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

namespace {

class FloatFormat {
public:
  FloatFormat(const std::vector<PrintedNumber> &numbers, DType dtype)
      : dtype(dtype) {
    bool hasNaN = false, hasInf = false, hasNegativeInf = false;
    std::vector<double> finite;
    for (const PrintedNumber &number : numbers) {
      hasNaN |= std::isnan(number.real);
      hasInf |= std::isinf(number.real);
      hasNegativeInf |= std::isinf(number.real) && number.real < 0;
      if (std::isfinite(number.real))
        finite.push_back(number.real);
    }
    chooseExponents(finite);
    isScientific ? measureScientific(finite) : measurePositional(finite);
    if (hasNaN || hasInf)
      left = std::max(
          {left, 3 - (right + 1), 3 + int(hasNegativeInf) - (right + 1)});
  }

  std::string operator()(const PrintedNumber &number) const {
    double value = number.real;
    if (!std::isfinite(value))
      return padded(std::isnan(value) ? "nan"
                    : value < 0       ? "-inf"
                                      : "inf",
                    size_t(left + right + 1));
    return isScientific ? formatScientific(value) : formatPositional(value);
  }

private:
  /// Rounded to the dtype, in which NumPy compares.
  double inDType(double value) const {
    if (dtype == float64)
      return value;
    if (dtype == float16)
      return halfToFloat(floatToHalf(float(value)));
    return static_cast<float>(value);
  }

  void chooseExponents(const std::vector<double> &finite) {
    double largest = 0, smallest = INFINITY;
    for (double value : finite)
      if (value != 0) {
        largest = std::max(largest, std::abs(value));
        smallest = std::min(smallest, std::abs(value));
      }
    if (largest == 0)
      return;
    double limit = dtype == float64 ? 1e8 : dtype == float16 ? 1e3 : 1e6;
    isScientific = largest >= limit || smallest < inDType(0.0001) ||
                   inDType(largest / smallest) > 1000;
  }

  void measureScientific(const std::vector<double> &finite) {
    for (double value : finite)
      digits = std::max(digits, scientificDigits(value, dtype));
    for (double value : finite) {
      std::string text = scientific(value, digits);
      exponentSize =
          std::max(exponentSize, int(text.size() - text.find('e')) - 2);
      left = std::max(left, 1 + int(std::signbit(value)));
    }
    right = exponentSize + 2 + digits;
  }

  void measurePositional(const std::vector<double> &finite) {
    for (double value : finite) {
      std::string text = roundedPositional(value, dtype);
      int point = int(text.find('.'));
      left = std::max(left, point);
      right = std::max(right, int(text.size()) - point - 1);
    }
  }

  std::string formatScientific(double value) const {
    std::string text = scientific(value, digits);
    size_t e = text.find('e');
    std::string exponent = text.substr(e + 2), mantissa = text.substr(0, e);
    if (digits == 0)
      mantissa += '.';
    exponent.insert(0, size_t(std::max(exponentSize - int(exponent.size()), 0)),
                    '0');
    int missing = left - int(mantissa.find('.'));
    return std::string(size_t(std::max(missing, 0)), ' ') + mantissa + 'e' +
           text[e + 1] + exponent;
  }

  std::string formatPositional(double value) const {
    std::string text = roundedPositional(value, dtype);
    int point = int(text.find('.'));
    int after = int(text.size()) - point - 1;
    return std::string(size_t(std::max(left - point, 0)), ' ') + text +
           std::string(size_t(std::max(right - after, 0)), ' ');
  }

  DType dtype;
  bool isScientific = false;
  int left = 0, right = 0; // Characters before and after the point.
  int digits = 0, exponentSize = 0;
};

} // namespace

static std::string integerText(const PrintedNumber &number, DType dtype) {
  return dtype == uint64 ? std::to_string(uint64_t(number.integer))
                         : std::to_string(number.integer);
}

NumberFormat eager::makeNumberFormat(const std::vector<PrintedNumber> &numbers,
                                     DType dtype) {
  if (dtype.is_floating_point())
    return FloatFormat(numbers, dtype);
  if (dtype == boolean)
    return [](const PrintedNumber &number) {
      return std::string(number.integer ? " True" : "False");
    };
  size_t width = 0;
  for (const PrintedNumber &number : numbers)
    width = std::max(width, integerText(number, dtype).size());
  return [=](const PrintedNumber &number) {
    return padded(integerText(number, dtype), width);
  };
}

//===----------------------------------------------------------------------===//
// Numbers alone
//===----------------------------------------------------------------------===//

std::string eager::formatNumber(const PrintedNumber &number, DType dtype) {
  if (dtype == boolean)
    return number.integer ? "True" : "False";
  if (!dtype.is_floating_point())
    return integerText(number, dtype);
  double value = number.real, size = std::abs(value);
  if (!std::isfinite(value))
    return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  double limit = dtype == float64 ? 1e16 : dtype == float16 ? 1e3 : 1e6;
  Decimal decimal = shortest(value, dtype);
  if (size == 0 || (size >= 1e-4 && size < limit)) {
    std::string text = positional(decimal);
    return text.back() == '.' ? text + "0" : text;
  }
  return scientific(value, int(decimal.digits.size()) - 1);
}
