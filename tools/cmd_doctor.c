// SPDX-License-Identifier: MIT
// `polywarp doctor`: why a program does not find us, and whether its device code runs.
#define _GNU_SOURCE 1
#include "doctor.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "image/image.h"

enum { LIBRARIES_LIMIT = 400 };

// ---- the program and its libraries -------------------------------------------------------------

struct closure {
    struct object **object; // vec: the program first
    char **missing;         // vec: names not found
};

static bool
known(const struct closure *c, const char *path)
{
    for (size_t i = 0; i < vec_len(c->object); i++) {
        if (!strcmp(c->object[i]->path, path))
            return true;
    }
    return false;
}

static void
add_object(struct closure *c, const char *path)
{
    char real[PATH_MAX];
    struct object *o = malloc(sizeof *o);
    if (!o || !realpath(path, real) || known(c, real) || !object_open(o, real)) {
        free(o);
        return;
    }
    vec_push(c->object, o);
}

static void
add_needed(struct closure *c, const struct object *by)
{
    const char *name;
    for (unsigned i = 0; (name = elf_dynamic_string(&by->elf, DT_NEEDED, i)); i++) {
        char path[PATH_MAX];
        if (!strncmp(name, "ld-linux", 8) || !strcmp(name, "libc.so.6"))
            continue;
        if (find_library(name, by, c->object[0], path) == NOT_FOUND)
            vec_push(c->missing, strdup(name));
        else
            add_object(c, path);
    }
}

static void
gather(struct closure *c, const char *program)
{
    add_object(c, program);
    for (size_t i = 0; i < vec_len(c->object) && i < LIBRARIES_LIMIT; i++)
        add_needed(c, c->object[i]);
}

static void
release(struct closure *c)
{
    for (size_t i = 0; i < vec_len(c->object); i++) {
        object_close(c->object[i]);
        free(c->object[i]);
    }
    for (size_t i = 0; i < vec_len(c->missing); i++)
        free(c->missing[i]);
    vec_free(c->object);
    vec_free(c->missing);
}

// ---- how CUDA is linked ------------------------------------------------------------------------

static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const struct object *
find_object(const struct closure *c, const char *prefix)
{
    for (size_t i = 0; i < vec_len(c->object); i++) {
        if (!strncmp(base_name(c->object[i]->path), prefix, strlen(prefix)))
            return c->object[i];
    }
    return NULL;
}

static bool
needs(const struct object *o, const char *prefix)
{
    const char *name;
    for (unsigned i = 0; (name = elf_dynamic_string(&o->elf, DT_NEEDED, i)); i++) {
        if (!strncmp(name, prefix, strlen(prefix)))
            return true;
    }
    return false;
}

// A static cudart keeps the driver's name as a string.
static bool
mentions_driver(const struct object *o)
{
    return memmem(o->file.data, o->file.size, DRIVER_NAME, sizeof DRIVER_NAME) != NULL;
}

static void
report_runtime(const struct closure *c)
{
    const struct object *program = c->object[0], *cudart = find_object(c, "libcudart.so");
    if (cudart)
        field("CUDA runtime", "shared, %s", cudart->path);
    else if (needs(program, "libcudart.so"))
        field("CUDA runtime", "shared, but libcudart is not found");
    else if (mentions_driver(program) && !needs(program, DRIVER_NAME))
        field("CUDA runtime", "static (or the driver is opened by name)");
    else
        field("CUDA runtime", "none in the program itself");
}

static void
report_needed(const struct closure *c)
{
    const char *name;
    for (size_t i = 0; i < vec_len(c->object); i++) {
        if (needs(c->object[i], DRIVER_NAME))
            field("linked to driver", "%s", i ? c->object[i]->path : "the program itself");
    }
    for (size_t i = 0; i < vec_len(c->missing); i++)
        field("not found", "%s", c->missing[i]);
    if ((name = elf_dynamic_string(&c->object[0]->elf, DT_RPATH, 0)))
        field("DT_RPATH", "%s%s", name, "  (comes before LD_LIBRARY_PATH)");
    if ((name = elf_dynamic_string(&c->object[0]->elf, DT_RUNPATH, 0)))
        field("DT_RUNPATH", "%s", name);
}

// The object that opens the driver: its search paths count.
static const struct object *
opener(const struct closure *c)
{
    const struct object *cudart = find_object(c, "libcudart.so");
    return cudart && !mentions_driver(c->object[0]) ? cudart : c->object[0];
}

static bool
is_static(const struct object *o)
{
    int64_t tag;
    uint64_t value;
    return o->elf.type == ET_EXEC
               ? !elf_interpreter(&o->elf)
               : !elf_interpreter(&o->elf) && !elf_dynamic(&o->elf, 0, &tag, &value);
}

static bool
report_kind(const struct object *o)
{
    const char *interpreter = elf_interpreter(&o->elf);
    field("file", "%s", o->path);
    if (is_static(o)) {
        field("kind", "static program: it loads no libraries, so it cannot use any driver");
        return false;
    }
    field("kind", "%s%s%s", interpreter ? "dynamic program" : "library",
          interpreter ? ", loader " : "", interpreter ? interpreter : "");
    if (!is_privileged(o->path))
        return true;
    field("privileges", "setuid or setgid: the loader ignores LD_LIBRARY_PATH and LD_AUDIT for it; "
                        "put Polywarp's folder into /etc/ld.so.conf.d");
    return false;
}

// ---- advice ------------------------------------------------------------------------------------

// DT_RPATH comes before the environment, so that only the audit library helps.
static void
advise(const char *program, bool privileged, enum found_by by)
{
    if (!library_folder())
        return;
    heading("To run on Polywarp");
    if (privileged) {
        printf("  echo %s > /etc/ld.so.conf.d/00-polywarp.conf && ldconfig\n", library_folder());
        return;
    }
    printf("  polywarp -- %s\n", program ? program : "PROGRAM");
    if (by != BY_RPATH && by != BY_PATH)
        printf("  or: export LD_LIBRARY_PATH=%s\n", library_folder());
}

static int
examine_system(void)
{
    enum found_by by;
    heading("Driver library");
    bool loads = report_our_library(), ours = report_driver(NULL, NULL, &by);
    if (loads && !ours)
        advise(NULL, false, by);
    return !loads;
}

static bool
examine_driver(const struct closure *c)
{
    const struct object *program = c->object[0];
    enum found_by by;
    heading("Driver library");
    bool loads = report_our_library(), ours = report_driver(opener(c), program, &by);
    if (loads && !ours)
        advise(elf_interpreter(&program->elf) ? program->path : NULL, is_privileged(program->path),
               by);
    return loads;
}

static bool
examine_libraries(const struct closure *c)
{
    struct code_report *code = code_report_new();
    for (size_t i = 0; i < vec_len(c->object); i++)
        code_report_add(code, c->object[i]->path);
    return code_report_print(code);
}

static int
examine_program(const char *path)
{
    struct closure c = {0};
    gather(&c, path);
    if (!c.object)
        return tool_fail(1, "%s: cannot be read", path);
    heading("Program");
    bool fine = report_kind(c.object[0]);
    if (!is_static(c.object[0])) {
        report_runtime(&c);
        report_needed(&c);
        fine &= examine_driver(&c);
    }
    fine &= examine_libraries(&c);
    release(&c);
    return !fine;
}

// Fatbins, cubins, PTX, archives and objects: only their code matters.
static int
examine_code(const char *path)
{
    struct code_report *code = code_report_new();
    if (!code_report_add(code, path)) {
        code_report_print(code);
        return tool_fail(1, "%s: no device code that can be read", path);
    }
    return !code_report_print(code);
}

static int
examine_script(const char *path, const struct mapping *m)
{
    const char *text = (const char *)m->data + 2;
    size_t n = 0;
    while (n < m->size - 2 && text[n] != '\n' && n < 200)
        n++;
    return tool_fail(
        1, "%s is a script for '%.*s': examine that program, or the library that holds the kernels",
        path, (int)n, text);
}

static int
examine(const char *path)
{
    struct mapping m;
    struct elf e;
    if (!map_file(path, &m))
        return tool_fail(1, "%s: %s", path, strerror(errno));
    int result;
    bool script = m.size > 2 && m.data[0] == '#' && m.data[1] == '!';
    bool foreign = m.size > 4 && !memcmp(m.data, "\177ELF", 4) && elf_open(m.data, m.size, &e);
    bool program = m.size && !elf_open(m.data, m.size, &e) &&
                   (e.type == ET_EXEC || e.type == ET_DYN) && e.machine != ELF_MACHINE_CUDA;
    if (script)
        result = examine_script(path, &m);
    else if (foreign)
        result = tool_fail(1, "%s is not a 64-bit program", path);
    else
        result = program ? examine_program(path) : examine_code(path);
    unmap_file(&m);
    return result;
}

int
cmd_doctor(int argc, char **argv)
{
    char path[PATH_MAX];
    if (argc > 2)
        return tool_fail(EXIT_USAGE, "doctor takes one program or library");
    if (argc < 2)
        return examine_system();
    if (!find_program(path, argv[1]))
        return tool_fail(EXIT_NOT_FOUND, "%s: not found", argv[1]);
    return examine(path);
}
