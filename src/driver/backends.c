// SPDX-License-Identifier: MIT
// The only place that names the backends.
#include "driver/driver.h"

#include <string.h>

static const struct {
    const struct backend *be;
    void (*shutdown)(void);
} all[] = {
    // In the order in which "auto" asks them: the first that finds a device serves the program.
    {&backend_cpu, backend_cpu_shutdown},
};
enum { BACKENDS = sizeof all / sizeof *all };

static bool started[BACKENDS];

static void
add_devices(const struct backend *be, int n)
{
    for (int i = 0; i < n && process.ndevices < MAX_DEVICES; i++) {
        struct device *d = &process.device[process.ndevices];
        d->ordinal = process.ndevices++;
        d->be = be;
        d->bd = be->device(i);
        d->props = be->props(d->bd);
        pthread_mutex_init(&d->lock, NULL);
        LOG(LOG_INFO, "device %d: %s (%s)", d->ordinal, d->props->name, be->name);
    }
}

bool
backends_init(const char *option, const char **why)
{
    bool any = !*option || !strcmp(option, "auto");
    *why = "no backend of that name";
    for (int i = 0; i < BACKENDS; i++) {
        if (!any && strcmp(option, all[i].be->name))
            continue;
        int n = all[i].be->init(why);
        if (n > 0) {
            started[i] = true;
            add_devices(all[i].be, n);
            return true;
        }
        LOG(LOG_INFO, "backend %s has no device: %s", all[i].be->name, *why);
    }
    return false;
}

void
backends_shutdown(void)
{
    for (int i = 0; i < BACKENDS; i++)
        if (started[i])
            all[i].shutdown();
}
