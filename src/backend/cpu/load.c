// SPDX-License-Identifier: MIT
// Linking of objects into the process with ORC's object layer. Each kernel has a library (JITDylib)
// of its own; names that an object does not define are the runtime's, or variables that the request
// resolves.
#include "backend/cpu/load.h"
#include "base/elf.h"
#include "base/log.h"
#include "base/vec.h"

#include <llvm-c/Core.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Libraries are reused: there is no way to remove one.
struct dylib {
    LLVMOrcJITDylibRef jd;
    const struct compile_request *request; // while code is being loaded
    struct dylib *next;
};

static struct {
    pthread_mutex_t lock;
    LLVMOrcLLJITRef jit;
    struct dylib *free;
    unsigned count;
} orc = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool
failed(const char *what, LLVMErrorRef e)
{
    if (!e)
        return false;
    char *text = LLVMGetErrorMessage(e);
    log_error("%s: %s", what, text);
    LLVMDisposeErrorMessage(text);
    return true;
}

static void
report(void *unused, LLVMErrorRef e)
{
    (void)unused;
    failed("loading code", e);
}

static void *
address_of(const struct compile_request *r, const char *name)
{
    size_t n = sizeof VARIABLE_PREFIX - 1;
    if (strncmp(name, VARIABLE_PREFIX, n))
        return runtime_symbol(name);
    void *p = r->resolve ? (void *)(uintptr_t)r->resolve(r->user, name + n) : NULL;
    if (!p)
        log_error("kernel %s: variable %s has no address", r->kernel, name + n);
    return p;
}

// ORC asks for names that nothing defines yet.
static LLVMErrorRef
define(LLVMOrcDefinitionGeneratorRef generator, void *user, LLVMOrcLookupStateRef *state,
       LLVMOrcLookupKind kind, LLVMOrcJITDylibRef jd, LLVMOrcJITDylibLookupFlags flags,
       LLVMOrcCLookupSet set, size_t n)
{
    (void)generator, (void)state, (void)kind, (void)flags;
    const struct dylib *d = user;
    LLVMOrcCSymbolMapPair *pair = calloc(n ? n : 1, sizeof *pair);
    size_t found = 0;
    for (size_t i = 0; pair && d->request && i < n; i++) {
        void *p = address_of(d->request, LLVMOrcSymbolStringPoolEntryStr(set[i].Name));
        if (!p)
            continue; // ORC reports it by name
        LLVMOrcRetainSymbolStringPoolEntry(set[i].Name);
        pair[found++] = (LLVMOrcCSymbolMapPair){
            set[i].Name, {(uint64_t)(uintptr_t)p, {LLVMJITSymbolGenericFlagsExported, 0}}};
    }
    LLVMErrorRef e =
        found ? LLVMOrcJITDylibDefine(jd, LLVMOrcAbsoluteSymbols(pair, found)) : LLVMErrorSuccess;
    free(pair);
    return e;
}

static bool
start(void)
{
    if (!orc.jit) {
        if (failed("starting the JIT linker", LLVMOrcCreateLLJIT(&orc.jit, NULL)))
            orc.jit = NULL;
        else
            LLVMOrcExecutionSessionSetErrorReporter(LLVMOrcLLJITGetExecutionSession(orc.jit),
                                                    report, NULL);
    }
    return orc.jit != NULL;
}

static struct dylib *
dylib_get(void)
{
    struct dylib *d = NULL;
    pthread_mutex_lock(&orc.lock);
    if (start() && (d = orc.free)) {
        orc.free = d->next;
    } else if (orc.jit && (d = calloc(1, sizeof *d))) {
        char name[32];
        snprintf(name, sizeof name, "kernel%u", orc.count++);
        d->jd = LLVMOrcExecutionSessionCreateBareJITDylib(LLVMOrcLLJITGetExecutionSession(orc.jit),
                                                          name);
        LLVMOrcJITDylibAddGenerator(d->jd,
                                    LLVMOrcCreateCustomCAPIDefinitionGenerator(define, d, NULL));
    }
    pthread_mutex_unlock(&orc.lock);
    return d;
}

static void
dylib_put(struct dylib *d)
{
    failed("unloading a kernel", LLVMOrcJITDylibClear(d->jd));
    pthread_mutex_lock(&orc.lock);
    d->next = orc.free;
    orc.free = d;
    pthread_mutex_unlock(&orc.lock);
}

// ---- look-up
// ---------------------------------------------------------------------------------------------------
struct found {
    bool ok;
    LLVMOrcSymbolStringPoolEntryRef kernel_name;
    uint64_t kernel, facts;
};

// Called before the look-up returns: all work is done on the calling thread.
static void
take_result(LLVMErrorRef e, LLVMOrcCSymbolMapPairs pair, size_t n, void *user)
{
    struct found *f = user;
    if (failed("linking a kernel", e))
        return;
    for (size_t i = 0; i < n; i++)
        *(pair[i].Name == f->kernel_name ? &f->kernel : &f->facts) = pair[i].Sym.Address;
    f->ok = true;
}

static bool
look_up(struct loaded_code *c)
{
    LLVMOrcExecutionSessionRef es = LLVMOrcLLJITGetExecutionSession(orc.jit);
    LLVMOrcCJITDylibSearchOrderElement order = {c->dylib->jd,
                                                LLVMOrcJITDylibLookupFlagsMatchAllSymbols};
    LLVMOrcCLookupSetElement want[2] = {
        {LLVMOrcExecutionSessionIntern(es, KERNEL_SYMBOL), LLVMOrcSymbolLookupFlagsRequiredSymbol},
        {LLVMOrcExecutionSessionIntern(es, FACTS_SYMBOL), LLVMOrcSymbolLookupFlagsRequiredSymbol},
    };
    struct found f = {.kernel_name = want[0].Name};
    LLVMOrcExecutionSessionLookup(es, LLVMOrcLookupKindStatic, &order, 1, want, 2, take_result, &f);
    c->kernel = (const void *)(uintptr_t)f.kernel;
    c->facts = (const void *)(uintptr_t)f.facts;
    return f.ok && c->kernel && c->facts;
}

static void
find_text(struct loaded_code *c)
{
    struct elf e;
    struct elf_symbol s;
    struct elf_section text;
    if (elf_open(c->object, c->object_size, &e) || !elf_find_symbol(&e, KERNEL_SYMBOL, &s))
        return;
    c->text = (uint64_t)(uintptr_t)c->kernel - s.value;
    c->text_size = elf_find_section(&e, ".text", &text) ? text.size : s.size;
}

struct loaded_code *
code_load(const struct compile_request *r, const void *object, size_t size)
{
    struct loaded_code *c = calloc(1, sizeof *c);
    if (!c || !(c->object = malloc(size)) || !(c->dylib = dylib_get())) {
        code_free(c);
        return NULL;
    }
    memcpy(c->object, object, size);
    c->object_size = size;
    c->dylib->request = r;
    LLVMMemoryBufferRef bytes =
        LLVMCreateMemoryBufferWithMemoryRangeCopy((const char *)object, size, "kernel");
    bool ok =
        !failed("loading an object", LLVMOrcLLJITAddObjectFile(orc.jit, c->dylib->jd, bytes)) &&
        look_up(c);
    c->dylib->request = NULL;
    if (!ok) {
        code_free(c);
        return NULL;
    }
    find_text(c);
    return c;
}

void
code_free(struct loaded_code *c)
{
    if (!c)
        return;
    if (c->dylib)
        dylib_put(c->dylib);
    free(c->object);
    free(c);
}

unsigned
code_line(const struct loaded_code *c, uint64_t pc)
{
    struct elf e;
    struct elf_section s;
    if (!c || pc < c->text || pc - c->text >= c->text_size)
        return 0;
    if (elf_open(c->object, c->object_size, &e) || !elf_find_section(&e, ".debug_line", &s) ||
        !s.data)
        return 0;
    return line_table_find(s.data, s.size, pc - c->text);
}
