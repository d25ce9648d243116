// SPDX-License-Identifier: MIT
// Warp mode against thread mode: each kernel, written as SIMT IR by hand, runs in both (in processes of their own, since the
// mode is fixed for a process), and all memory is compared. Also which kernels stay in thread mode, and why.
#include "check.h"

#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/cpu/cpu.h"

enum { WORDS = 1 << 16 };

struct result {
    int error;
    uint32_t warp; // the kernel was vectorised
    uint32_t word[WORDS];
};

struct test {
    const char *name, *text;
    uint32_t grid, block[3];
    bool stays; // in thread mode
};

static LLVMModuleRef
emit(void *user, LLVMContextRef ctx, const struct emit_target *t, int *error)
{
    (void)t, (void)error;
    const char *text = user;
    LLVMModuleRef m = NULL;
    char *why = NULL;
    LLVMMemoryBufferRef b = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "test");
    if (LLVMParseIRInContext(ctx, b, &m, &why)) {
        printf("test's IR: %s\n", why);
        LLVMDisposeMessage(why);
        return NULL;
    }
    return m;
}

static void
run_here(const struct test *t, struct result *r)
{
    const struct backend *be = &backend_cpu;
    const char *why = "";
    if (be->init(&why) != 1)
        return;
    struct backend_scope *scope = be->scope_new(be->device(0));
    struct backend_queue *q = be->queue_new(scope, 0);
    struct backend_kernel *k = NULL;
    struct compile_request c = {.kernel = "k",
                                .key = hash128(t->text, strlen(t->text)),
                                .optimize = 2,
                                .hint = {.block = {t->block[0], t->block[1], t->block[2]}},
                                .emit = emit,
                                .user = (void *)t->text,
                                .dump_name = t->name};
    if ((r->error = be->compile(scope, &c, &k)))
        return;
    r->warp = k->facts.lanes != 0;
    struct command *l = command_new(CMD_LAUNCH, sizeof(void *));
    void *p = r->word;
    l->launch.kernel = k;
    l->launch.name = t->name;
    l->launch.grid[0] = t->grid;
    l->launch.grid[1] = l->launch.grid[2] = 1;
    memcpy(l->launch.block, t->block, sizeof t->block);
    memcpy(l->launch.params, &p, sizeof p);
    be->submit(q, l);
    struct signal *s = signal_new();
    struct command *end = command_new(CMD_SIGNAL, 0);
    end->signal = signal_ref(s);
    be->submit(q, end);
    r->error = signal_wait(s, false);
    signal_unref(s);
}

static struct result *
run_in(const struct test *t, const char *mode)
{
    struct result *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (uint32_t i = 0; i < WORDS; i++)
        r->word[i] = i * 2654435761u >> 7;
    r->error = -1;
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        setenv("POLYWARP_CPU_MODE", mode, 1);
        setenv("POLYWARP_CACHE", "off", 1);
        run_here(t, r);
        fflush(NULL);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK_INT(status, 0);
    return r;
}

static void
compare(const struct test *t)
{
    struct result *a = run_in(t, "thread"), *b = run_in(t, "warp");
    unsigned wrong = 0;
    for (uint32_t i = 0; i < WORDS; i++)
        if (a->word[i] != b->word[i] && wrong++ < 4)
            printf("%s: word %u: thread 0x%08x, warp 0x%08x\n", t->name, i, a->word[i], b->word[i]);
    CHECK_INT(a->error, 0);
    CHECK_INT(b->error, 0);
    CHECK_INT(a->warp, 0);
    CHECK_INT(b->warp, !t->stays);
    CHECK_INT(wrong, 0);
    munmap(a, sizeof *a);
    munmap(b, sizeof *b);
}

#define HEAD                                                                                                          \
    "declare i32 @pw.sreg.tid.x(ptr)\ndeclare i32 @pw.sreg.tid.y(ptr)\ndeclare i32 @pw.sreg.tid.z(ptr)\n"             \
    "declare i32 @pw.sreg.ntid.x(ptr)\ndeclare i32 @pw.sreg.ntid.y(ptr)\ndeclare i32 @pw.sreg.ctaid.x(ptr)\n"         \
    "declare i32 @pw.sreg.laneid(ptr)\ndeclare void @pw.barrier.sync(ptr, i32, i32)\n"                                \
    "declare i32 @pw.barrier.red.popc(ptr, i32, i32, i32)\ndeclare ptr @pw.shared.ptr(ptr, i32)\n"                    \
    "declare i64 @pw.shfl.down(ptr, i32, i32, i32, i32)\ndeclare i64 @pw.shfl.up(ptr, i32, i32, i32, i32)\n"          \
    "declare i64 @pw.shfl.bfly(ptr, i32, i32, i32, i32)\ndeclare i64 @pw.shfl.idx(ptr, i32, i32, i32, i32)\n"         \
    "declare i32 @pw.vote.ballot(ptr, i32, i32)\ndeclare i32 @pw.vote.any(ptr, i32, i32)\n"                           \
    "declare i32 @pw.vote.all(ptr, i32, i32)\ndeclare i32 @pw.match.any.b32(ptr, i32, i32)\n"                         \
    "declare i32 @pw.redux.add(ptr, i32, i32)\ndeclare i32 @pw.redux.umin(ptr, i32, i32)\n"                           \
    "declare float @pw.redux.fmax(ptr, float, i32)\ndeclare i64 @pw.elect(ptr, i32)\n"                                \
    "declare i32 @pw.activemask(ptr, i32)\ndeclare void @pw.warp.sync(ptr, i32)\ndeclare void @pw.exit(ptr)\n"        \
    "declare i32 @pw.atom.add.i32.gpu(ptr, ptr, i32)\ndeclare i32 @pw.atom.umax.i32.gpu(ptr, ptr, i32)\n"             \
    "declare i32 @pw.atom.cas.i32.gpu(ptr, ptr, i32, i32)\ndeclare i32 @pw.atom.xchg.i32.gpu(ptr, ptr, i32)\n"        \
    "declare void @pw.spin(ptr)\ndeclare float @pw.m.sin.approx.f32(float)\n"                                         \
    "declare { i32, i1 } @llvm.uadd.with.overflow.i32(i32, i32)\ndeclare i32 @llvm.ctlz.i32(i32, i1)\n"               \
    "declare i32 @llvm.fshl.i32(i32, i32, i32)\ndeclare float @llvm.fma.f32(float, float, float)\n"                   \
    "declare double @pw.m.add.rz.f64(double, double)\n"                                                               \
    "@buf = internal addrspace(3) global [8192 x i8] undef, align 16\n"
// %tid, %i: thread in block and grid (of blocks of 128), %out the memory, %mine = &out[i], %x = out[i + 4096]
#define KERNEL                                                                                                        \
    "define void @k(ptr %pw, ptr %params) {\nentry:\n"                                                                \
    "  %tid = call i32 @pw.sreg.tid.x(ptr %pw)\n  %cta = call i32 @pw.sreg.ctaid.x(ptr %pw)\n"                        \
    "  %base = shl i32 %cta, 7\n  %i = add i32 %base, %tid\n  %out = load ptr, ptr %params\n"                         \
    "  %i64 = sext i32 %i to i64\n  %mine = getelementptr i32, ptr %out, i64 %i64\n"                                  \
    "  %from = getelementptr i32, ptr %mine, i64 4096\n  %x = load i32, ptr %from\n"
#define END "  ret void\n}\n"

static const char branches[] =
    HEAD KERNEL "  %a = and i32 %x, 1\n  %c = icmp eq i32 %a, 0\n  br i1 %c, label %t, label %f\n"
                "t:\n  %b = and i32 %x, 6\n  %d = icmp ugt i32 %b, 2\n  br i1 %d, label %tt, label %j\n"
                "tt:\n  %p = mul i32 %x, 7\n  store i32 %p, ptr %from\n  br label %j\n"
                "f:\n  %q = xor i32 %x, 12345\n  %e = icmp ult i32 %tid, 64\n  br i1 %e, label %fa, label %j\n"
                "fa:\n  %g = udiv i32 %q, %a\n  br label %j\n"
                "j:\n  %r = phi i32 [ 1, %t ], [ %p, %tt ], [ %q, %f ], [ %g, %fa ]\n  store i32 %r, ptr %mine\n" END;

// Trip counts and exits that differ between lanes, in two nested loops; what each exit carries differs too.
static const char loops[] =
    HEAD KERNEL "  %n = and i32 %x, 15\n  br label %o\n"
                "o:\n  %k = phi i32 [ 0, %entry ], [ %k1, %on ]\n  %s = phi i32 [ %x, %entry ], [ %s4, %on ]\n"
                "  br label %in\n"
                "in:\n  %l = phi i32 [ 0, %o ], [ %l1, %next ]\n  %s1 = phi i32 [ %s, %o ], [ %s3, %next ]\n"
                "  %s2 = mul i32 %s1, 1664525\n  %h = lshr i32 %s2, 28\n  %brk = icmp eq i32 %h, 3\n"
                "  br i1 %brk, label %broke, label %mid\n"
                "mid:\n  %odd = trunc i32 %h to i1\n  br i1 %odd, label %extra, label %next\n"
                "extra:\n  %s2b = add i32 %s2, %l\n  br label %next\n"
                "next:\n  %s3p = phi i32 [ %s2, %mid ], [ %s2b, %extra ]\n  %s3 = add i32 %s3p, 1013904223\n"
                "  %l1 = add i32 %l, 1\n  %lc = icmp ult i32 %l1, %n\n  br i1 %lc, label %in, label %done\n"
                "broke:\n  %b1 = add i32 %l, %s2\n  br label %on\n"
                "done:\n  %d1 = sub i32 %s3, %l1\n  br label %on\n"
                "on:\n  %s4 = phi i32 [ %b1, %broke ], [ %d1, %done ]\n  %k1 = add i32 %k, 1\n"
                "  %kc = icmp ult i32 %k1, 5\n  br i1 %kc, label %o, label %ret\n"
                "ret:\n  store i32 %s4, ptr %mine\n" END;

// Odd lanes return before the barrier; the others read what their neighbour wrote.
static const char early_return[] =
    HEAD KERNEL "  %b = ptrtoint ptr addrspace(3) @buf to i32\n  %o = shl i32 %tid, 2\n  %at = add i32 %b, %o\n"
                "  %s = call ptr @pw.shared.ptr(ptr %pw, i32 %at)\n  store i32 %x, ptr %s\n"
                "  %odd = trunc i32 %tid to i1\n  br i1 %odd, label %ret, label %go\n"
                "go:\n  call void @pw.barrier.sync(ptr %pw, i32 0, i32 0)\n  %c = icmp ugt i32 %tid, 5\n"
                "  %t = sub i32 %at, 12\n  %u = select i1 %c, i32 %t, i32 %at\n"
                "  %v = call ptr @pw.shared.ptr(ptr %pw, i32 %u)\n  %y = load i32, ptr %v\n  store i32 %y, ptr %mine\n"
                "  %red = call i32 @pw.barrier.red.popc(ptr %pw, i32 1, i32 0, i32 %tid)\n"
                "  %z = getelementptr i32, ptr %mine, i64 2048\n  store i32 %red, ptr %z\n  br label %ret\n"
                "ret:\n" END;

static const char rows[] =
    HEAD "define void @k(ptr %pw, ptr %params) {\n  %out = load ptr, ptr %params\n"
         "  %x = call i32 @pw.sreg.tid.x(ptr %pw)\n  %y = call i32 @pw.sreg.tid.y(ptr %pw)\n"
         "  %z = call i32 @pw.sreg.tid.z(ptr %pw)\n  %nx = call i32 @pw.sreg.ntid.x(ptr %pw)\n"
         "  %ny = call i32 @pw.sreg.ntid.y(ptr %pw)\n  %a = mul i32 %z, %ny\n  %b = add i32 %a, %y\n"
         "  %c = mul i32 %b, %nx\n  %d = add i32 %c, %x\n  %e = zext i32 %d to i64\n"
         "  %p = getelementptr i32, ptr %out, i64 %e\n  %v = load i32, ptr %p\n  %l = call i32 @pw.sreg.laneid(ptr %pw)\n"
         "  %w = add i32 %v, %l\n  %w2 = mul i32 %w, %y\n  store i32 %w2, ptr %p\n" END;

static const char shuffles[] =
    HEAD KERNEL "  %l = call i32 @pw.sreg.laneid(ptr %pw)\n"
                "  %a = call i64 @pw.shfl.down(ptr %pw, i32 %x, i32 5, i32 31, i32 -1)\n"
                "  %b = call i64 @pw.shfl.up(ptr %pw, i32 %x, i32 3, i32 0, i32 -1)\n"
                "  %c = call i64 @pw.shfl.bfly(ptr %pw, i32 %x, i32 9, i32 31, i32 -1)\n"
                "  %r = lshr i32 %x, 4\n  %d = call i64 @pw.shfl.idx(ptr %pw, i32 %x, i32 %r, i32 31, i32 -1)\n"
                "  %half = call i64 @pw.shfl.idx(ptr %pw, i32 %x, i32 %r, i32 4127, i32 -1)\n"
                "  %up = icmp ugt i32 %l, 15\n  %m = select i1 %up, i32 -65536, i32 65535\n"
                "  %e = call i64 @pw.shfl.down(ptr %pw, i32 %x, i32 4, i32 4127, i32 %m)\n"
                "  %s1 = add i64 %a, %b\n  %s2 = mul i64 %s1, 3\n  %s3 = add i64 %s2, %c\n  %s4 = mul i64 %s3, 5\n"
                "  %s5 = add i64 %s4, %d\n  %s6 = mul i64 %s5, 7\n  %s7 = add i64 %s6, %half\n  %s8 = add i64 %s7, %e\n"
                "  %lo = trunc i64 %s8 to i32\n  %h = lshr i64 %s8, 32\n  %hi = trunc i64 %h to i32\n"
                "  %both = xor i32 %lo, %hi\n  store i32 %both, ptr %mine\n" END;

static const char votes[] =
    HEAD KERNEL "  %p = and i32 %x, 3\n  %q = icmp eq i32 %p, 0\n  %qi = zext i1 %q to i32\n"
                "  %a = call i32 @pw.vote.ballot(ptr %pw, i32 %qi, i32 -1)\n"
                "  %b = call i32 @pw.vote.any(ptr %pw, i32 %qi, i32 -1)\n"
                "  %c = call i32 @pw.vote.all(ptr %pw, i32 %x, i32 -1)\n"
                "  %d = call i32 @pw.match.any.b32(ptr %pw, i32 %p, i32 -1)\n"
                "  %e = call i32 @pw.redux.add(ptr %pw, i32 %x, i32 -1)\n"
                "  %f = call i32 @pw.redux.umin(ptr %pw, i32 %x, i32 -1)\n"
                "  %g = uitofp i32 %x to float\n  %h = call float @pw.redux.fmax(ptr %pw, float %g, i32 -1)\n"
                "  %hb = bitcast float %h to i32\n  %el = call i64 @pw.elect(ptr %pw, i32 -1)\n"
                "  %e0 = trunc i64 %el to i32\n  %eh = lshr i64 %el, 32\n  %e1 = trunc i64 %eh to i32\n"
                "  %s0 = xor i32 %a, %b\n  %s1 = mul i32 %s0, 3\n  %s2 = add i32 %s1, %c\n  %s3 = xor i32 %s2, %d\n"
                "  %s4 = mul i32 %s3, 5\n  %s5 = add i32 %s4, %e\n  %s6 = xor i32 %s5, %f\n  %s7 = add i32 %s6, %hb\n"
                "  %s8 = mul i32 %s7, 9\n  %s9 = add i32 %s8, %e0\n  %s10 = add i32 %s9, %e1\n"
                "  store i32 %s10, ptr %mine\n  br i1 %q, label %act, label %ret\n"
                "act:\n  %am = call i32 @pw.activemask(ptr %pw, i32 1)\n  store i32 %am, ptr %mine\n  br label %ret\n"
                "ret:\n" END;

static const char atomics[] =
    HEAD KERNEL "  %b = ptrtoint ptr addrspace(3) @buf to i32\n  %o = shl i32 %tid, 2\n  %at = add i32 %b, %o\n"
                "  %s = call ptr @pw.shared.ptr(ptr %pw, i32 %at)\n  store i32 0, ptr %s\n"
                "  call void @pw.barrier.sync(ptr %pw, i32 0, i32 0)\n  %bin = and i32 %x, 60\n  %bo = add i32 %b, %bin\n"
                "  %bp = call ptr @pw.shared.ptr(ptr %pw, i32 %bo)\n"
                "  %u = call i32 @pw.atom.add.i32.gpu(ptr %pw, ptr %bp, i32 %tid)\n"
                "  %total = getelementptr i32, ptr %out, i64 9000\n"
                "  %u2 = call i32 @pw.atom.add.i32.gpu(ptr %pw, ptr %total, i32 %x)\n"
                "  %most = getelementptr i32, ptr %out, i64 9001\n"
                "  %u3 = call i32 @pw.atom.umax.i32.gpu(ptr %pw, ptr %most, i32 %x)\n"
                "  call void @pw.barrier.sync(ptr %pw, i32 0, i32 0)\n  %v = load i32, ptr %s\n  store i32 %v, ptr %mine\n" END;

// A float-like maximum by compare-and-swap: retried, not waited for.
static const char retry[] =
    HEAD KERNEL "  %p = getelementptr i32, ptr %out, i64 9000\n  %v0 = load i32, ptr %p\n  br label %l\n"
                "l:\n  %v = phi i32 [ %v0, %entry ], [ %o, %again ]\n  %n = add i32 %v, %x\n"
                "  %o = call i32 @pw.atom.cas.i32.gpu(ptr %pw, ptr %p, i32 %v, i32 %n)\n  %ok = icmp eq i32 %o, %v\n"
                "  br i1 %ok, label %ret, label %again\nagain:\n  call void @pw.spin(ptr %pw)\n  br label %l\nret:\n" END;

static const char lock[] =
    HEAD KERNEL "  %p = getelementptr i32, ptr %out, i64 9000\n  %c = getelementptr i32, ptr %out, i64 9001\n  br label %l\n"
                "l:\n  %o = call i32 @pw.atom.cas.i32.gpu(ptr %pw, ptr %p, i32 VALUE, i32 1)\n  %ok = icmp eq i32 %o, VALUE\n"
                "  br i1 %ok, label %go, label %again\nagain:\n  call void @pw.spin(ptr %pw)\n  br label %l\n"
                "go:\n  %v = load i32, ptr %c\n  %w = add i32 %v, %x\n  store i32 %w, ptr %c\n"
                "  %u = call i32 @pw.atom.xchg.i32.gpu(ptr %pw, ptr %p, i32 VALUE)\n" END;

static const char arms_meet[] =
    HEAD KERNEL "  %odd = trunc i32 %tid to i1\n  br i1 %odd, label %a, label %b\n"
                "a:\n  store i32 %x, ptr %mine\n  call void @pw.warp.sync(ptr %pw, i32 -1)\n  br label %ret\n"
                "b:\n  call void @pw.warp.sync(ptr %pw, i32 -1)\n  %n = getelementptr i32, ptr %mine, i64 1\n"
                "  %v = load i32, ptr %n\n  %p = getelementptr i32, ptr %mine, i64 2048\n  store i32 %v, ptr %p\n"
                "  br label %ret\nret:\n" END;

static const char local_arrays[] =
    HEAD KERNEL "  %a = alloca [16 x i32], align 16\n  br label %fill\n"
                "fill:\n  %k = phi i32 [ 0, %entry ], [ %k1, %fill ]\n  %p = getelementptr i32, ptr %a, i32 %k\n"
                "  %v = mul i32 %k, %x\n  store i32 %v, ptr %p\n  %k1 = add i32 %k, 1\n  %c = icmp ult i32 %k1, 16\n"
                "  br i1 %c, label %fill, label %use\n"
                "use:\n  %j = and i32 %x, 15\n  %q = getelementptr i32, ptr %a, i32 %j\n  %r = load i32, ptr %q\n"
                "  store i32 %r, ptr %mine\n" END;

static const char wide[] =
    HEAD KERNEL "  %a = zext i32 %x to i128\n  %b = mul i128 %a, 170141183460469231731687\n  %c = lshr i128 %b, 61\n"
                "  %d = trunc i128 %c to i32\n  %e = call { i32, i1 } @llvm.uadd.with.overflow.i32(i32 %d, i32 %x)\n"
                "  %f = extractvalue { i32, i1 } %e, 0\n  %g = extractvalue { i32, i1 } %e, 1\n"
                "  %h = select i1 %g, i32 %f, i32 %d\n  %k = call i32 @llvm.ctlz.i32(i32 %x, i1 false)\n"
                "  %l = call i32 @llvm.fshl.i32(i32 %h, i32 %x, i32 %k)\n  %m = udiv i32 %l, 7\n  %n = or i32 %k, 1\n"
                "  %o = srem i32 %m, %n\n  %p = add i32 %o, %l\n  store i32 %p, ptr %mine\n" END;

static const char floats[] =
    HEAD KERNEL "  %f = uitofp i32 %x to float\n  %g = fmul float %f, 0x3F50624DE0000000\n"
                "  %s = call float @pw.m.sin.approx.f32(float %g)\n  %h = call float @llvm.fma.f32(float %s, float %g, float %f)\n"
                "  %d = fpext float %h to double\n  %e = call double @pw.m.add.rz.f64(double %d, double 0x3FB999999999999A)\n"
                "  %t = fptrunc double %e to half\n  %w = bitcast half %t to i16\n  %z = zext i16 %w to i32\n"
                "  %u = bitcast float %h to i32\n  %r = xor i32 %u, %z\n  store i32 %r, ptr %mine\n" END;

// Neighbours, reversed neighbours, strides, bytes, one place for all.
static const char shapes[] =
    HEAD KERNEL "  %rev = sub i64 9000, %i64\n  %rp = getelementptr i32, ptr %out, i64 %rev\n  %r = load i32, ptr %rp\n"
                "  %i3 = mul i64 %i64, 3\n  %sp = getelementptr i32, ptr %out, i64 %i3\n  %sq = getelementptr i32, ptr %sp, i64 20000\n"
                "  %s = load i32, ptr %sq\n  %bp = getelementptr i8, ptr %from, i64 1\n  %bq = getelementptr i8, ptr %bp, i64 %i64\n"
                "  %b = load i8, ptr %bq\n  %bz = zext i8 %b to i32\n  %hp = getelementptr i16, ptr %out, i64 %i64\n"
                "  %h = load i16, ptr %hp\n  %hz = sext i16 %h to i32\n  %a = add i32 %r, %s\n  %c = xor i32 %a, %bz\n"
                "  %d = add i32 %c, %hz\n  %wp = getelementptr i32, ptr %out, i64 40000\n  %wq = getelementptr i32, ptr %wp, i64 %i3\n"
                "  store i32 %d, ptr %wq\n  %one = getelementptr i32, ptr %out, i64 60000\n  store i32 77, ptr %one\n"
                "  %vp = getelementptr i8, ptr %out, i64 250000\n  %vq = getelementptr i8, ptr %vp, i64 %i64\n"
                "  %v = trunc i32 %d to i8\n  store i8 %v, ptr %vq\n" END;

static const char exits[] =
    HEAD KERNEL "  %c = icmp ult i32 %x, 9000000\n  br i1 %c, label %e, label %go\ne:\n  store i32 1, ptr %mine\n"
                "  call void @pw.exit(ptr %pw)\n  unreachable\ngo:\n  call void @pw.barrier.sync(ptr %pw, i32 0, i32 0)\n"
                "  store i32 2, ptr %mine\n" END;

static const char cases[] =
    HEAD KERNEL "  %a = and i32 %x, 7\n  switch i32 %a, label %d [ i32 0, label %c0\n i32 1, label %c1\n i32 2, label %c0\n"
                "  i32 5, label %c2 ]\nc0:\n  br label %j\nc1:\n  %y = add i32 %x, 5\n  br label %c2\n"
                "c2:\n  %z = phi i32 [ %x, %entry ], [ %y, %c1 ]\n  %z2 = mul i32 %z, 3\n  br label %j\n"
                "d:\n  store i32 9, ptr %from\n  br label %j\n"
                "j:\n  %r = phi i32 [ 4, %c0 ], [ %z2, %c2 ], [ %a, %d ]\n  store i32 %r, ptr %mine\n" END;

static char lock_text[sizeof lock + 64];

static void
make_lock(void)
{
    // The lock's word begins with what the memory holds there.
    char value[16], *out = lock_text;
    snprintf(value, sizeof value, "%u", 9000u * 2654435761u >> 7);
    for (const char *p = lock; *p;) {
        bool is = !strncmp(p, "VALUE", 5);
        out += is ? sprintf(out, "%s", value) : (*out = *p, 1);
        p += is ? 5 : 1;
    }
    *out = 0;
}

static void
both_modes(void)
{
    make_lock();
    static const struct test tests[] = {
        {"branches", branches, 5, {128, 1, 1}, false},
        {"branches in part of a warp", branches, 3, {77, 1, 1}, false},
        {"loops", loops, 5, {128, 1, 1}, false},
        {"loops in part of a warp", loops, 2, {7, 1, 1}, false},
        {"early return", early_return, 4, {128, 1, 1}, false},
        {"early return in part of a warp", early_return, 4, {45, 1, 1}, false},
        {"rows", rows, 1, {5, 3, 9}, false},
        {"rows of 16", rows, 1, {16, 16, 1}, false},
        {"long rows", rows, 1, {64, 4, 2}, false},
        {"shuffles", shuffles, 3, {128, 1, 1}, false},
        {"votes", votes, 3, {128, 1, 1}, false},
        {"atomics", atomics, 3, {128, 1, 1}, false},
        {"atomics in part of a warp", atomics, 3, {99, 1, 1}, false},
        {"retry", retry, 4, {128, 1, 1}, false},
        {"lock", lock_text, 2, {64, 1, 1}, true},
        {"arms meet", arms_meet, 2, {64, 1, 1}, true},
        {"local arrays", local_arrays, 3, {100, 1, 1}, false},
        {"wide", wide, 3, {128, 1, 1}, false},
        {"floats", floats, 3, {128, 1, 1}, false},
        {"shapes", shapes, 4, {128, 1, 1}, false},
        {"shapes in part of a warp", shapes, 4, {67, 1, 1}, false},
        {"exits", exits, 4, {128, 1, 1}, false},
        {"cases", cases, 4, {120, 1, 1}, false},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        check_where_ = tests[i].name;
        compare(&tests[i]);
    }
}

CHECK_MAIN(T(both_modes))
