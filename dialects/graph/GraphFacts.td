//===- GraphFacts.td - The table of what ops say of themselves -*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For llvm-tblgen -gen-searchable-tables: a row for each op, in the order of the
// fields of OpFacts (OpFacts.h).
//
//===----------------------------------------------------------------------===//

include "dialects/graph/GraphOps.td"
include "llvm/TableGen/SearchableTable.td"

def OpFactsTable : GenericTable {
  let FilterClass = "Graph_Op";
  let CppTypeName = "OpFacts";
  let Fields = ["opName", "fusionRole", "costPerElement", "precisionClass",
                "onnxName", "readsOnce"];
  string TypeOf_fusionRole = "code";
  string TypeOf_costPerElement = "code";
  string TypeOf_precisionClass = "code";
}
