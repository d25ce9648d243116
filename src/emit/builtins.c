// SPDX-License-Identifier: MIT
// Functions that every device has and no PTX defines.
#include <string.h>

#include "emit/core.h"

// arg and ret: l i64, i i32, v void, d three i32 (a dim3 by value).
static const struct builtin {
    const char *name, *pw;
    char ret;
    const char *arg;
    bool noreturn;
} builtins[] = {
    {"vprintf", "vprintf", 'i', "ll", false},
    {"malloc", "malloc", 'l', "l", false},
    {"free", "free", 'v', "l", false},
    {"__assertfail", "assertfail", 'v', "llill", true},
    {"cudaGraphSetConditional", "graph.set_condition", 'v', "li", false},
};

// What the device runtime's PTX asks of a driver, by the names less __cuda_syscall_ and cnpv2 or cnp.
static const struct builtin device_calls[] = {
    {"GetParameterBufferV2", "device.buffer", 'l', "lddi", false},
    {"LaunchDeviceV2", "device.launch", 'i', "ll", false},
    {"GetParameterBuffer", "device.memory", 'l', "ii", false},
    {"LaunchDevice", "device.launch_memory", 'i', "llllil", false},
    {"StreamCreate", "device.stream_create", 'i', "li", false},
    {"StreamDestroy", "device.stream_destroy", 'i', "l", false},
    {"StreamWaitEvent", "device.stream_wait", 'i', "lli", false},
    {"EventCreate", "device.event_create", 'i', "li", false},
    {"EventDestroy", "device.event_destroy", 'i', "l", false},
    {"EventRecord", "device.event_record", 'i', "ll", false},
    {"GetDeviceCount", "device.count", 'i', "l", false},
    {"GetDevice", "device.number", 'i', "l", false},
    {"DeviceGetAttribute", "device.attribute", 'i', "lii", false},
    {"GetLimit", "device.limit", 'i', "li", false},
    {"FuncGetAttribute", "device.function", 'i', "lil", false},
    {"MaxActiveBlocksPerMultiprocessor", "device.occupancy", 'i', "llil", false},
    {"MaxActiveBlocksPerMultiprocessorWithFlags", "device.occupancy_flags", 'i', "llili", false},
    {"GetCacheConfig", "device.cache_config", 'i', "l", false},
    {"GetSharedMemConfig", "device.shared_config", 'i', "l", false},
    {"GetLastError", "device.error", 'i', "", false},
    {"SetLastError", "device.set_error", 'i', "i", false},
};

// The name behind a prefix of the device runtime's, or NULL.
static const char *
device_name(const char *name)
{
    static const char syscall[] = "__cuda_syscall_";
    if (!strncmp(name, syscall, sizeof syscall - 1))
        name += sizeof syscall - 1;
    if (strncmp(name, "cnp", 3))
        return NULL;
    return strncmp(name, "cnpv2", 5) ? name + 3 : name + 5;
}

static LLVMTypeRef
letter_type(struct emitter *e, char c)
{
    return c == 'l' ? e->i64 : c == 'i' ? e->i32 : e->void_;
}

static bool
dim3_arg(struct emitter *e, const struct ptx_inst *i, unsigned k, LLVMValueRef out[3])
{
    const struct ptx_operand *o = &i->call->arg[k];
    if ((o->kind != PTX_O_SYM) || (o->sym->kind != PTX_SYM_VAR && o->sym->kind != PTX_SYM_PARAM) || o->sym->var->size != 12)
        return false;
    for (unsigned d = 0; d < 3; d++) {
        LLVMValueRef at = em_int(e, e->i64, 4 * d);
        LLVMValueRef p = LLVMBuildGEP2(e->b, e->i8, em_var_pointer(e, o->sym), &at, 1, "");
        out[d] = LLVMBuildLoad2(e->b, e->i32, p, "");
        LLVMSetAlignment(out[d], 4);
    }
    return true;
}

static bool
call_one(struct emitter *e, const struct ptx_inst *i, const struct builtin *b)
{
    LLVMValueRef arg[12];
    unsigned n = (unsigned)strlen(b->arg), used = 0;
    if (i->call->narg != n)
        return em_refuse(e, i, "passes %u arguments to '%s', which takes %u", i->call->narg,
                         b->name, n);
    for (unsigned k = 0; k < n; k++) {
        if (b->arg[k] != 'd')
            arg[used++] = em_call_arg(e, i, k, letter_type(e, b->arg[k]));
        else if (!dim3_arg(e, i, k, &arg[(used += 3) - 3]))
            return em_refuse(e, i, "passes no dim3 to '%s'", b->name);
    }
    LLVMValueRef v = em_pw(e, b->pw, letter_type(e, b->ret), arg, used);
    if (b->noreturn)
        em_unreachable(e);
    else if (b->ret != 'v')
        em_call_result(e, i, 0, v);
    return true;
}

bool
em_call_builtin(struct emitter *e, const struct ptx_inst *i, const char *name)
{
    for (size_t k = 0; k < sizeof builtins / sizeof *builtins; k++)
        if (!strcmp(builtins[k].name, name))
            return call_one(e, i, &builtins[k]);
    const char *device = device_name(name);
    for (size_t k = 0; device && k < sizeof device_calls / sizeof *device_calls; k++)
        if (!strcmp(device_calls[k].name, device))
            return call_one(e, i, &device_calls[k]);
    return em_refuse(e, i, "of '%s', which is not defined", name);
}
