// SPDX-License-Identifier: MIT
#include "backend/cpu/target.h"
#include "backend/cpu/devlib.h"
#include "backend/cpu/rt.h"
#include "base/log.h"
#include "base/options.h"

#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct {
    pthread_once_t once;
    bool ok;
    char *triple, *cpu, *features, *layout;
    LLVMTargetRef target;
    struct emit_target emit;
    struct hash128 hash;
} host = {.once = PTHREAD_ONCE_INIT};

// "12.1" -> 121
static int
capability(void)
{
    int major, minor;
    if (sscanf(opt_text(OPT_COMPUTE_CAPABILITY), "%d.%d", &major, &minor) == 2)
        return major * 10 + minor;
    return 121;
}

static struct hash128
mix(struct hash128 h, const char *s)
{
    return hash128_more(h, s, strlen(s) + 1);
}

static struct hash128
make_hash(void)
{
    unsigned v[4] = {RT_VERSION, 0, 0, 0};
    LLVMGetVersion(&v[1], &v[2], &v[3]);
    struct hash128 h = hash128(devlib_cpu_bc, devlib_cpu_bc_size);
    h = hash128_more(h, v, sizeof v);
    h = hash128_more(h, &emit_version, sizeof emit_version);
    return mix(mix(mix(h, host.triple), host.cpu), host.features);
}

static void
init(void)
{
    char *error = NULL;
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    LLVMInitializeNativeAsmParser();
    host.triple = LLVMGetDefaultTargetTriple();
    host.cpu = LLVMGetHostCPUName();
    host.features = LLVMGetHostCPUFeatures();
    if (LLVMGetTargetFromTriple(host.triple, &host.target, &error)) {
        log_error("LLVM has no target for %s: %s", host.triple, error);
        LLVMDisposeMessage(error);
        return;
    }
    LLVMTargetMachineRef tm = target_machine_new(2);
    LLVMTargetDataRef data = LLVMCreateTargetDataLayout(tm);
    host.layout = LLVMCopyStringRepOfTargetData(data);
    LLVMDisposeTargetData(data);
    LLVMDisposeTargetMachine(tm);
    host.emit = (struct emit_target){
        .triple = host.triple, .data_layout = host.layout, .sm = capability(), .line_info = true};
    host.hash = make_hash();
    host.ok = true;
}

bool
target_init(void)
{
    pthread_once(&host.once, init);
    return host.ok;
}

const struct emit_target *
target_emit(void)
{
    return &host.emit;
}

const char *
target_cpu(void)
{
    return host.cpu;
}

const char *
target_features(void)
{
    return host.features;
}

struct registers
target_registers(void)
{
    if (strstr(host.features, "+avx512f"))
        return (struct registers){32, 16};
    return strstr(host.features, "+avx2") ? (struct registers){16, 8} : (struct registers){16, 4};
}

struct hash128
target_hash(void)
{
    return host.hash;
}

LLVMTargetMachineRef
target_machine_new(int optimize)
{
    static const LLVMCodeGenOptLevel level[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess,
                                                LLVMCodeGenLevelDefault,
                                                LLVMCodeGenLevelAggressive};
    int i = optimize < 0 ? 0 : optimize > 3 ? 3 : optimize;
    return LLVMCreateTargetMachine(host.target, host.triple, host.cpu, host.features, level[i],
                                   LLVMRelocPIC, LLVMCodeModelSmall);
}
