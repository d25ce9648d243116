// SPDX-License-Identifier: MIT
// emit_sink_nans: where the calls of pw.m.nan.f32 are after it.
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>

#include "check.h"

#include "emit/emit.h"

#define DECLARATIONS                                                                               \
    "declare float @pw.m.nan.f32(float)\ndeclare float @llvm.fma.f32(float, float, float)\n"

// Text of the module after the pass; the caller disposes of it.
static char *
after(LLVMContextRef ctx, const char *ir)
{
    char *error = NULL, text[4096];
    LLVMModuleRef m = NULL;
    int n = snprintf(text, sizeof text, DECLARATIONS "%s", ir);
    LLVMMemoryBufferRef buf = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, (size_t)n, "test");
    if (LLVMParseIRInContext(ctx, buf, &m, &error)) {
        ok(0, "%s", error);
        return error;
    }
    emit_sink_nans(m);
    ok(!LLVMVerifyModule(m, LLVMReturnStatusAction, &error), "%s", error);
    LLVMDisposeMessage(error);
    char *out = LLVMPrintModuleToString(m);
    LLVMDisposeModule(m);
    return out;
}

static int
count(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

static void
check_ir(const char *ir, int calls, const char *line)
{
    LLVMContextRef ctx = LLVMContextCreate();
    char *out = after(ctx, ir);
    CHECK_INT(count(out, "call float @pw.m.nan.f32"), calls);
    ok(!line || strstr(out, line), "\"%s\" is missing in\n%s", line, out);
    LLVMDisposeMessage(out);
    LLVMContextDispose(ctx);
}

static void
chain(void)
{
    check_ir("define void @f(float %a, ptr %p) {\n"
             "  %x = fadd float %a, %a\n  %y = call float @pw.m.nan.f32(float %x)\n"
             "  %z = fmul float %y, %a\n  %w = call float @pw.m.nan.f32(float %z)\n"
             "  store float %w, ptr %p\n  ret void\n}\n",
             1, "%z = fmul float %x, %a");
}

// The accumulator lives in an i32 register.
static void
loop(void)
{
    check_ir(
        "define void @f(float %a, ptr %p, i32 %n) {\n"
        "entry:\n  br label %loop\n"
        "loop:\n  %i = phi i32 [0, %entry], [%j, %loop]\n  %s = phi i32 [0, %entry], [%t, %loop]\n"
        "  %f = bitcast i32 %s to float\n"
        "  %g = call float @llvm.fma.f32(float %a, float %a, float %f)\n"
        "  %h = call float @pw.m.nan.f32(float %g)\n  %t = bitcast float %h to i32\n"
        "  %j = add i32 %i, 1\n  %c = icmp slt i32 %j, %n\n  br i1 %c, label %loop, label %out\n"
        "out:\n  store i32 %t, ptr %p\n  ret void\n}\n",
        1, "store i32 %2, ptr %p");
}

// Merged with an integer, the register's bits may be no float: the arithmetic's NaN is fixed before
// the merge.
static void
mixed(void)
{
    check_ir("define i32 @f(float %a, i32 %k, i1 %c) {\n"
             "entry:\n  br i1 %c, label %then, label %out\n"
             "then:\n  %x = fadd float %a, %a\n  %y = call float @pw.m.nan.f32(float %x)\n"
             "  %z = bitcast float %y to i32\n  br label %out\n"
             "out:\n  %r = phi i32 [%k, %entry], [%z, %then]\n  ret i32 %r\n}\n",
             1, "[ %k, %entry ], [ %2, %then ]");
    check_ir(
        "define i32 @f(float %a, i1 %c) {\n"
        "  %x = fadd float %a, %a\n  %y = call float @pw.m.nan.f32(float %x)\n"
        "  %z = bitcast float %y to i32\n  %r = select i1 %c, i32 %z, i32 -1\n  ret i32 %r\n}\n",
        1, "select i1 %c, i32 %3, i32 -1");
}

static void
loaded(void)
{
    check_ir("define float @f(ptr %p, ptr %q) {\n"
             "  %x = load float, ptr %p\n  %y = call float @pw.m.nan.f32(float %x)\n"
             "  store float %x, ptr %q\n  ret float %y\n}\n",
             1, "store float %x, ptr %q");
}

static void
doubled(void)
{
    check_ir(
        "define float @f(float %a) {\n  %x = fadd float %a, %a\n"
        "  %y = call float @pw.m.nan.f32(float %x)\n  %z = call float @pw.m.nan.f32(float %y)\n"
        "  %c = fcmp uno float %z, %z\n  %r = select i1 %c, float %z, float 1.0\n  ret float "
        "%r\n}\n",
        1, NULL);
}

CHECK_MAIN(T(chain), T(loop), T(mixed), T(loaded), T(doubled))
