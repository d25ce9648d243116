// SPDX-License-Identifier: MIT
// Memory of graphs' allocation nodes. Its address is fixed when the node is made, so the memory
// exists from then until the last graph or executable that refers to it is gone and it is not
// allocated; "allocated" and "free" in between are states that are only counted.
#include "driver/memory.h"
#include "driver/graph.h"
#include "api_impl.h"

#include <stdlib.h>

// Per device, by CUgraphMem_attribute; bytes.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t counter[MAX_DEVICES][4];

static void
count(struct device *d, CUgraphMem_attribute current, CUgraphMem_attribute high, int64_t bytes)
{
    uint64_t *c = counter[d->ordinal];
    pthread_mutex_lock(&lock);
    c[current] += (uint64_t)bytes;
    if (c[current] > c[high])
        c[high] = c[current];
    pthread_mutex_unlock(&lock);
}

static void
count_used(const struct graph_mem *m, int64_t bytes)
{
    count(m->dev, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, bytes);
}

static void
count_reserved(const struct graph_mem *m, int64_t bytes)
{
    count(m->dev, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH,
          bytes);
}

CUresult
graph_mem_new(struct context *c, size_t size, struct graph_mem **out)
{
    void *p = NULL;
    int r = c->dev->be->alloc(c->scope, MEM_DEVICE, size, &p);
    if (r)
        return fail((CUresult)r, "%zu bytes for an allocation node", size);
    struct graph_mem *m = calloc(1, sizeof *m);
    if (!m)
        abort();
    atomic_init(&m->refs, 1);
    m->ctx = c;
    m->dev = c->dev;
    m->addr = p;
    m->size = size;
    mem_add(&(struct mem){
        .addr = (uintptr_t)p, .size = size, .kind = MK_GRAPH, .ctx = c, .dev = c->dev, .graph = m});
    count_reserved(m, (int64_t)size);
    *out = m;
    return CUDA_SUCCESS;
}

struct graph_mem *
graph_mem_ref(struct graph_mem *m)
{
    atomic_fetch_add(&m->refs, 1);
    return m;
}

void
graph_mem_forget(struct graph_mem *m)
{
    m->dev->be->free(m->ctx->scope, MEM_DEVICE, m->addr, m->size);
    m->addr = NULL;
    if (atomic_exchange(&m->live, false))
        count_used(m, -(int64_t)m->size);
    count_reserved(m, -(int64_t)m->size);
}

void
graph_mem_unref(struct graph_mem *m)
{
    if (!m || atomic_fetch_sub(&m->refs, 1) != 1)
        return;
    struct mem entry;
    if (m->addr && mem_remove(m->addr, &entry))
        graph_mem_forget(m);
    free(m);
}

// An allocated memory keeps itself.
void
graph_mem_alloc(struct graph_mem *m)
{
    if (!m->addr || atomic_exchange(&m->live, true))
        return;
    graph_mem_ref(m);
    count_used(m, (int64_t)m->size);
}

bool
graph_mem_free(struct graph_mem *m)
{
    if (!atomic_exchange(&m->live, false))
        return false;
    count_used(m, -(int64_t)m->size);
    graph_mem_unref(m);
    return true;
}

// ---- calls ----------------------------------------------------------------
CUresult
pw_cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute a, void *value)
{
    struct device *d = device_get(device);
    if (!d)
        return fail(CUDA_ERROR_INVALID_DEVICE, "device %d", device);
    if (!value || a < CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT || a > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
        return fail(CUDA_ERROR_INVALID_VALUE, "attribute %d", (int)a);
    pthread_mutex_lock(&lock);
    *(cuuint64_t *)value = counter[d->ordinal][a];
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

// High water marks can be reset to the current values, by writing 0.
CUresult
pw_cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute a, void *value)
{
    struct device *d = device_get(device);
    if (!d)
        return fail(CUDA_ERROR_INVALID_DEVICE, "device %d", device);
    bool high = a == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || a == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
    if (!value || !high || *(cuuint64_t *)value)
        return fail(CUDA_ERROR_INVALID_VALUE, "attribute %d", (int)a);
    pthread_mutex_lock(&lock);
    counter[d->ordinal][a] = counter[d->ordinal][a - 1];
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult
pw_cuDeviceGraphMemTrim(CUdevice device)
{
    return device_get(device) ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_DEVICE, "device %d", device);
}
