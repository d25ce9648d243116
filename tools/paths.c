// SPDX-License-Identifier: MIT
// Where things are: our library, programs, files in memory.
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// Places of the library relative to the folder of the tool: build tree and installation.
static const char *const library_places[] = {"../lib", "../lib/polywarp", "../lib64/polywarp", "."};

static bool
join(char to[PATH_MAX], const char *folder, const char *name)
{
    return snprintf(to, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

static bool
tool_folder(char to[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", to, PATH_MAX - 1);
    if (n <= 0)
        return false;
    to[n] = 0;
    *strrchr(to, '/') = 0;
    return true;
}

const char *
library_folder(void)
{
    static char found[PATH_MAX];
    char tool[PATH_MAX], place[PATH_MAX], file[PATH_MAX];
    if (*found || !tool_folder(tool))
        return *found ? found : NULL;
    for (size_t i = 0; i < sizeof library_places / sizeof *library_places; i++) {
        if (join(place, tool, library_places[i]) && join(file, place, DRIVER_NAME) &&
            !access(file, R_OK))
            return realpath(place, found);
    }
    return NULL;
}

static const char *
in_library_folder(char to[PATH_MAX], const char *name)
{
    const char *folder = library_folder();
    return folder && join(to, folder, name) && !access(to, R_OK) ? to : NULL;
}

const char *
driver_path(void)
{
    static char path[PATH_MAX];
    return in_library_folder(path, DRIVER_NAME);
}

const char *
audit_path(void)
{
    static char path[PATH_MAX];
    return in_library_folder(path, AUDIT_NAME);
}

bool
same_file(const char *a, const char *b)
{
    struct stat sa, sb;
    return a && b && !stat(a, &sa) && !stat(b, &sb) && sa.st_dev == sb.st_dev &&
           sa.st_ino == sb.st_ino;
}

char *
expand_home(char to[PATH_MAX], const char *path)
{
    const char *home = getenv("HOME");
    if (path[0] == '~' && path[1] == '/' && home)
        snprintf(to, PATH_MAX, "%s%s", home, path + 1);
    else
        snprintf(to, PATH_MAX, "%s", path);
    return to;
}

static bool
is_file(const char *path)
{
    struct stat s;
    return !stat(path, &s) && S_ISREG(s.st_mode);
}

bool
find_program(char to[PATH_MAX], const char *name)
{
    if (strchr(name, '/')) {
        snprintf(to, PATH_MAX, "%s", name);
        return is_file(to);
    }
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
        size_t len = strcspn(at, ":");
        snprintf(to, PATH_MAX, "%.*s/%s", (int)len, at, name);
        if (is_file(to) && !access(to, X_OK))
            return true;
        at += len + (at[len] == ':');
    }
    snprintf(to, PATH_MAX, "%s", name); // a library or fatbin in the working folder
    return is_file(to);
}

bool
map_file(const char *path, struct mapping *out)
{
    struct stat s;
    *out = (struct mapping){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool ok = !fstat(fd, &s);
    if (ok && !S_ISREG(s.st_mode)) {
        errno = EINVAL;
        ok = false;
    }
    if (ok && s.st_size) {
        void *p = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        ok = p != MAP_FAILED;
        if (ok)
            *out = (struct mapping){p, (size_t)s.st_size};
    }
    close(fd);
    return ok;
}

void
unmap_file(struct mapping *m)
{
    if (m->size)
        munmap((void *)m->data, m->size);
    *m = (struct mapping){0};
}
