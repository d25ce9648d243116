// SPDX-License-Identifier: MIT
// PTX lines as DWARF line tables: the compile unit and its files are PTX modules.
#include <string.h>

#include "emit/core.h"

static void
module_flag(struct emitter *e, const char *name, unsigned value)
{
    LLVMMetadataRef v = LLVMValueAsMetadata(LLVMConstInt(e->i32, value, 0));
    LLVMAddModuleFlag(e->mod, LLVMModuleFlagBehaviorWarning, name, strlen(name), v);
}

static LLVMMetadataRef
file_of(struct emitter *e, struct ptx_module *m)
{
    LLVMMetadataRef f = intmap_get(&e->unit->di_file, (uintptr_t)m);
    if (!f) {
        f = LLVMDIBuilderCreateFile(e->unit->di, m->name, strlen(m->name), "", 0);
        intmap_put(&e->unit->di_file, (uintptr_t)m, f);
    }
    return f;
}

void
em_debug_begin(struct emitter *e)
{
    if (!e->target->line_info)
        return;
    module_flag(e, "Debug Info Version", LLVMDebugMetadataVersion());
    module_flag(e, "Dwarf Version", 4);
    e->unit->di = LLVMCreateDIBuilder(e->mod);
    LLVMDIBuilderCreateCompileUnit(e->unit->di, LLVMDWARFSourceLanguageC99,
                                   file_of(e, e->prog->module[0]), "polywarp", 8, 0, "", 0, 0, "",
                                   0, LLVMDWARFEmissionLineTablesOnly, 0, 0, 0, "", 0, "", 0);
}

void
em_debug_end(struct emitter *e)
{
    if (!e->unit->di)
        return;
    LLVMDIBuilderFinalize(e->unit->di);
    LLVMDisposeDIBuilder(e->unit->di);
}

void
em_debug_function(struct emitter *e, struct ptx_func *f)
{
    LLVMDIBuilderRef di = e->unit->di;
    e->fs->scope = NULL;
    if (!di)
        return;
    const char *name = f->sym->name;
    LLVMMetadataRef file = file_of(e, f->sym->module);
    LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(di, file, NULL, 0, LLVMDIFlagZero);
    e->fs->scope =
        LLVMDIBuilderCreateFunction(di, file, name, strlen(name), name, strlen(name), file, f->line,
                                    type, !f->is_entry, 1, f->line, LLVMDIFlagZero, 1);
    LLVMSetSubprogram(e->fs->fn, e->fs->scope);
    LLVMMetadataRef at = LLVMDIBuilderCreateDebugLocation(e->ctx, f->line, 0, e->fs->scope, NULL);
    LLVMSetCurrentDebugLocation2(e->b, at);
    LLVMSetCurrentDebugLocation2(e->fs->entry, at);
}

void
em_debug_line(struct emitter *e, unsigned line, unsigned col)
{
    if (e->fs->scope)
        LLVMSetCurrentDebugLocation2(
            e->b, LLVMDIBuilderCreateDebugLocation(e->ctx, line, col, e->fs->scope, NULL));
}
