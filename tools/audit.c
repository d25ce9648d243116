// SPDX-License-Identifier: MIT
// rtld-audit library (LD_AUDIT): sends every look-up of libcuda to Polywarp's, by full path or
// RPATH too.
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DRIVER_NAME "libcuda.so.1"
#define EXPORT      __attribute__((visibility("default")))

static char driver[PATH_MAX]; // beside this library; "" if it is not there

static void
find_driver(void)
{
    Dl_info self;
    if (!dladdr((void *)find_driver, &self) || !self.dli_fname)
        return;
    const char *slash = strrchr(self.dli_fname, '/');
    int len = slash ? (int)(slash - self.dli_fname) : 1;
    if (snprintf(driver, sizeof driver, "%.*s/" DRIVER_NAME, len, slash ? self.dli_fname : ".") >=
            (int)sizeof driver ||
        access(driver, R_OK))
        driver[0] = 0;
}

EXPORT unsigned
la_version(unsigned version)
{
    find_driver();
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

EXPORT char *
la_objsearch(const char *name, uintptr_t *cookie, unsigned flag)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    (void)cookie;
    (void)flag;
    if (driver[0] && (!strcmp(base, DRIVER_NAME) || !strcmp(base, "libcuda.so")))
        return driver;
    return (char *)name;
}
