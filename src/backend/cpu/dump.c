// SPDX-License-Identifier: MIT
// Dumps of the stages of a compilation. The first line of a text stage tells the command that makes
// it from the stage before; an object has that line in a file beside it.
#include "backend/cpu/jit.h"
#include "backend/cpu/target.h"
#include "base/log.h"
#include "base/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
dump_wanted(const char *stage)
{
    return opt_has(OPT_DUMP, stage) || opt_has(OPT_DUMP, "all");
}

static FILE *
create(const struct compile_request *r, const char *suffix, const char *mode)
{
    char path[4096];
    const char *name = r->dump_name ? r->dump_name : r->kernel;
    snprintf(path, sizeof path, "%s/%.200s%s", opt_text(OPT_DUMP_DIR), name, suffix);
    FILE *f = fopen(path, mode);
    if (!f)
        log_error("cannot write %s: %s", path, strerror(errno));
    return f;
}

static const char *
base_name(const struct compile_request *r)
{
    return r->dump_name ? r->dump_name : r->kernel;
}

// The command that makes `suffix` from the stage before it.
static void
put_command(FILE *f, const struct compile_request *r, const char *suffix)
{
    const char *base = base_name(r);
    int level = r->optimize > 3 ? 3 : r->optimize;
    if (!strcmp(suffix, ".opt.ll"))
        fprintf(
            f, "opt-19 -S -mcpu=%s -mattr=%s '-passes=default<O%d>,globaldce' %s.ll -o %s.opt.ll\n",
            target_cpu(), target_features(), level, base, base);
    else if (!strcmp(suffix, ".s") || !strcmp(suffix, ".o"))
        fprintf(f, "llc-19 -O%d -mcpu=%s -mattr=%s -relocation-model=pic %s %s.opt.ll -o %s%s\n",
                level, target_cpu(), target_features(), suffix[1] == 's' ? "" : "-filetype=obj",
                base, base, suffix);
    else
        fprintf(f, "written by polywarp with POLYWARP_DUMP=ir; kernel %s\n", r->kernel);
}

void
dump_module(const struct compile_request *r, const char *stage, const char *suffix, LLVMModuleRef m)
{
    FILE *f = dump_wanted(stage) ? create(r, suffix, "w") : NULL;
    if (!f)
        return;
    char *text = LLVMPrintModuleToString(m);
    fputs("; ", f);
    put_command(f, r, suffix);
    fputs(text, f);
    LLVMDisposeMessage(text);
    fclose(f);
}

void
dump_assembly(const struct compile_request *r, LLVMTargetMachineRef tm, LLVMModuleRef m)
{
    if (!dump_wanted("asm"))
        return;
    // Code generation changes the module: use a copy.
    LLVMModuleRef copy = LLVMCloneModule(m);
    LLVMMemoryBufferRef text = NULL;
    char *error = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(tm, copy, LLVMAssemblyFile, &error, &text)) {
        log_error("cannot write assembly: %s", error);
        LLVMDisposeMessage(error);
    }
    FILE *f = text ? create(r, ".s", "w") : NULL;
    if (f) {
        fputs("# ", f);
        put_command(f, r, ".s");
        fwrite(LLVMGetBufferStart(text), 1, LLVMGetBufferSize(text), f);
        fclose(f);
    }
    if (text)
        LLVMDisposeMemoryBuffer(text);
    LLVMDisposeModule(copy);
}

void
dump_object(const struct compile_request *r, const void *object, size_t size)
{
    FILE *f = dump_wanted("obj") ? create(r, ".o", "wb") : NULL;
    if (!f)
        return;
    fwrite(object, 1, size, f);
    fclose(f);
    if ((f = create(r, ".o.cmd", "w"))) {
        put_command(f, r, ".o");
        fclose(f);
    }
}
