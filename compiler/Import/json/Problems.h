//===- Problems.h - All that is wrong with a JSON model ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reader notes what is wrong and goes on, so that a person corrects a file
// once. Problems are noted at values; where these stand in the text is found by
// a second parse, which files that are right do without.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_JSON_PROBLEMS_H
#define TINH_COMPILER_IMPORT_JSON_PROBLEMS_H

#include "compiler/Import/InputOptions.h"
#include "compiler/Import/ShownProblems.h"
#include "compiler/Import/json/JsonValues.h"

namespace tinh::json {

class Problems {
public:
  void add(const Json &at, llvm::StringRef node, const llvm::Twine &what) {
    list.push_back({&at, node.str(), what.str()});
  }
  bool empty() const { return list.empty(); }
  /// Whether there are as many as are shown.
  bool isFull() const { return list.size() >= kShownProblems; }

  /// Reports the first of them as errors of the file `path`, in the order of
  /// its text, of which `root` was parsed, and how many there are beyond.
  void report(llvm::StringRef path, llvm::StringRef text, const Json &root,
              mlir::MLIRContext &context) const;

private:
  struct Problem {
    const Json *at;
    std::string node, message;
  };
  std::vector<Problem> list;
};

/// What is being read: problems are said to be of it.
class Scope {
public:
  explicit Scope(Problems &problems) : problems(&problems) {}
  /// The scope of something within, such as "input \"x\""; of a node, or in
  /// one, if that has a name.
  Scope within(const llvm::Twine &what, llvm::StringRef nodeName = "") const;

  /// Notes what is wrong at a value or, of a member that is missing, at the
  /// object that lacks it. False, for callers to return.
  bool fail(const Json &at, const llvm::Twine &what) const;

  /// Whether hints that take long are in vain.
  bool isFull() const { return problems->isFull(); }

  /// Notes each key of an object that is not one of these.
  bool checkKeys(const Json &object,
                 llvm::ArrayRef<llvm::StringRef> known) const;

private:
  Problems *problems;
  std::string prefix, node;
};

/// A value as text, cut if it is long.
std::string quote(const Json &value);

} // namespace tinh::json

#endif // TINH_COMPILER_IMPORT_JSON_PROBLEMS_H
