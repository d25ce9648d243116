// SPDX-License-Identifier: MIT
// Attributes: what LLVM may assume of pw.* functions and of the functions that emit writes.
#include <string.h>

#include "emit/core.h"

enum {
    PURE = 1,       // reads and writes no memory, has one value for the whole life of a thread
    CONVERGENT = 2, // its meaning depends on which threads reach it together
    NORETURN = 4,
    HIDDEN = 8 // touches only memory that the module cannot see
};

// By prefix; the first that fits counts. What is not here is nounwind only.
static const struct {
    const char *prefix;
    unsigned flags;
} pw_info[] = {
    {"m.", PURE},
    {"sreg.clock", HIDDEN},
    {"sreg.globaltimer", HIDDEN},
    {"sreg.", PURE},
    {"shared.ptr", PURE},
    {"shared.to_generic", PURE},
    {"shared.from_generic", PURE},
    {"local.to_generic", PURE},
    {"local.from_generic", PURE},
    {"isspacep.", PURE},
    {"cluster.arrive", CONVERGENT},
    {"cluster.wait", CONVERGENT},
    {"cluster.", PURE},
    {"mapa", PURE},
    {"getctarank", PURE},
    {"mbarrier.pending", PURE},
    {"prefetch", HIDDEN},
    {"shfl.", CONVERGENT | HIDDEN},
    {"vote.", CONVERGENT | HIDDEN},
    {"match.", CONVERGENT | HIDDEN},
    {"redux.", CONVERGENT | HIDDEN},
    {"elect", CONVERGENT | HIDDEN},
    {"mma.", CONVERGENT | HIDDEN},
    {"matrix.", CONVERGENT},
    {"activemask", CONVERGENT | HIDDEN},
    {"barrier.", CONVERGENT},
    {"warp.sync", CONVERGENT},
    {"trap", NORETURN},
    {"exit", NORETURN},
    {"bad_call", NORETURN},
    {"assertfail", NORETURN},
};

// LLVM 19's encoding of `memory(...)`: two bits each (1 read, 2 write) for argument, inaccessible
// and other memory.
enum { MEMORY_NONE = 0, MEMORY_INACCESSIBLE = 3 << 2 };

void
em_add_attribute(struct emitter *e, LLVMValueRef fn, unsigned index, const char *name,
                 uint64_t value)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    if (kind)
        LLVMAddAttributeAtIndex(fn, index, LLVMCreateEnumAttribute(e->ctx, kind, value));
}

static unsigned
pw_flags(const char *name)
{
    for (size_t k = 0; k < sizeof pw_info / sizeof *pw_info; k++)
        if (!strncmp(name, pw_info[k].prefix, strlen(pw_info[k].prefix)))
            return pw_info[k].flags;
    return 0;
}

void
em_pw_attributes(struct emitter *e, LLVMValueRef fn, const char *name)
{
    const unsigned f = LLVMAttributeFunctionIndex;
    unsigned flags = pw_flags(name);
    em_add_attribute(e, fn, f, "nounwind", 0);
    if (flags & PURE) {
        em_add_attribute(e, fn, f, "memory", MEMORY_NONE);
        em_add_attribute(e, fn, f, "willreturn", 0);
        em_add_attribute(e, fn, f, "speculatable", 0);
    }
    if (flags & HIDDEN)
        em_add_attribute(e, fn, f, "memory", MEMORY_INACCESSIBLE);
    if (flags & CONVERGENT)
        em_add_attribute(e, fn, f, "convergent", 0);
    if (flags & NORETURN)
        em_add_attribute(e, fn, f, "noreturn", 0);
}

// Nothing here says mustprogress: PTX loops may run for ever.
void
em_function_attributes(struct emitter *e, LLVMValueRef fn)
{
    em_add_attribute(e, fn, LLVMAttributeFunctionIndex, "nounwind", 0);
    em_add_attribute(e, fn, LLVMAttributeFunctionIndex, "convergent", 0);
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(e->ctx, "no-builtins", 11, "", 0));
}
