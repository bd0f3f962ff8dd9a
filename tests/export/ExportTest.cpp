//===- ExportTest.cpp - Exported files, names, and what is refused --------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/Export.h"
#include "compiler/Export/onnx/NodeWriter.h"
#include "compiler/Import/Import.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

using namespace mlir;
using namespace tinh;

namespace {

namespace fs = std::filesystem;

class Export : public testing::Test {
protected:
  Export() { context.loadDialect<graph::GraphDialect, func::FuncDialect>(); }
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tinh-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory = pattern;
  }
  void TearDown() override { fs::remove_all(directory); }

  using Exporter = LogicalResult (*)(ModuleOp, StringRef,
                                     const ExportOptions &);

  /// The messages of an export to the folder; "" if it succeeds.
  std::string write(Exporter exporter, const std::string &text,
                    const std::string &name) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    std::string messages;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      messages += diagnostic.str() + "\n";
      return success();
    });
    ExportOptions options;
    options.modelDirectory = directory.string();
    bool succeeded = mlir::succeeded(
        exporter(*module, (directory / name).string(), options));
    EXPECT_EQ(succeeded, messages.empty()) << messages;
    return messages;
  }
  std::string toOnnx(const std::string &text) {
    return write(exportOnnx, text, "model.onnx");
  }
  std::string toJson(const std::string &text) {
    return write(exportJson, text, "model.json");
  }

  std::string read(const std::string &name) {
    std::ostringstream text;
    text << std::ifstream(directory / name, std::ios::binary).rdbuf();
    return text.str();
  }
  ::onnx::ModelProto readOnnx() {
    ::onnx::ModelProto model;
    EXPECT_TRUE(model.ParseFromString(read("model.onnx")));
    return model;
  }
  /// The names of the files in the folder.
  std::vector<std::string> files() {
    std::vector<std::string> names;
    for (const auto &entry : fs::directory_iterator(directory))
      names.push_back(entry.path().filename().string());
    llvm::sort(names);
    return names;
  }

  fs::path directory;
  MLIRContext context;
};

using Names = std::vector<std::string>;

void expectContains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos)
      << "expected: " << part << "\nin: " << text;
}

/// A function of x and z, f32[4], with this body and these results.
std::string function(const std::string &body, const std::string &values,
                     const std::vector<std::string> &names) {
  std::string types, bare;
  for (const std::string &name : names) {
    types += (types.empty() ? "" : ", ") +
             ("tensor<4xf32> {graph.name = \"" + name + "\"}");
    bare += bare.empty() ? "tensor<4xf32>" : ", tensor<4xf32>";
  }
  return R"(func.func @main(%x: tensor<4xf32> {graph.name = "x"},
      %z: tensor<4xf32> {graph.name = "z"}) -> ()" +
         types + ") {\n" + body + "\n  return " + values + " : " + bare + "\n}";
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

TEST_F(Export, OnnxHasEachOpOfTheDialect) {
  // What does not stand for a computation, is only there when a model is
  // trained, or is written by other means.
  const std::set<std::string> internal = {"graph.constant",
                                          "graph.kernel",
                                          "graph.yield",
                                          "graph.dispatch",
                                          "graph.transfer",
                                          "graph.weight",
                                          "graph.if",
                                          "graph.while",
                                          "graph.condition",
                                          "graph.scan",
                                          "graph.set_dimension_size",
                                          "graph.dimension_size",
                                          "graph.custom_gradient",
                                          "graph.conv_weight_gradient",
                                          "graph.max_pool_gradient",
                                          "graph.variable",
                                          "graph.all_reduce",
                                          "graph.reduce_scatter",
                                          "graph.all_gather",
                                          "graph.collective_broadcast",
                                          "graph.stop_gradient"};
  unsigned count = 0;
  for (RegisteredOperationName op :
       context.getRegisteredOperationsByDialect("graph")) {
    if (internal.count(op.getStringRef().str()))
      continue;
    ++count;
    EXPECT_NE(tinh::onnx::findWriter(op.getStringRef()), nullptr)
        << op.getStringRef().str();
  }
  EXPECT_GT(count, 60u);
}

TEST_F(Export, OnnxHasScalesAlongAxes) {
  EXPECT_EQ(toOnnx(R"(
    func.func @main(%x: tensor<1x2x3x3xf32> {graph.name = "x"})
        -> (tensor<1x2x3x3xf32> {graph.name = "y"}) {
      %s = graph.constant dense<[[[0.5]], [[0.25]]]> : tensor<2x1x1xf32>
      %z = graph.constant dense<3> : tensor<ui8>
      %0 = graph.quantize %x scale %s zero_point %z
          : tensor<1x2x3x3xf32>, tensor<2x1x1xf32>, tensor<ui8>
          -> tensor<1x2x3x3xui8>
      %1 = graph.dequantize %0 scale %s zero_point %z
          : tensor<1x2x3x3xui8>, tensor<2x1x1xf32>, tensor<ui8>
          -> tensor<1x2x3x3xf32>
      return %1 : tensor<1x2x3x3xf32>
    })"),
            "");
  ::onnx::ModelProto model = readOnnx();
  ::onnx::NodeProto quantize;
  for (const auto &node : model.graph().node())
    if (node.op_type() == "QuantizeLinear")
      quantize = node;
  ASSERT_EQ(quantize.attribute_size(), 1);
  EXPECT_EQ(quantize.attribute(0).name(), "axis");
  EXPECT_EQ(quantize.attribute(0).i(), 1);
  for (const auto &tensor : model.graph().initializer()) {
    if (tensor.name() == quantize.input(1)) {
      ASSERT_EQ(tensor.dims_size(), 1);
      EXPECT_EQ(tensor.dims(0), 2);
    }
  }
}

TEST_F(Export, RefusesAllThatOnnxCannotExpressAtOnce) {
  std::string message = toOnnx(R"(
    func.func @main(%b: tensor<4xi1> {graph.name = "b"},
                    %x: tensor<1x2x4x4xi32> {graph.name = "x"},
                    %w: tensor<2x2x1x1xi32> {graph.name = "w"})
        -> (tensor<4xi1> {graph.name = "y"},
            tensor<1x2x4x4xi32> {graph.name = "z"}) {
      %0 = graph.add %b, %b : tensor<4xi1>, tensor<4xi1> -> tensor<4xi1> loc("sum")
      %1 = graph.add %0, %b : tensor<4xi1>, tensor<4xi1> -> tensor<4xi1>
      %2 = graph.conv %x, %w strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1]
        groups 1 channels_first
        : tensor<1x2x4x4xi32>, tensor<2x2x1x1xi32> -> tensor<1x2x4x4xi32>
      return %1, %2 : tensor<4xi1>, tensor<1x2x4x4xi32>
    })");
  expectContains(
      message, "the model has 3 ops that ONNX cannot express:\n"
               "  graph.add (ONNX's Add takes numbers, not booleans), 2 "
               "nodes: \"sum\", \"y\"\n"
               "  graph.conv (ONNX has convolutions of floats and of integers "
               "of 8 bits, not of 1x2x4x4xi32), 1 node: \"z\"");
  EXPECT_EQ(files(), Names());
}

static Names opTypes(const ::onnx::ModelProto &model) {
  Names types;
  for (const ::onnx::NodeProto &node : model.graph().node())
    types.push_back(node.op_type());
  return types;
}

TEST_F(Export, BoundsAreClips) {
  std::string text = function(R"(
    %c = graph.constant dense<2.0> : tensor<f32>
    %0 = graph.max %x, %c {bound} : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
    %1 = graph.min %0, %c {bound} : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
    %2 = graph.max %1, %c : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
    %y = graph.min %2, %z {bound} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>)",
                              "%y", {"y"});
  EXPECT_EQ(toOnnx(text), "");
  ::onnx::ModelProto model = readOnnx();
  EXPECT_EQ(opTypes(model), (Names{"Clip", "Clip", "Max", "Min"}));
  EXPECT_EQ(model.graph().node(1).input(1), "");
}

TEST_F(Export, WritesWhatOpsWithGradientsOfTheirOwnCompute) {
  std::string text = function(R"(
    %0 = graph.stop_gradient %x : tensor<4xf32>
    %y = graph.custom_gradient (%0) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %1 = graph.add %a, %z : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
      graph.yield %1 : tensor<4xf32>
    } gradient {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %db: tensor<4xf32>):
      graph.yield %db : tensor<4xf32>
    })",
                              "%y", {"y"});
  EXPECT_EQ(toOnnx(text), "");
  ::onnx::ModelProto model = readOnnx();
  EXPECT_EQ(opTypes(model), (Names{"Identity", "Add", "Identity"}));
  expectContains(toJson(text),
                 "graph.custom_gradient (the format has no gradients of the "
                 "model's own");
}

TEST_F(Export, RefusesLaterPhases) {
  std::string kernel = function(R"(
    %y = graph.kernel (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
      %0 = graph.relu %a : tensor<4xf32>
      graph.yield %0 : tensor<4xf32>
    })",
                                "%y", {"y"});
  for (auto [exporter, name] : {std::pair(&exportOnnx, "model.onnx"),
                                std::pair(&exportJson, "model.json")})
    expectContains(write(exporter, kernel, name),
                   "only phases 'graph' and 'normalised' can be exported), 1 "
                   "node: \"y\"");
  expectContains(toJson("module {}"),
                 "only a module with a function @main of one block, from "
                 "tensors to tensors, can be exported");
  EXPECT_EQ(files(), Names());
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

TEST_F(Export, GivesEachTensorANameOfItsOwn) {
  std::string relus = function(R"(
    %0 = graph.relu %x : tensor<4xf32> loc("act")
    %1 = graph.relu %0 : tensor<4xf32> loc("act")
    %2 = graph.relu %1 : tensor<4xf32> loc("x")
    %3 = graph.relu %2 : tensor<4xf32>
    %4 = graph.relu %3 : tensor<4xf32> loc("last"))",
                               "%4", {"y"});
  EXPECT_EQ(toOnnx(relus), "");
  std::string names;
  ::onnx::ModelProto model = readOnnx();
  for (const ::onnx::NodeProto &node : model.graph().node())
    names += node.name() + "=" + node.output(0) + " ";
  EXPECT_EQ(names, "act=act act_1=act_1 x_1=x_1 relu=relu y=y ");
  // A JSON node keeps the name that it had.
  EXPECT_EQ(toJson(relus), "");
  std::string json = read("model.json");
  expectContains(json, R"({"op":"relu","inputs":["x"],"outputs":["act"]})");
  expectContains(
      json,
      R"({"op":"relu","name":"act","inputs":["act"],"outputs":["act_1"]})");
  expectContains(
      json, R"({"op":"relu","name":"last","inputs":["relu"],"outputs":["y"]})");
}

TEST_F(Export, CopiesValuesThatAreSeveralOutputs) {
  std::string copies = function("%0 = graph.relu %x : tensor<4xf32>",
                                "%x, %z, %0, %0", {"x", "copy", "a", "b"});
  EXPECT_EQ(toOnnx(copies), "");
  std::string nodes;
  ::onnx::ModelProto model = readOnnx();
  for (const ::onnx::NodeProto &node : model.graph().node())
    nodes += node.op_type() + " " + node.input(0) + " " + node.output(0) + ", ";
  EXPECT_EQ(nodes, "Relu x a, Identity z copy, Identity a b, ");
  EXPECT_EQ(toJson(copies), "");
  expectContains(read("model.json"),
                 R"({"op":"reshape","inputs":["a"],"outputs":["b"],)"
                 R"("attributes":{"shape":[4]}})");
}

TEST_F(Export, RefusesNamesThatContradict) {
  std::string relu = "%0 = graph.relu %x : tensor<4xf32>";
  for (Exporter exporter : {exportOnnx, exportJson}) {
    expectContains(write(exporter, function(relu, "%0", {"z"}), "model"),
                   "output \"z\" of @main has the name of another input or "
                   "output; in a file it needs its own");
    expectContains(write(exporter, function(relu, "%0", {""}), "model"),
                   "output 0 of @main has no graph.name in UTF-8");
    expectContains(write(exporter, function(relu, "%0", {"\\FF"}), "model"),
                   "output 0 of @main has no graph.name in UTF-8");
  }
  EXPECT_EQ(files(), Names());
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// x + w for a constant w of 1,024 floats and then b, one float.
std::string addConstants(const std::string &weights) {
  return R"(func.func @main(%x: tensor<1024xf32> {graph.name = "x"})
      -> (tensor<1024xf32> {graph.name = "y"}) {
    %w = graph.constant )" +
         weights + R"( loc("w")
    %b = graph.constant dense<2.5> : tensor<f32> loc("b")
    %0 = graph.add %x, %w : tensor<1024xf32>, tensor<1024xf32> -> tensor<1024xf32>
    %y = graph.add %0, %b : tensor<1024xf32>, tensor<f32> -> tensor<1024xf32>
    return %y : tensor<1024xf32>
  })";
}

TEST_F(Export, CopiesLargeWeightsToAFileBesideTheModel) {
  std::string bytes(4096, '\0');
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(i * 7);
  std::ofstream(directory / "source.bin", std::ios::binary) << "1234" << bytes;
  std::string model = addConstants(
      R"(#graph.external<"source.bin", 4, 4096> : tensor<1024xf32>)");
  EXPECT_EQ(toOnnx(model), "");
  EXPECT_EQ(read("model.onnx.data"), bytes);
  ::onnx::ModelProto proto = readOnnx();
  const auto &tensors = proto.graph().initializer();
  ASSERT_EQ(tensors.size(), 2);
  EXPECT_EQ(tensors[0].data_location(), ::onnx::TensorProto::EXTERNAL);
  EXPECT_EQ(tensors[0].external_data(0).value(), "model.onnx.data");
  EXPECT_EQ(tensors[1].raw_data(), std::string("\0\0\x20\x40", 4));
  EXPECT_EQ(toJson(model), "");
  std::string safetensors = read("model.safetensors");
  EXPECT_EQ(safetensors.substr(safetensors.size() - 4096), bytes);
  EXPECT_EQ((safetensors.size() - 4096) % 8, 0u);
  expectContains(read("model.json"),
                 R"({"name":"w","file":"model.safetensors","tensor":"w"})");
  EXPECT_EQ(files(), (Names{"model.json", "model.onnx", "model.onnx.data",
                            "model.safetensors", "source.bin"}));
}

TEST_F(Export, RepeatsOneElementWithoutAFile) {
  std::string model = addConstants("dense<0.5> : tensor<1024xf32>");
  EXPECT_EQ(toOnnx(model), "");
  EXPECT_EQ(toJson(model), "");
  EXPECT_EQ(files(), (Names{"model.json", "model.onnx"}));
  EXPECT_EQ(readOnnx().graph().node(0).op_type(), "ConstantOfShape");
  expectContains(read("model.json"),
                 R"({"name":"w","dtype":"f32","shape":[1024],"data":0.5})");
}

TEST_F(Export, WritesNothingWithoutItsWeights) {
  std::string model = addConstants(
      R"(#graph.external<"missing.bin", 0, 4096> : tensor<1024xf32>)");
  for (Exporter exporter : {exportOnnx, exportJson})
    expectContains(write(exporter, model, "model"),
                   "missing.bin': No such file or directory");
  EXPECT_EQ(files(), Names());
}

TEST_F(Export, DoesNotOverwriteWeightsThatItReads) {
  std::ofstream(directory / "model.onnx.data") << std::string(4096, 'a');
  std::ofstream(directory / "model.safetensors") << std::string(4096, 'a');
  for (auto [exporter, name, weights] :
       {std::tuple(&exportOnnx, "model.onnx", "model.onnx.data"),
        std::tuple(&exportJson, "model.json", "model.safetensors")})
    expectContains(
        write(exporter,
              addConstants("#graph.external<\"" + std::string(weights) +
                           "\", 0, 4096> : tensor<1024xf32>"),
              name),
        "weights of the model lie in it; choose another name for the output");
  expectContains(write(exportJson,
                       addConstants("dense<0.5> : tensor<1024xf32>"),
                       "model.safetensors"),
                 "its weights' file would have the same name; call it .json");
  EXPECT_EQ(files(), (Names{"model.onnx.data", "model.safetensors"}));
}

TEST_F(Export, WritesSpecialNumbersThatJsonHasNot) {
  EXPECT_EQ(
      toJson(function(
          R"(%c = graph.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, -0.0]> : tensor<4xf32>
    %y = graph.add %x, %c : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>)",
          "%y", {"y"})),
      "");
  expectContains(read("model.json"), R"("data":["inf","-inf","nan",-0.0])");
}

/// All choices are numbers, and what a number is called depends on the op.
TEST_F(Export, NamesChoicesAsTheOpsDefinitionDoes) {
  EXPECT_EQ(toJson(function(
                R"(%i = graph.constant dense<[0, 2]> : tensor<2xi64>
    %u = graph.constant dense<1.5> : tensor<2xf32>
    %y = graph.scatter add %x, %i, %u axis 0 : tensor<4xf32>, tensor<2xi64>, tensor<2xf32>)",
                "%y", {"y"})),
            "");
  expectContains(read("model.json"), R"("kind":"add")");
}

} // namespace
