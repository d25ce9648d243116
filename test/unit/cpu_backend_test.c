// SPDX-License-Identifier: MIT
// The CPU backend through its table, with kernels written as SIMT IR by hand.
#include "check.h"

#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/backend.h"

static const struct backend *const be = &backend_cpu;
static struct backend_device *dev;
static char cache_path[64];

// ---- harness
// ----------------------------------------------------------------------------------------------------
struct source {
    const char *text, *variable;
    void *address;
    int emitted;
};

static LLVMModuleRef
emit(void *user, LLVMContextRef ctx, const struct emit_target *t, int *error)
{
    (void)t, (void)error;
    struct source *s = user;
    LLVMModuleRef m = NULL;
    char *why = NULL;
    s->emitted++;
    LLVMMemoryBufferRef b =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(s->text, strlen(s->text), "test");
    if (LLVMParseIRInContext(ctx, b, &m, &why)) {
        printf("test's IR: %s\n", why);
        LLVMDisposeMessage(why);
        return NULL;
    }
    return m;
}

static uint64_t
resolve(void *user, const char *name)
{
    const struct source *s = user;
    return s->variable && !strcmp(name, s->variable) ? (uint64_t)(uintptr_t)s->address : 0;
}

static int
compile_source(struct backend_scope *scope, struct source *s, struct backend_kernel **k)
{
    struct compile_request r = {.kernel = "k",
                                .key = hash128(s->text, strlen(s->text)),
                                .optimize = 2,
                                .emit = emit,
                                .resolve = resolve,
                                .user = s,
                                .dump_name = "k"};
    return be->compile(scope, &r, k);
}

static struct backend_kernel *
compile(struct backend_scope *scope, const char *text)
{
    struct source s = {.text = text};
    struct backend_kernel *k = NULL;
    CHECK_INT(compile_source(scope, &s, &k), 0);
    return k;
}

struct shape {
    uint32_t blocks, threads, shared;
    bool cooperative;
};

static void
submit(struct backend_queue *q, struct backend_kernel *k, struct shape shape, const void *params,
       size_t n)
{
    struct command *c = command_new(CMD_LAUNCH, n);
    c->launch.kernel = k;
    c->launch.name = "k";
    for (int i = 0; i < 3; i++)
        c->launch.grid[i] = c->launch.block[i] = 1;
    c->launch.grid[0] = shape.blocks;
    c->launch.block[0] = shape.threads;
    c->launch.dynamic_shared = shape.shared;
    c->launch.cooperative = shape.cooperative;
    memcpy(c->launch.params, params, n);
    be->submit(q, c);
}

static int
wait_queue(struct backend_queue *q)
{
    struct signal *s = signal_new();
    struct command *c = command_new(CMD_SIGNAL, 0);
    c->signal = signal_ref(s);
    be->submit(q, c);
    int error = signal_wait(s, false);
    signal_unref(s);
    return error;
}

// Compiles and runs a kernel whose one parameter is a pointer to memory; returns the error.
static int
run(const char *text, struct shape shape, void *memory)
{
    struct backend_scope *scope = be->scope_new(dev);
    struct backend_queue *q = be->queue_new(scope, 0);
    struct backend_kernel *k = compile(scope, text);
    int error = -1;
    if (k) {
        submit(q, k, shape, &memory, sizeof memory);
        error = wait_queue(q);
        CHECK_INT(be->scope_error(scope), error);
    }
    be->flush_printf(scope);
    be->queue_free(q);
    be->scope_free(scope);
    be->kernel_free(k);
    return error;
}

#define HEAD                                                                                       \
    "declare i32 @pw.sreg.tid.x(ptr)\n declare i32 @pw.sreg.ntid.x(ptr)\n"                         \
    "declare i32 @pw.sreg.ctaid.x(ptr)\n declare i32 @pw.sreg.nctaid.x(ptr)\n"                     \
    "declare i32 @pw.sreg.laneid(ptr)\n"                                                           \
    "declare void @pw.barrier.sync(ptr, i32, i32)\n declare void @pw.barrier.arrive(ptr, i32, "    \
    "i32)\n"                                                                                       \
    "declare ptr addrspace(0) @pw.shared.ptr(ptr, i32)\n"                                          \
    "declare i64 @pw.shfl.down(ptr, i32, i32, i32, i32)\n"                                         \
    "declare i64 @pw.shfl.idx(ptr, i32, i32, i32, i32)\n"                                          \
    "declare i32 @pw.atom.add.i32.gpu(ptr, ptr, i32)\n declare i32 @pw.atom.add.i32.cta(ptr, "     \
    "ptr, i32)\n"                                                                                  \
    "declare i32 @pw.atom.cas.i32.gpu(ptr, ptr, i32, i32)\n"                                       \
    "declare i32 @pw.atom.xchg.i32.gpu(ptr, ptr, i32)\n"                                           \
    "declare void @pw.spin(ptr)\n declare void @pw.warp.sync(ptr, i32)\n"                          \
    "declare i32 @pw.activemask(ptr, i32)\n"                                                       \
    "declare void @pw.fence.sc.gpu(ptr)\n"
// %out is the parameter, %tid and %i thread number in block and grid, %mine = &out[i]
#define KERNEL                                                                                     \
    "define void @k(ptr %pw, ptr %params) {\n"                                                     \
    "entry:\n"                                                                                     \
    "  %tid = call i32 @pw.sreg.tid.x(ptr %pw)\n  %n = call i32 @pw.sreg.ntid.x(ptr %pw)\n"        \
    "  %cta = call i32 @pw.sreg.ctaid.x(ptr %pw)\n  %base = mul i32 %cta, %n\n"                    \
    "  %i = add i32 %base, %tid\n  %out = load ptr, ptr %params\n"                                 \
    "  %i64 = zext i32 %i to i64\n  %mine = getelementptr i32, ptr %out, i64 %i64\n"

// ---- plain kernels
// ---------------------------------------------------------------------------------------------
static const char index_ir[] =
    HEAD KERNEL "  %v = mul i32 %i, 3\n  store i32 %v, ptr %mine\n  ret void\n}\n";

static void
many_blocks(void)
{
    enum { N = 1000 * 77 };
    uint32_t *out = calloc(N, 4);
    CHECK_INT(run(index_ir, (struct shape){.blocks = 1000, .threads = 77}, out), 0);
    unsigned wrong = 0;
    for (unsigned i = 0; i < N; i++)
        wrong += out[i] != 3 * i;
    CHECK_INT(wrong, 0);
    free(out);
}

static void
three_dimensions(void)
{
    static const char ir[] =
        "declare i32 @pw.sreg.tid.x(ptr)\ndeclare i32 @pw.sreg.tid.y(ptr)\ndeclare i32 "
        "@pw.sreg.tid.z(ptr)\n"
        "declare i32 @pw.sreg.ctaid.y(ptr)\ndeclare i32 @pw.sreg.laneid(ptr)\n"
        "declare void @pw.barrier.sync(ptr, i32, i32)\n"
        "define void @k(ptr %pw, ptr %params) {\n"
        "  %x = call i32 @pw.sreg.tid.x(ptr %pw)\n  %y = call i32 @pw.sreg.tid.y(ptr %pw)\n"
        "  %z = call i32 @pw.sreg.tid.z(ptr %pw)\n  %c = call i32 @pw.sreg.ctaid.y(ptr %pw)\n"
        "  %l = call i32 @pw.sreg.laneid(ptr %pw)\n  %p = load ptr, ptr %params\n"
        "  %zz = mul i32 %z, 15\n  %yy = mul i32 %y, 5\n  %cc = mul i32 %c, 60\n  %a = add i32 "
        "%zz, %yy\n"
        "  %b = add i32 %a, %x\n  %d = add i32 %b, %cc\n  %q = getelementptr i32, ptr %p, i32 %d\n"
        "  %v = shl i32 %l, 8\n  %w = or i32 %v, %b\n"
        "  call void @pw.barrier.sync(ptr %pw, i32 0, i32 0)\n  store i32 %w, ptr %q\n  ret "
        "void\n}\n";
    uint32_t out[120] = {0};
    struct backend_scope *scope = be->scope_new(dev);
    struct backend_queue *q = be->queue_new(scope, 0);
    struct backend_kernel *k = compile(scope, ir);
    struct command *c = command_new(CMD_LAUNCH, sizeof(void *));
    c->launch.kernel = k;
    c->launch.grid[0] = c->launch.grid[2] = 1;
    c->launch.grid[1] = 2;
    c->launch.block[0] = 5, c->launch.block[1] = 3, c->launch.block[2] = 4;
    void *p = out;
    memcpy(c->launch.params, &p, sizeof p);
    be->submit(q, c);
    CHECK_INT(wait_queue(q), 0);
    unsigned wrong = 0;
    for (unsigned i = 0; i < 120; i++)
        wrong += out[i] != ((i % 60 % 32) << 8 | i % 60);
    CHECK_INT(wrong, 0);
    be->queue_free(q);
    be->scope_free(scope);
    be->kernel_free(k);
}

static void
resolves_variables(void)
{
    static const char ir[] =
        HEAD "@v = external global [4 x i8]\n" KERNEL
             "  %x = load i32, ptr @v\n  store i32 %x, ptr %mine\n  ret void\n}\n";
    int32_t variable = 4711, out = 0;
    void *p = &out;
    struct source s = {.text = ir, .variable = "v", .address = &variable};
    struct backend_scope *scope = be->scope_new(dev);
    struct backend_queue *q = be->queue_new(scope, 0);
    struct backend_kernel *k = NULL;
    CHECK_INT(compile_source(scope, &s, &k), 0);
    submit(q, k, (struct shape){.blocks = 1, .threads = 1}, &p, sizeof p);
    CHECK_INT(wait_queue(q), 0);
    CHECK_INT(out, 4711);
    be->kernel_free(k);
    s.variable = NULL;
    CHECK_INT(compile_source(scope, &s, &k), BE_JIT_FAILED);
    be->queue_free(q);
    be->scope_free(scope);
}

static void
refuses_what_is_unknown(void)
{
    struct source s = {.text = "declare void @pw.nonsense(ptr)\ndefine void @k(ptr %pw, ptr %p) {\n"
                               "  call void @pw.nonsense(ptr %pw)\n  ret void\n}\n"};
    struct source bad = {
        .text = "define void @k(ptr %pw, ptr %p) {\n  %x = add i32 1, %x\n  ret void\n}\n"};
    struct backend_scope *scope = be->scope_new(dev);
    struct backend_kernel *k = NULL;
    CHECK_INT(compile_source(scope, &s, &k), BE_JIT_FAILED);
    CHECK(!k);
    CHECK_INT(compile_source(scope, &bad, &k), BE_JIT_FAILED);
    CHECK(!k);
    be->scope_free(scope);
}

// ---- barriers
// --------------------------------------------------------------------------------------------------------
// Sum of out[] over the block by halving in shared memory; thread 0 writes it.
static const char tree_ir[] =
    HEAD "@buf = internal addrspace(3) global [4096 x i8] undef, align 4\n" KERNEL
         "  %b = ptrtoint ptr addrspace(3) @buf to i32\n  %o4 = mul i32 %tid, 4\n  %o = add i32 "
         "%b, %o4\n"
         "  %s = call ptr @pw.shared.ptr(ptr %pw, i32 %o)\n  %v = load i32, ptr %mine\n  store i32 "
         "%v, ptr %s\n"
         "  call void @pw.barrier.sync(ptr %pw, i32 0, i32 0)\n  br label %loop\n"
         "loop:\n  %h = phi i32 [ 512, %entry ], [ %h2, %next ]\n"
         "  %in = icmp ult i32 %tid, %h\n  br i1 %in, label %add, label %next\n"
         "add:\n  %h4 = mul i32 %h, 4\n  %oo = add i32 %o, %h4\n  %s2 = call ptr "
         "@pw.shared.ptr(ptr %pw, i32 %oo)\n"
         "  %x = load i32, ptr %s\n  %y = load i32, ptr %s2\n  %z = add i32 %x, %y\n  store i32 "
         "%z, ptr %s\n  br label %next\n"
         "next:\n  call void @pw.barrier.sync(ptr %pw, i32 0, i32 0)\n  %h2 = lshr i32 %h, 1\n  "
         "%end = icmp eq i32 %h2, 0\n"
         "  br i1 %end, label %done, label %loop\n"
         "done:\n  %first = icmp eq i32 %tid, 0\n  br i1 %first, label %write, label %ret\n"
         "write:\n  %r = load i32, ptr %s\n  store i32 %r, ptr %mine\n  br label %ret\nret:\n  ret "
         "void\n}\n";

static void
barrier_reduction(void)
{
    uint32_t *out = calloc(4 * 1024, 4);
    for (unsigned i = 0; i < 4096; i++)
        out[i] = i;
    CHECK_INT(run(tree_ir, (struct shape){.blocks = 4, .threads = 1024}, out), 0);
    for (unsigned b = 0; b < 4; b++)
        CHECK_INT(out[b * 1024], 1024 * 1023 / 2 + b * 1024 * 1024);
    free(out);
}

// Warp 0 produces and only arrives, warp 1 consumes; warp 2 has nothing to do with it and ends.
static void
barrier_with_count(void)
{
    static const char ir[] =
        HEAD KERNEL "  %w = lshr i32 %tid, 5\n  switch i32 %w, label %ret [ i32 0, label "
                    "%produce\n i32 1, label %consume ]\n"
                    "consume:\n  call void @pw.barrier.sync(ptr %pw, i32 3, i32 64)\n"
                    "  %j = sub i32 %tid, 32\n  %p = getelementptr i32, ptr %out, i32 %j\n  %x = "
                    "load i32, ptr %p\n"
                    "  %y = add i32 %x, 1\n  store i32 %y, ptr %mine\n  br label %ret\n"
                    "produce:\n  store i32 %tid, ptr %mine\n  call void @pw.barrier.arrive(ptr "
                    "%pw, i32 3, i32 64)\n  br label %ret\n"
                    "ret:\n  ret void\n}\n";
    uint32_t out[96] = {0};
    CHECK_INT(run(ir, (struct shape){.blocks = 1, .threads = 96}, out), 0);
    unsigned wrong = 0;
    for (unsigned i = 0; i < 32; i++)
        wrong += out[32 + i] != i + 1;
    CHECK_INT(wrong, 0);
}

// Odd threads end before the barrier: it counts the others only.
static void
barrier_after_exit(void)
{
    static const char ir[] =
        HEAD KERNEL "  %odd = trunc i32 %tid to i1\n  br i1 %odd, label %ret, label %go\n"
                    "go:\n  call void @pw.barrier.sync(ptr %pw, i32 0, i32 0)\n  store i32 1, ptr "
                    "%mine\n  br label %ret\n"
                    "ret:\n  ret void\n}\n";
    uint32_t out[50] = {0}, sum = 0;
    CHECK_INT(run(ir, (struct shape){.blocks = 1, .threads = 50}, out), 0);
    for (int i = 0; i < 50; i++)
        sum += out[i];
    CHECK_INT(sum, 25);
}

static void
barrier_red(void)
{
    static const char ir[] =
        HEAD "declare i32 @pw.barrier.red.popc(ptr, i32, i32, i32)\ndeclare i32 "
             "@pw.barrier.red.and(ptr, i32, i32, i32)\n"
             "declare i32 @pw.barrier.red.or(ptr, i32, i32, i32)\n" KERNEL
             "  %p = icmp ult i32 %tid, 10\n  %q = zext i1 %p to i32\n"
             "  %a = call i32 @pw.barrier.red.popc(ptr %pw, i32 1, i32 0, i32 %q)\n"
             "  %b = call i32 @pw.barrier.red.and(ptr %pw, i32 1, i32 0, i32 %q)\n"
             "  %c = call i32 @pw.barrier.red.or(ptr %pw, i32 1, i32 0, i32 %q)\n"
             "  %b2 = shl i32 %b, 8\n  %c2 = shl i32 %c, 9\n  %x = or i32 %a, %b2\n  %y = or i32 "
             "%x, %c2\n"
             "  store i32 %y, ptr %mine\n  ret void\n}\n";
    uint32_t out[40] = {0}, wrong = 0;
    CHECK_INT(run(ir, (struct shape){.blocks = 1, .threads = 40}, out), 0);
    for (int i = 0; i < 40; i++)
        wrong += out[i] != (10 | 1 << 9);
    CHECK_INT(wrong, 0);
}

static void
deadlock_is_an_error(void)
{
    static const char ir[] =
        HEAD KERNEL "  %odd = trunc i32 %tid to i1\n  br i1 %odd, label %a, label %b\n"
                    "a:\n  call void @pw.barrier.sync(ptr %pw, i32 1, i32 32)\n  ret void\n"
                    "b:\n  call void @pw.warp.sync(ptr %pw, i32 -1)\n  ret void\n}\n";
    uint32_t out[64] = {0};
    CHECK_INT(run(ir, (struct shape){.blocks = 3, .threads = 32}, out), BE_LAUNCH_FAILED);
}

// ---- warps
// ------------------------------------------------------------------------------------------------------------
// The lower and the upper half of each warp reduce by shuffles of their own at the same time.
static void
shuffle_partial_masks(void)
{
    static const char ir[] =
        HEAD KERNEL "  %lane = call i32 @pw.sreg.laneid(ptr %pw)\n  %up = icmp uge i32 %lane, 16\n"
                    "  %mask = select i1 %up, i32 -65536, i32 65535\n  br label %loop\n"
                    "loop:\n  %d = phi i32 [ 8, %entry ], [ %d2, %loop ]\n  %v = phi i32 [ %i, "
                    "%entry ], [ %v2, %loop ]\n"
                    "  %r = call i64 @pw.shfl.down(ptr %pw, i32 %v, i32 %d, i32 4127, i32 %mask)\n "
                    " %x = trunc i64 %r to i32\n"
                    "  %v2 = add i32 %v, %x\n  %d2 = lshr i32 %d, 1\n  %end = icmp eq i32 %d2, 0\n"
                    "  br i1 %end, label %done, label %loop\n"
                    "done:\n  store i32 %v2, ptr %mine\n  ret void\n}\n";
    uint32_t out[128] = {0};
    CHECK_INT(run(ir, (struct shape){.blocks = 2, .threads = 64}, out), 0);
    for (unsigned w = 0; w < 8; w++) // each half: 16 consecutive numbers
        CHECK_INT(out[w * 16], 16 * 15 / 2 + w * 16 * 16);
}

static void
shuffle_predicate(void)
{
    static const char ir[] = HEAD KERNEL "  %r = call i64 @pw.shfl.down(ptr %pw, i32 %tid, i32 3, "
                                         "i32 31, i32 -1)\n  %p = lshr i64 %r, 32\n"
                                         "  %v = trunc i64 %r to i32\n  %q = trunc i64 %p to i32\n "
                                         " %q8 = shl i32 %q, 8\n  %w = or i32 %v, %q8\n"
                                         "  store i32 %w, ptr %mine\n  ret void\n}\n";
    uint32_t out[32] = {0}, wrong = 0;
    CHECK_INT(run(ir, (struct shape){.blocks = 1, .threads = 32}, out), 0);
    for (unsigned i = 0; i < 32; i++)
        wrong += out[i] != (i + 3 < 32 ? (i + 3) | 1 << 8 : i);
    CHECK_INT(wrong, 0);
}

static void
votes_and_redux(void)
{
    static const char ir[] = HEAD
        "declare i32 @pw.vote.ballot(ptr, i32, i32)\ndeclare i32 @pw.vote.all(ptr, i32, i32)\n"
        "declare i32 @pw.redux.max(ptr, i32, i32)\ndeclare i32 @pw.redux.add(ptr, i32, i32)\n"
        "declare i32 @pw.match.any.b32(ptr, i32, i32)\ndeclare i64 @pw.elect(ptr, i32)\n"
        "declare float @pw.redux.fmin.abs(ptr, float, i32)\n" KERNEL
        "  %p = and i32 %tid, 1\n  %b = call i32 @pw.vote.ballot(ptr %pw, i32 %p, i32 -1)\n"
        "  store i32 %b, ptr %mine\n"
        "  %m1 = getelementptr i32, ptr %mine, i32 64\n  %neg = sub i32 5, %tid\n"
        "  %r = call i32 @pw.redux.max(ptr %pw, i32 %neg, i32 -1)\n  store i32 %r, ptr %m1\n"
        "  %m2 = getelementptr i32, ptr %mine, i32 128\n  %k3 = urem i32 %tid, 3\n"
        "  %m = call i32 @pw.match.any.b32(ptr %pw, i32 %k3, i32 -1)\n  store i32 %m, ptr %m2\n"
        "  %m3 = getelementptr i32, ptr %mine, i32 192\n  %e = call i64 @pw.elect(ptr %pw, i32 "
        "-1)\n"
        "  %e1 = lshr i64 %e, 32\n  %e2 = trunc i64 %e1 to i32\n  store i32 %e2, ptr %m3\n"
        "  %m4 = getelementptr i32, ptr %mine, i32 256\n  %f = sitofp i32 %neg to float\n"
        "  %g = call float @pw.redux.fmin.abs(ptr %pw, float %f, i32 -1)\n  store float %g, ptr "
        "%m4\n"
        "  ret void\n}\n";
    // 40 threads: the last warp has 8 lanes.
    uint32_t out[320] = {0};
    CHECK_INT(run(ir, (struct shape){.blocks = 1, .threads = 40}, out), 0);
    CHECK_INT(out[0], 0xaaaaaaaa);
    CHECK_INT(out[39], 0xaa);
    CHECK_INT(out[64 + 31], 5);
    CHECK_INT((int32_t)out[64 + 32], -27);
    CHECK_INT(out[128], 0x49249249);
    CHECK_INT(out[128 + 32], 0x49); // 32, 35 and 38
    CHECK_INT(out[192], 1);
    CHECK_INT(out[192 + 1], 0);
    CHECK_INT(out[192 + 32], 1);
    float f;
    memcpy(&f, &out[256 + 7], 4);
    CHECK_FLT(f, 0, 0);
    memcpy(&f, &out[256 + 35], 4);
    CHECK_FLT(f, 27, 0);
}

static void
active_mask(void)
{
    static const char ir[] =
        HEAD KERNEL "  %low = icmp ult i32 %tid, 5\n  br i1 %low, label %a, label %b\n"
                    "a:\n  %x = call i32 @pw.activemask(ptr %pw, i32 1)\n  store i32 %x, ptr "
                    "%mine\n  br label %c\n"
                    "b:\n  %y = call i32 @pw.activemask(ptr %pw, i32 2)\n  store i32 %y, ptr "
                    "%mine\n  br label %c\n"
                    "c:\n  ret void\n}\n";
    uint32_t out[32] = {0};
    CHECK_INT(run(ir, (struct shape){.blocks = 1, .threads = 32}, out), 0);
    CHECK_INT(out[0], 0x1f);
    CHECK_INT(out[31], 0xffffffe0);
}

// ---- progress
// ------------------------------------------------------------------------------------------------------------
// A lock taken by compare-and-swap between all threads of some blocks: out[0] lock, out[1] counter.
static void
spin_lock(void)
{
    static const char ir[] = HEAD KERNEL
        "  br label %try\n"
        "try:\n  %old = call i32 @pw.atom.cas.i32.gpu(ptr %pw, ptr %out, i32 0, i32 1)\n"
        "  %got = icmp eq i32 %old, 0\n  br i1 %got, label %in, label %again\n"
        "again:\n  call void @pw.spin(ptr %pw)\n  br label %try\n"
        "in:\n  %c = getelementptr i32, ptr %out, i32 1\n  %v = load volatile i32, ptr %c\n"
        "  call void @pw.spin(ptr %pw)\n  %w = add i32 %v, 1\n  store volatile i32 %w, ptr %c\n"
        "  call void @pw.fence.sc.gpu(ptr %pw)\n"
        "  %u = call i32 @pw.atom.xchg.i32.gpu(ptr %pw, ptr %out, i32 0)\n  ret void\n}\n";
    uint32_t out[2] = {0};
    CHECK_INT(run(ir, (struct shape){.blocks = 8, .threads = 64}, out), 0);
    CHECK_INT(out[1], 8 * 64);
}

// Every block waits for the flag of the next one: the last starts the chain.
static void
blocks_wait_for_later_blocks(void)
{
    static const char ir[] = HEAD KERNEL
        "  %last = call i32 @pw.sreg.nctaid.x(ptr %pw)\n  %l1 = sub i32 %last, 1\n  %is = icmp eq "
        "i32 %cta, %l1\n"
        "  %nx = add i32 %cta, 1\n  %np = getelementptr i32, ptr %out, i32 %nx\n"
        "  %cp = getelementptr i32, ptr %out, i32 %cta\n  br i1 %is, label %set, label %wait\n"
        "wait:\n  %f = load atomic volatile i32, ptr %np monotonic, align 4\n  %z = icmp eq i32 "
        "%f, 0\n"
        "  br i1 %z, label %more, label %got\n"
        "more:\n  call void @pw.spin(ptr %pw)\n  br label %wait\n"
        "got:\n  %f1 = add i32 %f, 1\n  br label %set\n"
        "set:\n  %g = phi i32 [ 1, %entry ], [ %f1, %got ]\n"
        "  store atomic volatile i32 %g, ptr %cp monotonic, align 4\n  ret void\n}\n";
    uint32_t out[48] = {0};
    CHECK_INT(run(ir, (struct shape){.blocks = 48, .threads = 1}, out), 0);
    CHECK_INT(out[0], 48);
    CHECK_INT(out[47], 1);
}

// A barrier of the whole grid by an atomic counter, twice; then all see all arrivals.
static void
grid_barrier(void)
{
    static const char ir[] = HEAD KERNEL
        "  %first = icmp eq i32 %tid, 0\n  %nc = call i32 @pw.sreg.nctaid.x(ptr %pw)\n"
        "  call void @pw.barrier.sync(ptr %pw, i32 0, i32 0)\n  br i1 %first, label %one, label "
        "%join\n"
        "one:\n  %a = call i32 @pw.atom.add.i32.gpu(ptr %pw, ptr %out, i32 1)\n  br label %wait\n"
        "wait:\n  %v = load atomic volatile i32, ptr %out monotonic, align 4\n  %ok = icmp uge i32 "
        "%v, %nc\n"
        "  br i1 %ok, label %join, label %more\nmore:\n  call void @pw.spin(ptr %pw)\n  br label "
        "%wait\n"
        "join:\n  call void @pw.barrier.sync(ptr %pw, i32 0, i32 0)\n"
        "  %seen = load atomic volatile i32, ptr %out monotonic, align 4\n  %m = getelementptr "
        "i32, ptr %mine, i32 1\n"
        "  store i32 %seen, ptr %m\n  ret void\n}\n";
    enum { BLOCKS = 40, THREADS = 48 };
    uint32_t *out = calloc(1 + BLOCKS * THREADS, 4), wrong = 0;
    CHECK_INT(
        run(ir, (struct shape){.blocks = BLOCKS, .threads = THREADS, .cooperative = true}, out), 0);
    for (int i = 0; i < BLOCKS * THREADS; i++)
        wrong += out[1 + i] != BLOCKS;
    CHECK_INT(wrong, 0);
    free(out);
}

// A kernel on one queue waits for a flag that a kernel on another queue sets.
static void
queues_are_independent(void)
{
    static const char waiter[] = HEAD KERNEL
        "  br label %wait\nwait:\n  %v = load atomic volatile i32, ptr %out monotonic, align 4\n"
        "  %z = icmp eq i32 %v, 0\n  br i1 %z, label %more, label %done\n"
        "more:\n  call void @pw.spin(ptr %pw)\n  br label %wait\ndone:\n  ret void\n}\n";
    static const char setter[] =
        HEAD KERNEL "  store atomic volatile i32 1, ptr %out monotonic, align 4\n  ret void\n}\n";
    struct backend_scope *scope = be->scope_new(dev);
    struct backend_queue *a = be->queue_new(scope, 0), *b = be->queue_new(scope, 0);
    struct backend_kernel *ka = compile(scope, waiter), *kb = compile(scope, setter);
    uint32_t flag = 0;
    void *p = &flag;
    submit(a, ka, (struct shape){.blocks = 64, .threads = 32}, &p, sizeof p);
    submit(b, kb, (struct shape){.blocks = 1, .threads = 1}, &p, sizeof p);
    CHECK_INT(wait_queue(b), 0);
    CHECK_INT(wait_queue(a), 0);
    be->queue_free(a);
    be->queue_free(b);
    be->scope_free(scope);
    be->kernel_free(ka);
    be->kernel_free(kb);
}

// ---- atomics
// ---------------------------------------------------------------------------------------------------------------
static void
atomics(void)
{
    static const char ir[] =
        HEAD "declare i32 @pw.atom.inc.i32.gpu(ptr, ptr, i32)\ndeclare float "
             "@pw.atom.fadd.f32.gpu(ptr, ptr, float)\n"
             "declare i32 @pw.atom.min.i32.sys(ptr, ptr, i32)\ndeclare i64 "
             "@pw.atom.umax.i64.gpu(ptr, ptr, i64)\n"
             "declare i32 @pw.atom.fadd.f16x2.gpu(ptr, ptr, i32)\ndeclare i16 "
             "@pw.atom.fadd.bf16.gpu(ptr, ptr, i16)\n"
             "declare i128 @pw.atom.cas.i128.gpu(ptr, ptr, i128, i128)\n" KERNEL
             "  %a = call i32 @pw.atom.add.i32.gpu(ptr %pw, ptr %out, i32 2)\n"
             "  %a2 = call i32 @pw.atom.add.i32.cta(ptr %pw, ptr %out, i32 1)\n"
             "  %p1 = getelementptr i8, ptr %out, i32 4\n  %b = call i32 @pw.atom.inc.i32.gpu(ptr "
             "%pw, ptr %p1, i32 9)\n"
             "  %p2 = getelementptr i8, ptr %out, i32 8\n  %c = call float "
             "@pw.atom.fadd.f32.gpu(ptr %pw, ptr %p2, float 5.0e-1)\n"
             "  %p3 = getelementptr i8, ptr %out, i32 12\n  %n3 = sub i32 0, %i\n"
             "  %d = call i32 @pw.atom.min.i32.sys(ptr %pw, ptr %p3, i32 %n3)\n"
             "  %p4 = getelementptr i8, ptr %out, i32 16\n  %e = call i64 "
             "@pw.atom.umax.i64.gpu(ptr %pw, ptr %p4, i64 %i64)\n"
             "  %p6 = getelementptr i8, ptr %out, i32 24\n" // 1.0 and 2.0 as halves
             "  %f = call i32 @pw.atom.fadd.f16x2.gpu(ptr %pw, ptr %p6, i32 1073757184)\n"
             "  %p7 = getelementptr i8, ptr %out, i32 28\n  %g = call i16 "
             "@pw.atom.fadd.bf16.gpu(ptr %pw, ptr %p7, i16 16256)\n"
             "  %p8 = getelementptr i8, ptr %out, i32 32\n"
             "  %h = call i128 @pw.atom.cas.i128.gpu(ptr %pw, ptr %p8, i128 0, i128 "
             "18446744073709551617)\n"
             "  ret void\n}\n";
    _Alignas(16) uint32_t out[12] = {0};
    CHECK_INT(run(ir, (struct shape){.blocks = 4, .threads = 64}, out), 0);
    float f;
    memcpy(&f, &out[2], 4);
    CHECK_INT(out[0], 256 * 3);
    CHECK_INT(out[1], 256 % 10);
    CHECK_FLT(f, 128, 0);
    CHECK_INT((int32_t)out[3], -255);
    CHECK_INT(out[4], 255);
    CHECK_INT(out[6], 0x60005c00); // 512.0, 256.0
    CHECK_INT(out[7], 0x4380);     // 256.0
    CHECK_INT(out[8], 1);
    CHECK_INT(out[10], 1);
}

// ---- services
// -----------------------------------------------------------------------------------------------------------------
// Runs fn with `fd` redirected to a file and returns the text written.
static const char *
captured(int fd, void (*fn)(void))
{
    static char text[4096];
    char path[] = "/tmp/polywarp_test_XXXXXX";
    fflush(stdout);
    int file = mkstemp(path), old = dup(fd);
    dup2(file, fd);
    fn();
    fflush(stdout);
    dup2(old, fd);
    close(old);
    ssize_t n = pread(file, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    close(file);
    unlink(path);
    return text;
}

static int captured_error;

static void
print_something(void)
{
    static const char ir[] =
        HEAD "declare i32 @pw.vprintf(ptr, i64, i64)\n"
             "@fmt = internal constant [43 x i8] c\"[%d] %5.2f|%s|%lld %c%% %-4u|%x %hhd "
             "%*d\\0A\\00\\00\"\n"
             "@str = internal constant [4 x i8] c\"abc\\00\"\n" KERNEL
             "  %a = alloca [72 x i8], align 8\n  store i32 %i, ptr %a\n"
             "  %p1 = getelementptr i8, ptr %a, i32 8\n  store double 2.5, ptr %p1\n"
             "  %p2 = getelementptr i8, ptr %a, i32 16\n  store ptr @str, ptr %p2\n"
             "  %p3 = getelementptr i8, ptr %a, i32 24\n  store i64 -5000000000, ptr %p3\n"
             "  %p4 = getelementptr i8, ptr %a, i32 32\n  store i32 88, ptr %p4\n"
             "  %p5 = getelementptr i8, ptr %a, i32 36\n  store i32 7, ptr %p5\n"
             "  %p6 = getelementptr i8, ptr %a, i32 40\n  store i32 255, ptr %p6\n"
             "  %p7 = getelementptr i8, ptr %a, i32 44\n  store i32 257, ptr %p7\n"
             "  %p8 = getelementptr i8, ptr %a, i32 48\n  store i32 4, ptr %p8\n"
             "  %p9 = getelementptr i8, ptr %a, i32 52\n  store i32 6, ptr %p9\n"
             "  %f = ptrtoint ptr @fmt to i64\n  %x = ptrtoint ptr %a to i64\n"
             "  %r = call i32 @pw.vprintf(ptr %pw, i64 %f, i64 %x)\n  store i32 %r, ptr %mine\n  "
             "ret void\n}\n";
    static uint32_t out[2];
    captured_error = run(ir, (struct shape){.blocks = 1, .threads = 2}, out);
    CHECK_INT(out[0], 9);
}

static void
printf_formats(void)
{
    const char *text = captured(1, print_something);
    CHECK_INT(captured_error, 0);
    CHECK_STR(text, "[0]  2.50|abc|-5000000000 X% 7   |ff 1    6\n[1]  2.50|abc|-5000000000 X% 7   "
                    "|ff 1    6\n");
}

static void
fail_assertion(void)
{
    static const char ir[] = HEAD "declare void @pw.assertfail(ptr, i64, i64, i32, i64, i64)\n"
                                  "@m = internal constant [6 x i8] c\"x > 0\\00\"\n@f = internal "
                                  "constant [5 x i8] c\"a.cu\\00\"\n"
                                  "@g = internal constant [4 x i8] c\"foo\\00\"\n" KERNEL
                                  "  %c = icmp eq i32 %tid, 3\n  br i1 %c, label %bad, label %ok\n"
                                  "bad:\n  %m = ptrtoint ptr @m to i64\n  %f = ptrtoint ptr @f to "
                                  "i64\n  %g = ptrtoint ptr @g to i64\n"
                                  "  call void @pw.assertfail(ptr %pw, i64 %m, i64 %f, i32 12, i64 "
                                  "%g, i64 1)\n  unreachable\n"
                                  "ok:\n  ret void\n}\n";
    captured_error = run(ir, (struct shape){.blocks = 1, .threads = 8}, NULL);
}

static void
assert_message(void)
{
    const char *text = captured(2, fail_assertion);
    CHECK_INT(captured_error, BE_ASSERT);
    CHECK(
        strstr(text, "a.cu:12: foo: block: [0,0,0], thread: [3,0,0] Assertion `x > 0` failed.\n") !=
        NULL);
}

static void
device_heap(void)
{
    static const char ir[] =
        HEAD "declare i64 @pw.malloc(ptr, i64)\ndeclare void @pw.free(ptr, i64)\n" KERNEL
             "  %p = call i64 @pw.malloc(ptr %pw, i64 1000)\n  %q = inttoptr i64 %p to ptr\n  "
             "store i32 %i, ptr %q\n"
             "  %l = and i64 %p, 15\n  %big = call i64 @pw.malloc(ptr %pw, i64 9000000)\n  %s = or "
             "i64 %l, %big\n"
             "  %s32 = trunc i64 %s to i32\n  %v = load i32, ptr %q\n  %w = or i32 %v, %s32\n  "
             "store i32 %w, ptr %mine\n"
             "  call void @pw.free(ptr %pw, i64 %p)\n  ret void\n}\n";
    // 64000 blocks of 1000 bytes: more than the heap holds unless they are reused.
    uint32_t *out = calloc(64000, 4), wrong = 0;
    CHECK_INT(run(ir, (struct shape){.blocks = 1000, .threads = 64}, out), 0);
    for (unsigned i = 0; i < 64000; i++)
        wrong += out[i] != i;
    CHECK_INT(wrong, 0);
    free(out);
}

static void
thread_exit_in_function(void)
{
    static const char ir[] =
        HEAD "declare void @pw.exit(ptr)\n"
             "define internal void @f(ptr %pw, i32 %x) noinline {\n  %c = icmp ugt i32 %x, 4\n  br "
             "i1 %c, label %e, label %r\n"
             "e:\n  call void @pw.exit(ptr %pw)\n  unreachable\nr:\n  ret void\n}\n" KERNEL
             "  call void @f(ptr %pw, i32 %tid)\n  store i32 1, ptr %mine\n  ret void\n}\n";
    uint32_t out[16] = {0}, sum = 0;
    CHECK_INT(run(ir, (struct shape){.blocks = 1, .threads = 16}, out), 0);
    for (int i = 0; i < 16; i++)
        sum += out[i];
    CHECK_INT(sum, 5);
}

// ---- errors
// --------------------------------------------------------------------------------------------------------------------
static void
null_store(void)
{
    static const char ir[] = HEAD KERNEL "  call void @pw.barrier.sync(ptr %pw, i32 0, i32 0)\n  "
                                         "store volatile i32 1, ptr %mine\n  ret void\n}\n";
    struct backend_scope *scope = be->scope_new(dev);
    struct backend_queue *q = be->queue_new(scope, 0);
    struct backend_kernel *bad = compile(scope, ir), *good = compile(scope, index_ir);
    uint32_t out[64] = {0};
    void *null = NULL, *p = out;
    submit(q, bad, (struct shape){.blocks = 20, .threads = 64}, &null, sizeof null);
    CHECK_INT(wait_queue(q), BE_ILLEGAL_ADDRESS);
    submit(q, good, (struct shape){.blocks = 1, .threads = 64}, &p, sizeof p);
    CHECK_INT(wait_queue(q), BE_ILLEGAL_ADDRESS); // sticky, and nothing ran
    CHECK_INT(out[1], 0);
    be->queue_free(q);
    be->scope_free(scope);
    scope = be->scope_new(dev);
    q = be->queue_new(scope, 0);
    submit(q, good, (struct shape){.blocks = 1, .threads = 64}, &p, sizeof p);
    CHECK_INT(wait_queue(q), 0);
    CHECK_INT(out[1], 3);
    be->queue_free(q);
    be->scope_free(scope);
    be->kernel_free(bad);
    be->kernel_free(good);
}

static void
store_to_null(void)
{
    static const char ir[] =
        "define void @k(ptr %pw, ptr %params) !dbg !4 {\n"
        "  %a = load volatile i64, ptr %params, !dbg !6\n  store volatile i32 1, ptr null, !dbg "
        "!7\n"
        "  %b = load volatile i64, ptr %params, !dbg !8\n  ret void, !dbg !8\n}\n"
        "!llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!2, !3}\n"
        "!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: "
        "LineTablesOnly)\n"
        "!1 = !DIFile(filename: \"k.ptx\", directory: \"\")\n!2 = !{i32 2, !\"Debug Info "
        "Version\", i32 3}\n"
        "!3 = !{i32 7, !\"Dwarf Version\", i32 5}\n"
        "!4 = distinct !DISubprogram(name: \"k\", file: !1, line: 10, type: !5, unit: !0, spFlags: "
        "DISPFlagDefinition)\n"
        "!5 = !DISubroutineType(types: !{null})\n"
        "!6 = !DILocation(line: 21, column: 1, scope: !4)\n!7 = !DILocation(line: 1234, column: 1, "
        "scope: !4)\n"
        "!8 = !DILocation(line: 23, column: 1, scope: !4)\n";
    captured_error = run(ir, (struct shape){.blocks = 1, .threads = 1}, NULL);
}

static void
fault_names_its_line(void)
{
    const char *text = captured(2, store_to_null);
    CHECK_INT(captured_error, BE_ILLEGAL_ADDRESS);
    ok(strstr(text, "kernel k, PTX line 1234, block (0,0,0), thread (0,0,0): illegal address: "
                    "write at 0x0") != NULL,
       "log: %s", text);
}

static void
stack_overflow(void)
{
    static const char ir[] =
        HEAD "define internal i32 @f(ptr %pw, i32 %x) noinline {\n  %a = alloca [100 x i32]\n"
             "  %p = getelementptr i32, ptr %a, i32 %x\n  store volatile i32 %x, ptr %a\n  %y = "
             "add i32 %x, 1\n"
             "  %z = icmp eq i32 %y, 0\n  br i1 %z, label %e, label %g\n"
             "g:\n  %r = call i32 @f(ptr %pw, i32 %y)\n  %v = load volatile i32, ptr %a\n  %s = "
             "add i32 %r, %v\n  ret i32 %s\n"
             "e:\n  ret i32 0\n}\n" KERNEL
             "  %r = call i32 @f(ptr %pw, i32 1)\n  store i32 %r, ptr %mine\n  ret void\n}\n";
    uint32_t out[8] = {0};
    CHECK_INT(run(ir, (struct shape){.blocks = 1, .threads = 8}, out), BE_ILLEGAL_ADDRESS);
}

static void
trap_and_shared_bounds(void)
{
    static const char trap[] = HEAD "declare void @pw.trap(ptr)\n" KERNEL
                                    "  call void @pw.trap(ptr %pw)\n  unreachable\n}\n";
    static const char beyond[] =
        HEAD KERNEL "  %p = call ptr @pw.shared.ptr(ptr %pw, i32 1000000)\n  store volatile i32 1, "
                    "ptr %p\n  ret void\n}\n";
    CHECK_INT(run(trap, (struct shape){.blocks = 2, .threads = 2}, NULL), BE_LAUNCH_FAILED);
    CHECK_INT(run(beyond, (struct shape){.blocks = 1, .threads = 2, .shared = 100}, NULL),
              BE_ILLEGAL_ADDRESS);
}

static void
too_large(void)
{
    CHECK_INT(run(index_ir, (struct shape){.blocks = 1, .threads = 1025}, NULL),
              BE_LAUNCH_OUT_OF_RESOURCES);
    CHECK_INT(run(index_ir, (struct shape){.blocks = 1, .threads = 1, .shared = 300 << 10}, NULL),
              BE_LAUNCH_OUT_OF_RESOURCES);
}

static void
dynamic_shared(void)
{
    static const char ir[] = HEAD "declare i32 @pw.sreg.dynamic_smem_size(ptr)\n"
                                  "@s = internal addrspace(3) global [20 x i8] undef, align 4\n@d "
                                  "= external addrspace(3) global [0 x i8], align 32\n" KERNEL
                                  "  %o = ptrtoint ptr addrspace(3) @d to i32\n  %z = call i32 "
                                  "@pw.sreg.dynamic_smem_size(ptr %pw)\n"
                                  "  %so = ptrtoint ptr addrspace(3) @s to i32\n  %sp = call ptr "
                                  "@pw.shared.ptr(ptr %pw, i32 %so)\n  store i32 0, ptr %sp\n"
                                  "  %e = add i32 %o, %z\n  %e4 = sub i32 %e, 4\n  %p = call ptr "
                                  "@pw.shared.ptr(ptr %pw, i32 %e4)\n"
                                  "  store i32 %o, ptr %p\n  %v = load i32, ptr %p\n  store i32 "
                                  "%v, ptr %mine\n  ret void\n}\n";
    uint32_t out = 0;
    CHECK_INT(run(ir, (struct shape){.blocks = 1, .threads = 1, .shared = 200 << 10}, &out), 0);
    CHECK_INT(out, 32);
}

// ---- copies
// ---------------------------------------------------------------------------------------------------------------------
static void
copies_and_fills(void)
{
    enum { N = 9 << 20 };
    struct backend_scope *scope = be->scope_new(dev);
    struct backend_queue *q = be->queue_new(scope, 0);
    void *a = NULL, *b = NULL;
    size_t before, after, total;
    be->mem_info(dev, &before, &total);
    CHECK_INT(be->alloc(scope, MEM_DEVICE, N, &a), 0);
    CHECK_INT(be->alloc(scope, MEM_DEVICE, N, &b), 0);
    be->mem_info(dev, &after, &total);
    CHECK_INT(before - after, 2 * N);
    CHECK_INT((uintptr_t)a % 512, 0);
    struct command *c = command_new(CMD_FILL, 0);
    c->fill.dst = a, c->fill.pattern = 0x12345678, c->fill.element = 4;
    c->fill.width = N / 4, c->fill.height = 1;
    be->submit(q, c);
    c = command_new(CMD_COPY, 0);
    c->copy.dst = b, c->copy.src = a;
    c->copy.width = N, c->copy.height = c->copy.depth = 1;
    be->submit(q, c);
    c = command_new(CMD_COPY, 0); // 3 x 2 bytes out of rows of 10 into rows of 3
    c->copy.dst = (char *)b + 1, c->copy.src = (char *)a + 2;
    c->copy.width = 3, c->copy.height = 2, c->copy.depth = 1;
    c->copy.dst_pitch = 3, c->copy.src_pitch = 10;
    be->submit(q, c);
    CHECK_INT(wait_queue(q), 0);
    const unsigned char *p = b;
    CHECK_INT(p[N - 1], 0x12);
    CHECK_INT(p[0], 0x78);
    CHECK_INT(p[1], 0x34);
    CHECK_INT(p[4], 0x78);
    CHECK_INT(p[5], 0x56);
    be->free(scope, MEM_DEVICE, a, N);
    be->free(scope, MEM_DEVICE, b, N);
    be->mem_info(dev, &after, &total);
    CHECK_INT(before, after);
    c = command_new(CMD_COPY, 0);
    c->copy.dst = NULL, c->copy.src = (char *)&before;
    c->copy.width = 4, c->copy.height = c->copy.depth = 1;
    be->submit(q, c);
    CHECK_INT(wait_queue(q), BE_ILLEGAL_ADDRESS);
    void *huge;
    CHECK_INT(be->alloc(scope, MEM_DEVICE, total + 1, &huge), BE_OUT_OF_MEMORY);
    be->queue_free(q);
    be->scope_free(scope);
}

// ---- cache
// ------------------------------------------------------------------------------------------------------------------------
static const char cached_ir[] =
    HEAD KERNEL "  %v = mul i32 %i, 7\n  store i32 %v, ptr %mine\n  ret void\n}\n";

static void
second_compile_is_cached(void)
{
    struct backend_scope *scope = be->scope_new(dev);
    struct source s = {.text = cached_ir};
    struct backend_kernel *a = NULL, *b = NULL;
    CHECK_INT(compile_source(scope, &s, &a), 0);
    CHECK_INT(s.emitted, 1);
    CHECK_INT(compile_source(scope, &s, &b), 0);
    CHECK_INT(s.emitted, 1);
    be->kernel_free(a);
    be->kernel_free(b);
    be->scope_free(scope);
}

// A child process, started anew, takes from the cache what this one compiled.
static void
processes_share_the_cache(void)
{
    if (getenv("CPU_BACKEND_CHILD")) {
        second_compile_is_cached();
        return;
    }
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("CPU_BACKEND_CHILD", "1", 1);
        setenv("POLYWARP_CACHE", cache_path, 1);
        execl("/proc/self/exe", "cpu_backend_test", "child_uses_cache", (char *)NULL);
        _exit(99);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void
child_uses_cache(void)
{
    if (!getenv("CPU_BACKEND_CHILD"))
        return;
    struct backend_scope *scope = be->scope_new(dev);
    struct source s = {.text = cached_ir};
    struct backend_kernel *k = NULL;
    CHECK_INT(compile_source(scope, &s, &k), 0);
    CHECK_INT(s.emitted, 0);
    uint32_t out[64] = {0};
    CHECK_INT(run(cached_ir, (struct shape){.blocks = 1, .threads = 64}, out), 0);
    CHECK_INT(out[9], 63);
    be->kernel_free(k);
    be->scope_free(scope);
}

static void
start(void)
{
    const char *why = "";
    CHECK_INT(be->init(&why), 1);
    dev = be->device(0);
    CHECK(be->props(dev)->multiprocessors >= 1);
    CHECK(strstr(be->props(dev)->name, "Polywarp CPU") != NULL);
}

static void
stop(void)
{
    backend_cpu_shutdown();
    if (!getenv("CPU_BACKEND_CHILD")) {
        char name[80];
        static const char *const suffix[] = {"", "-wal", "-shm"};
        for (int i = 0; i < 3; i++) {
            snprintf(name, sizeof name, "%s%s", cache_path, suffix[i]);
            unlink(name);
        }
    }
}

// The cache's path must be set before the first look at the options; `start` runs first whatever
// case is asked for.
__attribute__((constructor)) static void
set_up(void)
{
    setenv("POLYWARP_CPU_MODE", "thread", 1); // kernels are launched with blocks of any shape
    if (!getenv("CPU_BACKEND_CHILD")) {
        snprintf(cache_path, sizeof cache_path, "/tmp/polywarp_test_%d.db", (int)getpid());
        setenv("POLYWARP_CACHE", cache_path, 1);
    }
    start();
    atexit(stop);
}

CHECK_MAIN(T(many_blocks), T(three_dimensions), T(resolves_variables), T(refuses_what_is_unknown),
           T(barrier_reduction), T(barrier_with_count), T(barrier_after_exit), T(barrier_red),
           T(deadlock_is_an_error), T(shuffle_partial_masks), T(shuffle_predicate),
           T(votes_and_redux), T(active_mask), T(spin_lock), T(blocks_wait_for_later_blocks),
           T(grid_barrier), T(queues_are_independent), T(atomics), T(printf_formats),
           T(assert_message), T(device_heap), T(thread_exit_in_function), T(null_store),
           T(fault_names_its_line), T(stack_overflow), T(trap_and_shared_bounds), T(too_large),
           T(dynamic_shared), T(copies_and_fills), T(second_compile_is_cached),
           T(processes_share_the_cache), T(child_uses_cache))
