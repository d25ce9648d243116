// SPDX-License-Identifier: MIT
// pwc: the offline compiler. Reads PTX, emits all kernels as SIMT IR, verifies and prints them.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "base/vec.h"
#include "pwc.h"

enum stage { STAGE_AST, STAGE_IR, STAGE_OPT, STAGE_NONE };

static const char *const stage_name[] = {"ast", "ir", "opt", "none"};

struct options {
    enum stage stage;
    const char *kernel; // NULL: all
    bool line_info;
    bool fmad;
    bool library;
    unsigned sample; // 0: all
};

const struct emit_target pwc_target = {
    .triple = "x86_64-unknown-linux-gnu",
    .data_layout =
        "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128",
    .sm = 121,
};

static void
usage(FILE *out)
{
    fputs("usage: pwc [options] file.ptx...\n"
          "Compiles PTX to the IR that backends take and prints it. Several files are linked.\n"
          "  --emit=ast|ir|opt|none  what to print: instructions read, IR (default), IR after "
          "mem2reg\n"
          "                          and simplification, or nothing but errors\n"
          "  --kernel=NAME           only this kernel\n"
          "  --line-info             attach PTX lines\n"
          "  --no-fmad               do not contract mul and add\n"
          "pwc --library [--sample=N] library.so...\n"
          "Counts how much of the PTX that libraries carry compiles; of N entries of each.\n",
          out);
}

static bool
parse_stage(const char *name, enum stage *out)
{
    for (unsigned k = 0; k < sizeof stage_name / sizeof *stage_name; k++)
        if (!strcmp(name, stage_name[k])) {
            *out = (enum stage)k;
            return true;
        }
    fprintf(stderr, "pwc: no stage '%s'\n", name);
    return false;
}

static bool
parse_options(int argc, char **argv, struct options *o)
{
    static const struct option longopt[] = {
        {"emit", required_argument, NULL, 'e'},
        {"kernel", required_argument, NULL, 'k'},
        {"line-info", no_argument, NULL, 'g'},
        {"no-fmad", no_argument, NULL, 'f'},
        {"library", no_argument, NULL, 'l'},
        {"sample", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    *o = (struct options){.stage = STAGE_IR, .fmad = true};
    for (int c; (c = getopt_long(argc, argv, "", longopt, NULL)) != -1;) {
        if (c == 'e' && !parse_stage(optarg, &o->stage))
            return false;
        if (c == 'h')
            usage(stdout), exit(0);
        if (c == '?')
            return false;
        o->kernel = c == 'k' ? optarg : o->kernel;
        o->line_info |= c == 'g';
        o->fmad &= c != 'f';
        o->library |= c == 'l';
        o->sample = c == 's' ? (unsigned)strtoul(optarg, NULL, 10) : o->sample;
    }
    if (optind == argc)
        usage(stderr);
    return optind < argc;
}

// ---- input --------------------------------------------------------------------------------------
static char *
read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL; // vec
    char part[65536];
    if (!f) {
        perror(path);
        return NULL;
    }
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) {
        size_t at = vec_len(text);
        vec_extend(text, n);
        memcpy(text + at, part, n);
    }
    fclose(f);
    *size = vec_len(text);
    vec_push(text, 0);
    return text;
}

static void
report(struct ptx_diags *d, const char *name)
{
    struct arena a = {0};
    if (vec_len(d->list))
        fputs(ptx_diags_text(d, &a, name), stderr);
    arena_free(&a);
    ptx_diags_free(d);
    *d = (struct ptx_diags){0};
}

static struct ptx_program *
read_program(char **path, int n)
{
    struct ptx_diags d = {0};
    struct ptx_module **m = calloc((size_t)n, sizeof *m);
    bool good = true;
    for (int k = 0; k < n; k++) {
        size_t size = 0;
        char *text = read_file(path[k], &size);
        m[k] = text ? ptx_parse(text, size, path[k], &d) : NULL;
        vec_free(text);
        report(&d, path[k]);
        good &= m[k] != NULL;
    }
    struct ptx_program *p = good ? ptx_link(m, (uint32_t)n, true, &d) : NULL;
    report(&d, path[0]);
    for (int k = 0; !good && k < n; k++)
        if (m[k])
            ptx_module_free(m[k]);
    free(m);
    return p;
}

// ---- output -------------------------------------------------------------------------------------
static void
print_ast(const struct ptx_func *f)
{
    printf("%s %s: %u instructions, %u registers, %u variables\n",
           f->is_entry ? "kernel" : "function", f->sym->name, f->ninst, f->nreg, f->nvar);
    for (uint32_t k = 0, label = 0; k < f->ninst; k++) {
        const struct ptx_inst *i = &f->inst[k];
        for (; label < f->nlabel && f->label[label]->label == k; label++)
            printf("%s:\n", f->label[label]->name);
        printf("%6u  %s%s", i->line, i->guarded ? "@ " : "", ptx_op_name(i->op));
        for (unsigned n = 0; n < i->nmod; n++)
            printf("%s", ptx_mod_name(i->mod[n]));
        for (unsigned n = 0; n < i->ntype; n++)
            printf("%s", ptx_type_name(i->type[n]));
        printf("  %u operands\n", i->noperand);
    }
}

static bool
optimise(LLVMModuleRef m)
{
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMErrorRef err = LLVMRunPasses(
        m, "function(sroa,instcombine<no-verify-fixpoint>,simplifycfg,early-cse)", NULL, o);
    LLVMDisposePassBuilderOptions(o);
    if (!err)
        return true;
    char *text = LLVMGetErrorMessage(err);
    fprintf(stderr, "pwc: %s\n", text);
    LLVMDisposeErrorMessage(text);
    return false;
}

bool
pwc_verify(LLVMModuleRef m, char **error)
{
    char *text = NULL;
    bool good = !LLVMVerifyModule(m, LLVMReturnStatusAction, &text);
    *error = good ? NULL : strdup(text);
    LLVMDisposeMessage(text);
    return good;
}

static bool
verify(LLVMModuleRef m, const char *kernel)
{
    char *error;
    bool good = pwc_verify(m, &error);
    if (!good)
        fprintf(stderr, "pwc: invalid IR of '%s': %s\n", kernel, error);
    free(error);
    return good;
}

static void
print_module(LLVMModuleRef m)
{
    char *text = LLVMPrintModuleToString(m);
    fputs(text, stdout);
    LLVMDisposeMessage(text);
}

static bool
compile(struct ptx_program *p, struct ptx_func *f, const struct options *o)
{
    struct ptx_diags d = {0};
    struct emit_target target = pwc_target;
    target.line_info = o->line_info;
    LLVMContextRef ctx = LLVMContextCreate();
    LLVMModuleRef m = emit_kernel(ctx, p, f, &target, &d);
    report(&d, f->sym->module->name);
    bool good = m && verify(m, f->sym->name);
    if (good && o->stage == STAGE_OPT)
        good = optimise(m) && verify(m, f->sym->name);
    if (good && o->stage != STAGE_NONE)
        print_module(m);
    if (m)
        LLVMDisposeModule(m);
    LLVMContextDispose(ctx);
    return good;
}

static bool
show(struct ptx_program *p, struct ptx_func *f, const struct options *o)
{
    if (!f->has_body || (o->kernel && strcmp(f->sym->name, o->kernel)))
        return true;
    if (o->stage != STAGE_AST)
        return !f->is_entry || compile(p, f, o);
    print_ast(f);
    return true;
}

int
main(int argc, char **argv)
{
    struct options o;
    if (!parse_options(argc, argv, &o))
        return 2;
    bool good = true;
    for (int k = optind; o.library && k < argc; k++)
        good &= pwc_library(argv[k], o.sample);
    if (o.library)
        return good ? 0 : 1;
    struct ptx_program *p = read_program(argv + optind, argc - optind);
    if (!p)
        return 1;
    for (uint32_t k = 0; k < p->nmodule; k++)
        for (uint32_t n = 0; n < p->module[k]->nfunc; n++)
            good &= show(p, p->module[k]->func[n], &o);
    ptx_program_free(p);
    return good ? 0 : 1;
}
