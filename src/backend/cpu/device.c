// SPDX-License-Identifier: MIT
// The CPU as a device: its properties, and the backend's table.
#include "backend/cpu/cpu.h"
#include "backend/cpu/target.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 16 };

static struct backend_device devices[MAX_DEVICES];
static int ndevices;

// ---- facts about the machine
// ------------------------------------------------------------------------------------ Value of the
// first line "key<blanks>: value" of a file such as /proc/cpuinfo.
static bool
read_field(const char *path, const char *key, char *out, size_t size)
{
    char line[512];
    FILE *f = fopen(path, "r");
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, key, strlen(key)))
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = 0;
        snprintf(out, size, "%s", colon);
        found = true;
    }
    if (f)
        fclose(f);
    return found;
}

static bool
read_line(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "r");
    bool ok = f && fgets(out, (int)size, f);
    if (ok)
        out[strcspn(out, "\n")] = 0;
    if (f)
        fclose(f);
    return ok;
}

static int
clock_khz(void)
{
    char text[64];
    if (read_line("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", text, sizeof text))
        return atoi(text);
    if (read_field("/proc/cpuinfo", "cpu MHz", text, sizeof text))
        return (int)(strtod(text, NULL) * 1000);
    return 2000000;
}

// The largest cache, in bytes: programs take it for the size of L2.
static int
cache_bytes(void)
{
    long most = 0;
    for (int i = 0; i < 8; i++) {
        char path[96], text[64], *unit;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (!read_line(path, text, sizeof text))
            break;
        long n = strtol(text, &unit, 10);
        n <<= *unit == 'K' ? 10 : *unit == 'M' ? 20 : 0;
        most = n > most ? n : most;
    }
    return (int)(most ? most : 1 << 20);
}

// The same on every start on this machine, and tells nothing about it.
static void
make_uuid(uint8_t out[16], const char *name, int index)
{
    char id[128] = "";
    read_line("/etc/machine-id", id, sizeof id);
    struct hash128 h = hash128_more(hash128("polywarp cpu device", 19), id, strlen(id));
    h = hash128_more(h, name, strlen(name));
    if (index)
        h = hash128_more(h, &index, sizeof index);
    memcpy(out, &h, 16);
    out[6] = (out[6] & 0x0f) | 0x80; // a name-based UUID of the free form (version 8)
    out[8] = (out[8] & 0x3f) | 0x80;
}

// Device `index` of `n` that share the machine: threads and memory in equal parts.
static void
fill_props(struct backend_props *p, int index, int n)
{
    char cpu[128] = "x86-64";
    read_field("/proc/cpuinfo", "model name", cpu, sizeof cpu);
    int64_t memory = opt_int(OPT_MEMORY);
    uint64_t bytes = memory > 0 ? (uint64_t)memory : memory_total_default();
    int workers = workers_configured() / n;
    *p = (struct backend_props){
        .pci_bus = index,
        .multiprocessors = workers ? workers : 1,
        .clock_khz = clock_khz(),
        .memory_clock_khz = 3200000,
        .bus_bits = 128,
        .l2_bytes = cache_bytes(),
        .total_memory = bytes / (unsigned)n & ~(uint64_t)4095,
        .max_shared_block = CPU_MAX_SHARED,
        .max_shared_block_optin = CPU_MAX_SHARED_OPTIN,
        .max_shared_sm = CPU_MAX_SHARED_SM,
        .max_threads_sm = CPU_MAX_THREADS_SM,
        .max_blocks_sm = CPU_MAX_BLOCKS_SM,
        .integrated = true,
    };
    snprintf(p->name, sizeof p->name, "Polywarp CPU (%s)", cpu);
    make_uuid(p->uuid, p->name, index);
}

// ---- slots
// -------------------------------------------------------------------------------------------------------------
static int
cpu_init(const char **why)
{
    if (!target_init()) {
        *why = "LLVM does not know this processor";
        return 0;
    }
    int64_t asked = opt_int(OPT_CPU_DEVICES);
    ndevices = asked < 1 ? 1 : asked > MAX_DEVICES ? MAX_DEVICES : (int)asked;
    for (int i = 0; i < ndevices; i++) {
        devices[i].index = i;
        fill_props(&devices[i].props, i, ndevices);
    }
    fault_install();
    return ndevices;
}

static struct backend_device *
cpu_device(int index)
{
    return index >= 0 && index < ndevices ? &devices[index] : NULL;
}

static const struct backend_props *
cpu_props(struct backend_device *d)
{
    return &d->props;
}

static int
cpu_occupancy(struct backend_kernel *k, uint32_t threads, size_t dynamic_shared)
{
    enum { RESERVED = 1024 }; // shared memory that the system takes of each block on a GPU
    size_t shared =
        dynamic_shared ? k->facts.dynamic_offset + dynamic_shared : k->facts.static_shared;
    if (!threads || threads > RT_MAX_THREADS || shared > CPU_MAX_SHARED_OPTIN)
        return 0;
    size_t by_threads = CPU_MAX_THREADS_SM / threads,
           by_shared = CPU_MAX_SHARED_SM / (shared + RESERVED);
    size_t n = by_threads < by_shared ? by_threads : by_shared;
    return (int)(n > CPU_MAX_BLOCKS_SM ? CPU_MAX_BLOCKS_SM : n ? n : 1);
}

const struct backend backend_cpu = {
    .name = "cpu",
    .init = cpu_init,
    .device = cpu_device,
    .props = cpu_props,
    .scope_new = cpu_scope_new,
    .scope_free = cpu_scope_free,
    .scope_error = cpu_scope_error,
    .scope_limit = cpu_scope_limit,
    .compile = cpu_compile,
    .kernel_free = cpu_kernel_free,
    .kernel_fits = cpu_kernel_fits,
    .kernel_info = cpu_kernel_info,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .mem_info = cpu_mem_info,
    .grain = 2 << 20,
    .page = 4096,
    .chunk_new = cpu_chunk_new,
    .chunk_import = cpu_chunk_import,
    .chunk_export = cpu_chunk_export,
    .chunk_size = cpu_chunk_size,
    .chunk_free = cpu_chunk_free,
    .reserve = cpu_reserve,
    .unreserve = cpu_unreserve,
    .map = cpu_map,
    .unmap = cpu_unmap,
    .protect = cpu_protect,
    .share = cpu_share,
    .queue_new = cpu_queue_new,
    .queue_free = cpu_queue_free,
    .submit = cpu_submit,
    .queue_idle = cpu_queue_idle,
    .occupancy = cpu_occupancy,
    .flush_printf = cpu_flush_printf,
};

void
backend_cpu_shutdown(void)
{
    launches_abort();
    queues_shutdown();
    pool_shutdown();
}
