// SPDX-License-Identifier: MIT
// `polywarp doctor`: the loader's search for libraries, replayed; its system part is asked of the
// loader itself in a child.
#define _GNU_SOURCE 1
#include "doctor.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

bool
object_open(struct object *o, const char *path)
{
    memset(o, 0, sizeof *o);
    if (!realpath(path, o->path) || !map_file(o->path, &o->file))
        return false;
    if (!elf_open(o->file.data, o->file.size, &o->elf))
        return true;
    unmap_file(&o->file);
    return false;
}

void
object_close(struct object *o)
{
    unmap_file(&o->file);
}

bool
is_privileged(const char *path)
{
    struct stat s;
    return !stat(path, &s) && (s.st_mode & (S_ISUID | S_ISGID));
}

// ---- search paths ------------------------------------------------------------------------------

// One element of a search path, with $ORIGIN replaced by the folder of `owner`.
static void
expand_element(char to[PATH_MAX], const char *element, size_t len, const struct object *owner)
{
    static const char *const token[] = {"$ORIGIN", "${ORIGIN}"};
    size_t n = 0;
    for (size_t i = 0; i < len && n < PATH_MAX - 1;) {
        size_t t = 0;
        while (t < 2 &&
               (len - i < strlen(token[t]) || strncmp(element + i, token[t], strlen(token[t]))))
            t++;
        if (t == 2 || !owner) {
            to[n++] = element[i++];
            continue;
        }
        int folder = (int)(strrchr(owner->path, '/') - owner->path);
        n += (size_t)snprintf(to + n, PATH_MAX - n, "%.*s", folder, owner->path);
        i += strlen(token[t]);
    }
    to[n < PATH_MAX ? n : PATH_MAX - 1] = 0;
}

// Does the loader of x86-64 programs take this file?
static bool
is_usable(const char *path)
{
    struct object o;
    bool usable = object_open(&o, path) && o.elf.type == ET_DYN;
    if (o.file.size)
        object_close(&o);
    return usable;
}

static bool
search(const char *path, const struct object *owner, const char *name, char to[PATH_MAX])
{
    while (path && *path) {
        size_t len = strcspn(path, ":;");
        char folder[PATH_MAX];
        expand_element(folder, path, len, owner);
        if (snprintf(to, PATH_MAX, "%s/%s", len ? folder : ".", name) < PATH_MAX && is_usable(to))
            return true;
        path += len + (path[len] != 0);
    }
    return false;
}

static const char *
runpath(const struct object *o)
{
    return o ? elf_dynamic_string(&o->elf, DT_RUNPATH, 0) : NULL;
}

// DT_RPATH counts only in files without DT_RUNPATH; the program's counts for all libraries.
static bool
search_rpath(const struct object *by, const struct object *main, const char *name,
             char to[PATH_MAX])
{
    if (runpath(by))
        return false;
    if (by && search(elf_dynamic_string(&by->elf, DT_RPATH, 0), by, name, to))
        return true;
    return main && main != by && !runpath(main) &&
           search(elf_dynamic_string(&main->elf, DT_RPATH, 0), main, name, to);
}

// ---- the loader itself -------------------------------------------------------------------------

int
cmd_probe(int argc, char **argv)
{
    struct link_map *map;
    void *library = argc == 2 ? dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL) : NULL;
    if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map))
        return puts(library ? "?" : dlerror()), 1;
    puts(map->l_name);
    fflush(stdout);
    _exit(0); // the library's destructors are no business of ours
}

static void
probe_child(const char *name, int output)
{
    unsetenv("LD_LIBRARY_PATH");
    unsetenv("LD_AUDIT");
    unsetenv("LD_PRELOAD");
    dup2(output, STDOUT_FILENO);
    execl("/proc/self/exe", "polywarp", "__probe", name, (char *)NULL);
    _exit(127);
}

// Loads `name` in a child without LD_*: true and its path, or false and the loader's message.
static bool
probe(const char *name, char to[PATH_MAX])
{
    int ends[2], status = 1;
    size_t n = 0;
    fflush(stdout);
    pid_t child = pipe(ends) ? -1 : fork();
    if (!child)
        probe_child(name, ends[1]);
    if (child < 0)
        return false;
    close(ends[1]);
    for (ssize_t got; n < PATH_MAX - 1 && (got = read(ends[0], to + n, PATH_MAX - 1 - n)) > 0;)
        n += (size_t)got;
    close(ends[0]);
    waitpid(child, &status, 0);
    to[n] = 0;
    to[strcspn(to, "\n")] = 0;
    return WIFEXITED(status) && !WEXITSTATUS(status);
}

// Is an audit library of ours in LD_AUDIT?
static bool
audited(void)
{
    const char *list = getenv("LD_AUDIT");
    return list && strstr(list, AUDIT_NAME);
}

static bool
is_driver_name(const char *name)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    return !strcmp(base, DRIVER_NAME) || !strcmp(base, "libcuda.so");
}

static bool
preloaded(char to[PATH_MAX])
{
    const char *list = getenv("LD_PRELOAD");
    const char *hit = list ? strstr(list, "libcuda.so") : NULL;
    if (!hit)
        return false;
    while (hit > list && hit[-1] != ':' && hit[-1] != ' ')
        hit--;
    snprintf(to, PATH_MAX, "%.*s", (int)strcspn(hit, ": "), hit);
    return true;
}

enum found_by
find_library(const char *name, const struct object *by, const struct object *main,
             char to[PATH_MAX])
{
    bool environment = !main || !is_privileged(main->path);
    if (environment && is_driver_name(name) && audited() && driver_path())
        return snprintf(to, PATH_MAX, "%s", driver_path()), BY_AUDIT;
    if (strchr(name, '/'))
        return snprintf(to, PATH_MAX, "%s", name), access(to, R_OK) ? NOT_FOUND : BY_PATH;
    if (environment && is_driver_name(name) && preloaded(to))
        return BY_PRELOAD;
    if (search_rpath(by, main, name, to))
        return BY_RPATH;
    if (environment && search(getenv("LD_LIBRARY_PATH"), main, name, to))
        return BY_LD_LIBRARY_PATH;
    if (search(runpath(by), by, name, to))
        return BY_RUNPATH;
    return probe(name, to) ? BY_SYSTEM : NOT_FOUND;
}

const char *
found_by_text(enum found_by f)
{
    static const char *const text[] = {
        [BY_PATH] = "by its path",
        [BY_RPATH] = "by DT_RPATH",
        [BY_LD_LIBRARY_PATH] = "by LD_LIBRARY_PATH",
        [BY_RUNPATH] = "by DT_RUNPATH",
        [BY_AUDIT] = "by LD_AUDIT",
        [BY_PRELOAD] = "by LD_PRELOAD",
        [BY_SYSTEM] = "by the system's search path",
        [NOT_FOUND] = "not found",
    };
    return text[f];
}

// ---- reports -----------------------------------------------------------------------------------

static void
report_variable(const char *name)
{
    const char *value = getenv(name);
    field(name, "%s", value && *value ? value : "not set");
}

bool
report_our_library(void)
{
    char message[PATH_MAX];
    const char *ours = driver_path();
    if (!ours) {
        field("Polywarp's",
              "no " DRIVER_NAME " in ../lib beside this tool: build or install Polywarp");
        return false;
    }
    bool loads = probe(ours, message);
    field("Polywarp's", "%s%s%s", ours, loads ? "" : " cannot be loaded: ", loads ? "" : message);
    return loads;
}

bool
report_driver(const struct object *opener, const struct object *main, enum found_by *by)
{
    char path[PATH_MAX];
    *by = find_library(DRIVER_NAME, opener, main, path);
    bool ours = *by != NOT_FOUND && same_file(path, driver_path());
    if (*by == NOT_FOUND)
        field("loader takes", "none: " DRIVER_NAME " is not found");
    else
        field("loader takes", "%s, %s: %s", path, found_by_text(*by),
              ours ? "Polywarp's" : "not Polywarp's");
    report_variable("LD_LIBRARY_PATH");
    report_variable("LD_AUDIT");
    return ours;
}
