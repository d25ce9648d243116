// SPDX-License-Identifier: MIT
// `polywarp info`: what our driver offers, asked through the driver API as a program would.
#include "tool.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/options.h"

// CUdevice_attribute
enum {
    WARP_SIZE = 10,
    CLOCK_RATE_KHZ = 13,
    MULTIPROCESSORS = 16,
    CAPABILITY_MAJOR = 75,
    CAPABILITY_MINOR = 76
};

struct driver {
    int (*init)(unsigned);
    int (*version)(int *);
    int (*count)(int *);
    int (*get)(int *device, int ordinal);
    int (*name)(char *, int, int device);
    int (*memory)(size_t *, int device);
    int (*attribute)(int *, int which, int device);
    int (*error_name)(int, const char **);
};

static bool
load(struct driver *d, const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return tool_fail(0, "%s", dlerror());
    const struct {
        const char *name;
        void *to;
    } row[] = {
        {"cuInit", &d->init},
        {"cuDriverGetVersion", &d->version},
        {"cuDeviceGetCount", &d->count},
        {"cuDeviceGet", &d->get},
        {"cuDeviceGetName", &d->name},
        {"cuDeviceTotalMem_v2", &d->memory},
        {"cuDeviceGetAttribute", &d->attribute},
        {"cuGetErrorName", &d->error_name},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        void *fn = dlsym(library, row[i].name);
        if (!fn)
            return tool_fail(0, "%s has no %s", path, row[i].name);
        memcpy(row[i].to, &fn, sizeof fn);
    }
    return true;
}

static const char *
error_name(const struct driver *d, int error)
{
    const char *name;
    return d->error_name(error, &name) ? "unknown error" : name;
}

static int
attribute(const struct driver *d, int which, int device)
{
    int value = 0;
    return d->attribute(&value, which, device) ? 0 : value;
}

static void
add_device(const struct driver *d, int ordinal, struct table *t)
{
    int device;
    size_t bytes = 0;
    char number[12], name[256] = "?", memory[16], capability[24], units[12];
    if (d->get(&device, ordinal))
        return;
    d->name(name, sizeof name, device);
    d->memory(&bytes, device);
    snprintf(number, sizeof number, "%d", ordinal);
    snprintf(capability, sizeof capability, "%d.%d", attribute(d, CAPABILITY_MAJOR, device),
             attribute(d, CAPABILITY_MINOR, device));
    snprintf(units, sizeof units, "%d", attribute(d, MULTIPROCESSORS, device));
    table_row(t, (const char *[]){number, capability, format_size(memory, bytes), units, name});
}

static int
print_devices(const struct driver *d)
{
    struct table t = {.title = {"#", "capability", "memory", "multiprocessors", "name"},
                      .right = {true, true, true, true}};
    int count = 0, error = d->init(0);
    heading("Devices");
    if (!error)
        error = d->count(&count);
    if (error)
        return tool_fail(1, "cuInit: %s (%d); the log tells the reason: POLYWARP_LOG=all",
                         error_name(d, error), error);
    for (int i = 0; i < count; i++)
        add_device(d, i, &t);
    table_print(&t);
    return 0;
}

static void
print_cache(void)
{
    const char *option = opt_text(OPT_CACHE);
    char path[PATH_MAX], size[16];
    struct stat s;
    if (!strcmp(option, "off"))
        field("cache", "off");
    else if (stat(expand_home(path, option), &s))
        field("cache", "%s (empty)", path);
    else
        field("cache", "%s (%s, limit %s)", path, format_size(size, (uint64_t)s.st_size),
              opt_text(OPT_CACHE_SIZE));
}

int
cmd_info(int argc, char **argv)
{
    struct driver d;
    int version = 0;
    (void)argv;
    if (argc > 1)
        return tool_fail(EXIT_USAGE, "info takes no arguments");
    heading("Polywarp %s", POLYWARP_VERSION);
    if (!driver_path())
        return tool_fail(EXIT_TOOL, "no " DRIVER_NAME " in ../lib beside this tool");
    field("library", "%s", driver_path());
    field("audit library", "%s",
          audit_path() ? audit_path()
                       : "not there: programs that open libcuda.so.1 by its "
                         "full path are not redirected");
    if (!load(&d, driver_path()))
        return 1;
    if (!d.version(&version))
        field("CUDA driver API", "%d.%d", version / 1000, version % 1000 / 10);
    field("backend", "%s", opt_text(OPT_DEVICE));
    print_cache();
    char logs[PATH_MAX];
    field("logs", "%s (%s)", expand_home(logs, opt_text(OPT_LOG_DIR)), opt_text(OPT_LOG));
    return print_devices(&d);
}
