// SPDX-License-Identifier: MIT
// Virtual memory management: ranges of addresses, mappings of physical memory in them, access rights.
#include "driver/vmm.h"
#include "api_impl.h"

#include <string.h>

struct reservation {
    uintptr_t addr;
    size_t size;
    struct device *dev;
};

struct mapping {
    uintptr_t addr;
    size_t size;
    struct physical *memory;
    uint8_t access[MAX_DEVICES]; // CU_MEM_ACCESS_FLAGS_*
};

// Guarded by vmm_lock:
static struct reservation *reservations; // vec
static struct mapping *mappings;         // vec, ascending

// ---- ranges ---------------------------------------------------------------
// Ranges are of the process; any device of the backend at hand can make them.
static struct device *
current_device(void)
{
    struct context *c = ctx_current();
    return c ? c->dev : device_get(0);
}

CUresult
pw_cuMemAddressReserve(CUdeviceptr *out, size_t size, size_t alignment, CUdeviceptr addr, unsigned long long flags)
{
    struct device *d = current_device();
    void *p;
    if (!d->be->reserve)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "the %s backend reserves no addresses", d->be->name);
    if (!out || flags || !size || size % d->be->grain || alignment & (alignment - 1))
        return fail(CUDA_ERROR_INVALID_VALUE, "output %p, %zu bytes aligned to %zu, flags %llu", (void *)out, size, alignment, flags);
    if (alignment < d->be->grain)
        alignment = d->be->grain;
    int e = d->be->reserve(d->bd, size, alignment, (uintptr_t)addr, &p);
    if (e)
        return fail((CUresult)e, "%zu bytes of addresses", size);
    pthread_mutex_lock(&vmm_lock);
    vec_push(reservations, ((struct reservation){(uintptr_t)p, size, d}));
    pthread_mutex_unlock(&vmm_lock);
    *out = (CUdeviceptr)(uintptr_t)p;
    return CUDA_SUCCESS;
}

// First mapping that ends behind addr.
static size_t
mapping_from(uintptr_t addr)
{
    size_t i = 0;
    while (i < vec_len(mappings) && mappings[i].addr + mappings[i].size <= addr)
        i++;
    return i;
}

static bool
any_mapped(uintptr_t addr, size_t size)
{
    size_t i = mapping_from(addr);
    return i < vec_len(mappings) && mappings[i].addr < addr + size;
}

CUresult
pw_cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    CUresult r = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&vmm_lock);
    for (size_t i = 0; i < vec_len(reservations); i++) {
        struct reservation v = reservations[i];
        if (v.addr != ptr || v.size != size || any_mapped(v.addr, size))
            continue;
        v.dev->be->unreserve(v.dev->bd, (void *)v.addr, size);
        vec_swap_remove(reservations, i);
        r = CUDA_SUCCESS;
        break;
    }
    pthread_mutex_unlock(&vmm_lock);
    return r ? fail(r, "0x%llx, %zu bytes: not reserved so, or still mapped", (unsigned long long)ptr, size) : r;
}

static bool
reserved(uintptr_t addr, size_t size)
{
    for (size_t i = 0; i < vec_len(reservations); i++)
        if (addr >= reservations[i].addr && addr - reservations[i].addr <= reservations[i].size &&
            size <= reservations[i].size - (addr - reservations[i].addr))
            return true;
    return false;
}

struct physical *
mapped_at(uintptr_t addr)
{
    size_t i = mapping_from(addr);
    return i < vec_len(mappings) && mappings[i].addr <= addr ? mappings[i].memory : NULL;
}

// ---- mappings -------------------------------------------------------------
static void
insert(struct mapping m)
{
    size_t i = mapping_from(m.addr);
    vec_extend(mappings, 1);
    memmove(mappings + i + 1, mappings + i, (vec_len(mappings) - 1 - i) * sizeof *mappings);
    mappings[i] = m;
}

// Holds vmm_lock.
static CUresult
map(uintptr_t at, size_t size, size_t offset, CUmemGenericAllocationHandle handle)
{
    struct physical *p = physical_get(handle);
    if (!p)
        return fail(CUDA_ERROR_INVALID_VALUE, "0x%llx is no memory handle", handle);
    size_t grain = p->dev->be->grain;
    if (!at || !size || at % grain || size % grain || offset || size > p->size)
        return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes from %zu on of memory of %zu bytes at %p", size, offset, p->size, (void *)at);
    if (!reserved(at, size) || any_mapped(at, size))
        return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes at %p are not reserved, or mapped already", size, (void *)at);
    int e = p->dev->be->map(p->chunk, offset, (void *)at, size);
    if (e)
        return fail((CUresult)e, "mapping %zu bytes at %p", size, (void *)at);
    p->mappings++;
    insert((struct mapping){.addr = at, .size = size, .memory = p});
    mem_add(&(struct mem){.addr = at, .size = size, .kind = MK_VMM, .dev = p->dev});
    return CUDA_SUCCESS;
}

CUresult
pw_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    if (flags)
        return fail(CUDA_ERROR_INVALID_VALUE, "flags %llu", flags);
    pthread_mutex_lock(&vmm_lock);
    CUresult r = map((uintptr_t)ptr, size, offset, handle);
    pthread_mutex_unlock(&vmm_lock);
    return r;
}

// [addr, addr + size) is made of whole mappings without a gap: the first one and how many.
static bool
whole(uintptr_t addr, size_t size, size_t *first, size_t *count)
{
    size_t i = mapping_from(addr);
    uintptr_t at = addr, end = addr + size;
    *first = i;
    while (at < end && i < vec_len(mappings) && mappings[i].addr == at && mappings[i].size <= end - at)
        at += mappings[i++].size;
    *count = i - *first;
    return addr && size && at == end;
}

// Work that was submitted may use the mappings.
static void
wait_for_work(void)
{
    struct context *c = ctx_current();
    if (c && c->alive)
        streams_wait(c);
    for (int i = 0; i < process.ndevices; i++) {
        struct context *p = ctx_primary_handle(&process.device[i]);
        if (p && p != c && p->alive)
            streams_wait(p);
    }
}

static void
unmap(const struct mapping *m)
{
    struct mem gone;
    struct device *d = m->memory->dev;
    mem_remove((void *)m->addr, &gone);
    d->be->unmap(d->bd, (void *)m->addr, m->size);
    physical_drop(m->memory, &m->memory->mappings);
}

CUresult
pw_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    size_t first, count;
    wait_for_work();
    pthread_mutex_lock(&vmm_lock);
    bool ok = whole((uintptr_t)ptr, size, &first, &count);
    for (size_t i = first; ok && i < first + count; i++)
        unmap(&mappings[i]);
    if (ok) {
        memmove(mappings + first, mappings + first + count, (vec_len(mappings) - first - count) * sizeof *mappings);
        while (count--)
            (void)vec_pop(mappings);
    }
    pthread_mutex_unlock(&vmm_lock);
    return ok ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_VALUE, "0x%llx, %zu bytes: not made of whole mappings", (unsigned long long)ptr, size);
}

// ---- access ---------------------------------------------------------------
static CUresult
check_access(const CUmemAccessDesc *d)
{
    if (d->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && d->flags != CU_MEM_ACCESS_FLAGS_PROT_READ && d->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return fail(CUDA_ERROR_INVALID_VALUE, "access flags %d", (int)d->flags);
    if (d->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return fail(CUDA_ERROR_INVALID_VALUE, "location type %d", (int)d->location.type);
    if (!device_get(d->location.id))
        return fail(CUDA_ERROR_INVALID_DEVICE, "device %d of %d", d->location.id, process.ndevices);
    return CUDA_SUCCESS;
}

static void
set_flags(struct mem *m, void *flags)
{
    m->flags = *(unsigned *)flags;
}

// What any device may do is what the addresses allow.
static CUresult
allow(struct mapping *m, const CUmemAccessDesc *desc, size_t count)
{
    struct device *d = m->memory->dev;
    unsigned all = 0;
    for (size_t i = 0; i < count; i++)
        m->access[desc[i].location.id] = (uint8_t)desc[i].flags;
    for (int i = 0; i < MAX_DEVICES; i++)
        all |= m->access[i];
    bool write = all == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    int e = d->be->protect(d->bd, (void *)m->addr, m->size, all != 0, write);
    if (e)
        return fail((CUresult)e, "access to %zu bytes at %p", m->size, (void *)m->addr);
    mem_update((void *)m->addr, set_flags, &all);
    return CUDA_SUCCESS;
}

CUresult
pw_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    CUresult r = CUDA_SUCCESS;
    size_t first, n;
    if (!desc || !count)
        return fail(CUDA_ERROR_INVALID_VALUE, "%zu descriptions at %p", count, (void *)desc);
    for (size_t i = 0; r == CUDA_SUCCESS && i < count; i++)
        r = check_access(&desc[i]);
    if (r != CUDA_SUCCESS)
        return r;
    pthread_mutex_lock(&vmm_lock);
    if (!whole((uintptr_t)ptr, size, &first, &n))
        r = fail(CUDA_ERROR_INVALID_VALUE, "0x%llx, %zu bytes: not made of whole mappings", (unsigned long long)ptr, size);
    for (size_t i = first; r == CUDA_SUCCESS && i < first + n; i++)
        r = allow(&mappings[i], desc, count);
    pthread_mutex_unlock(&vmm_lock);
    return r;
}

CUresult
pw_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr)
{
    if (!flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE || !device_get(location->id))
        return fail(CUDA_ERROR_INVALID_VALUE, "output %p, location %p", (void *)flags, (void *)location);
    pthread_mutex_lock(&vmm_lock);
    size_t i = mapping_from((uintptr_t)ptr);
    bool found = i < vec_len(mappings) && mappings[i].addr <= ptr;
    if (found)
        *flags = mappings[i].access[location->id];
    pthread_mutex_unlock(&vmm_lock);
    return found ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_VALUE, "nothing is mapped at 0x%llx", (unsigned long long)ptr);
}
