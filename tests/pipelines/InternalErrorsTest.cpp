//===- InternalErrorsTest.cpp - Tests of the compiler's own failures ------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tests/tools/internal_errors_test.py cannot bring about from outside.
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/InternalErrors.h"

#include "compiler/Pipelines/Diagnostics.h"
#include "compiler/Pipelines/Registration.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <csignal>
#include <thread>

using namespace mlir;

namespace tinh {
namespace {

/// Ends the process with exit code 3 after an internal error, as tools do.
void runAndExit(llvm::function_ref<void()> work) {
  catchCrashes();
  auto crash = runSafely(work);
  llvm::errs() << (crash ? *crash : "all is well") << "\n";
  exitNow(crash ? 3 : 0);
}

TEST(RunSafely, SaysWhatEndedTheWork) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  auto three = testing::ExitedWithCode(3);
  EXPECT_EXIT(runAndExit([] { std::abort(); }), three,
              "the compiler crashed: Aborted");
  EXPECT_EXIT(runAndExit([] { std::raise(SIGSEGV); }), three,
              "the compiler crashed: Segmentation fault");
  EXPECT_EXIT(runAndExit([] { llvm::report_fatal_error("too bad"); }), three,
              "LLVM gave up: too bad");
  EXPECT_EXIT(runAndExit([] {}), testing::ExitedWithCode(0), "all is well");
}

TEST(RunSafely, IsForEachThreadItsOwn) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  auto onAnotherThread = [] {
    std::optional<std::string> inner;
    std::thread([&] { inner = runSafely([] { std::abort(); }); }).join();
    llvm::errs() << "inner: " << *inner << "\n";
  };
  EXPECT_EXIT(runAndExit(onAnotherThread), testing::ExitedWithCode(0),
              "inner: the compiler crashed: Aborted\nall is well");
}

class Watch : public testing::Test {
protected:
  Watch() : context(registry()) {
    context.loadAllAvailableDialects();
    context.printOpOnDiagnostic(false);
  }
  static DialectRegistry registry() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }
  CompileStatus watch(llvm::function_ref<LogicalResult()> compile) {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      messages.push_back(formatDiagnostic(diagnostic));
      return success();
    });
    CompileJob job;
    job.model = "model.onnx";
    return watchCompilation(job, {}, context,
                            [&](const CompileOptions &) { return compile(); });
  }
  LogicalResult error(const Twine &message) {
    return emitError(UnknownLoc::get(&context)) << message;
  }

  MLIRContext context;
  std::vector<std::string> messages;
};

TEST_F(Watch, TellsWhoseErrorItIs) {
  EXPECT_EQ(watch([] { return success(); }), CompileStatus::Succeeded);
  EXPECT_TRUE(messages.empty());
  EXPECT_EQ(watch([&] { return error("the model is wrong"); }),
            CompileStatus::WrongInput);
  EXPECT_EQ(messages, std::vector<std::string>({"error: the model is wrong"}));
}

TEST_F(Watch, WritesNothingWhereNoFolderIsNamed) {
  EXPECT_EQ(watch([&] { return error(kInternalError + "we are wrong"); }),
            CompileStatus::InternalError);
  EXPECT_EQ(messages, std::vector<std::string>(
                          {"internal error: we are wrong",
                           "note: this is a defect of the compiler: please "
                           "report it with the model"}));
}

TEST_F(Watch, MissesAReason) {
  EXPECT_EQ(watch([] { return failure(); }), CompileStatus::InternalError);
  EXPECT_EQ(messages.front(),
            "internal error: compiling failed without a reason");
}

TEST(CompileModel, SaysWhatIsWrongWithTheRequest) {
  CompileRequest request;
  EXPECT_EQ(compileModel(request).status, CompileStatus::WrongInput);
  request.model = testing::TempDir() + "no-such-model.onnx";
  request.output = testing::TempDir() + "no-such-model.so";
  CompileResult result = compileModel(request);
  EXPECT_EQ(result.status, CompileStatus::WrongInput);
  EXPECT_FALSE(result.succeeded());
  ASSERT_EQ(result.messages.size(), 1u);
}

} // namespace
} // namespace tinh
