// SPDX-License-Identifier: MIT
// Managed memory: allocation, and the advice given for ranges of it, which is kept to be told and
// otherwise not acted on: host and device see one copy.
#include "driver/memory.h"
#include "api_impl.h"

#include <string.h>

#define PAGE_MASK ((uintptr_t)4095)

struct advice {
    bool read_mostly;
    CUmemLocation preferred, prefetched;
    uint32_t accessed_by; // bit per device, HOST_BIT for the host
};

// Ranges with advice: sorted, disjoint; what no range covers has the default.
struct range {
    uintptr_t start, end;
    struct advice a;
};

enum { HOST_BIT = MAX_DEVICES };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *ranges; // vec
static const CUmemLocation nowhere = {CU_MEM_LOCATION_TYPE_INVALID, 0};

static struct range
plain(uintptr_t start, uintptr_t end)
{
    return (struct range){start, end, {.preferred = nowhere, .prefetched = nowhere}};
}

// Splits so that a range begins or ends at `at`.
static void
split(uintptr_t at)
{
    for (size_t i = 0; i < vec_len(ranges); i++) {
        if (ranges[i].start < at && at < ranges[i].end) {
            struct range tail = ranges[i];
            tail.start = at;
            ranges[i].end = at;
            vec_extend(ranges, 1);
            memmove(ranges + i + 2, ranges + i + 1, (vec_len(ranges) - i - 2) * sizeof *ranges);
            ranges[i + 1] = tail;
            return;
        }
    }
}

static void
insert(size_t i, struct range r)
{
    vec_extend(ranges, 1);
    memmove(ranges + i + 1, ranges + i, (vec_len(ranges) - i - 1) * sizeof *ranges);
    ranges[i] = r;
}

// Makes ranges cover [start, end) exactly and calls fn for each.
static void
change(uintptr_t start, uintptr_t end, void (*fn)(struct advice *a, const void *user),
       const void *user)
{
    pthread_mutex_lock(&lock);
    split(start);
    split(end);
    size_t i = 0;
    while (i < vec_len(ranges) && ranges[i].end <= start)
        i++;
    for (uintptr_t at = start; at < end; at = ranges[i++].end) {
        if (i == vec_len(ranges) || ranges[i].start > at)
            insert(i,
                   plain(at, i < vec_len(ranges) && ranges[i].start < end ? ranges[i].start : end));
        fn(&ranges[i].a, user);
    }
    pthread_mutex_unlock(&lock);
}

void
managed_forget(uintptr_t addr, size_t size)
{
    pthread_mutex_lock(&lock);
    split(addr);
    split(addr + size);
    size_t kept = 0;
    for (size_t i = 0; i < vec_len(ranges); i++)
        if (ranges[i].end <= addr || ranges[i].start >= addr + size)
            ranges[kept++] = ranges[i];
    while (vec_len(ranges) > kept)
        (void)vec_pop(ranges);
    pthread_mutex_unlock(&lock);
}

// ---- checks ---------------------------------------------------------------
static CUresult
managed_range(CUdeviceptr p, size_t size)
{
    struct mem m;
    if (!p || !size || !mem_find((void *)(uintptr_t)p, &m) || m.kind != MK_MANAGED ||
        size > ((m.addr + m.size + PAGE_MASK) & ~PAGE_MASK) - p)
        return fail(CUDA_ERROR_INVALID_VALUE, "0x%llx, %zu bytes: not managed memory",
                    (unsigned long long)p, size);
    return CUDA_SUCCESS;
}

static CUresult
check_location(CUmemLocation l)
{
    switch (l.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return device_get(l.id) ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_DEVICE, "device %d", l.id);
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        return CUDA_SUCCESS;
    default:
        return fail(CUDA_ERROR_INVALID_VALUE, "location type %d", (int)l.type);
    }
}

// The older calls name a device or CU_DEVICE_CPU.
static CUmemLocation
device_location(CUdevice d)
{
    if (d == CU_DEVICE_CPU)
        return (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, 0};
    return (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, d};
}

// ---- calls ----------------------------------------------------------------
CUresult
pw_cuMemAllocManaged(CUdeviceptr *out, size_t size, unsigned flags)
{
    struct context *c;
    CUresult r = ctx_need(&c);
    if (r)
        return r;
    if (!out || !size || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes, flags 0x%x", size, flags);
    r = capture_check_unsafe_call();
    void *p;
    if (!r)
        r = mem_new(c, MK_MANAGED, size, flags, &p);
    if (!r)
        *out = (CUdeviceptr)(uintptr_t)p;
    return r;
}

struct advise {
    CUmem_advise what;
    CUmemLocation location;
};

static void
advise(struct advice *a, const void *user)
{
    const struct advise *v = user;
    uint32_t bit =
        1u << (v->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? v->location.id : (int)HOST_BIT);
    switch (v->what) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
        a->read_mostly = true;
        break;
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
        a->read_mostly = false;
        break;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        a->preferred = v->location;
        break;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        a->preferred = nowhere;
        break;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
        a->accessed_by |= bit;
        break;
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
        a->accessed_by &= ~bit;
        break;
    }
}

CUresult
pw_cuMemAdvise_v2(CUdeviceptr p, size_t size, CUmem_advise what, CUmemLocation location)
{
    CUresult r = managed_range(p, size);
    if (r)
        return r;
    if (what < CU_MEM_ADVISE_SET_READ_MOSTLY || what > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
        return fail(CUDA_ERROR_INVALID_VALUE, "advice %d", (int)what);
    bool placed = what == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
                  what == CU_MEM_ADVISE_SET_ACCESSED_BY || what == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    r = placed ? check_location(location) : CUDA_SUCCESS;
    if (r)
        return r;
    if (!placed)
        location = nowhere;
    change(p & ~PAGE_MASK, (p + size + PAGE_MASK) & ~PAGE_MASK, advise,
           &(struct advise){what, location});
    return CUDA_SUCCESS;
}

CUresult
pw_cuMemAdvise(CUdeviceptr p, size_t size, CUmem_advise what, CUdevice device)
{
    return pw_cuMemAdvise_v2(p, size, what, device_location(device));
}

static void
prefetched(struct advice *a, const void *location)
{
    a->prefetched = *(const CUmemLocation *)location;
}

CUresult
pw_cuMemPrefetchAsync_v2(CUdeviceptr p, size_t size, CUmemLocation location, unsigned flags,
                         CUstream stream)
{
    struct stream *s;
    CUresult r = stream_resolve(stream, &s);
    if (!r)
        r = managed_range(p, size);
    if (!r)
        r = flags ? fail(CUDA_ERROR_INVALID_VALUE, "flags 0x%x", flags) : check_location(location);
    if (r)
        return r;
    change(p & ~PAGE_MASK, (p + size + PAGE_MASK) & ~PAGE_MASK, prefetched, &location);
    return CUDA_SUCCESS;
}

CUresult
pw_cuMemPrefetchAsync(CUdeviceptr p, size_t size, CUdevice device, CUstream stream)
{
    return pw_cuMemPrefetchAsync_v2(p, size, device_location(device), 0, stream);
}

CUresult
pw_cuStreamAttachMemAsync(CUstream stream, CUdeviceptr p, size_t length, unsigned flags)
{
    struct stream *s;
    CUresult r = stream_resolve(stream, &s);
    if (r)
        return r;
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
        flags != CU_MEM_ATTACH_SINGLE)
        return fail(CUDA_ERROR_INVALID_VALUE, "flags 0x%x", flags);
    if (s->legacy && flags == CU_MEM_ATTACH_SINGLE)
        return fail(CUDA_ERROR_INVALID_VALUE, "memory cannot be attached to the legacy stream");
    struct mem m;
    if (!mem_find((void *)(uintptr_t)p, &m) || (length && (m.addr != p || length != m.size)))
        return fail(CUDA_ERROR_INVALID_VALUE, "0x%llx, %zu bytes", (unsigned long long)p, length);
    return CUDA_SUCCESS; // host and device see one copy: nothing to restrict
}

// ---- queries --------------------------------------------------------------
static bool
same_place(CUmemLocation a, CUmemLocation b)
{
    return a.type == b.type && (a.type != CU_MEM_LOCATION_TYPE_DEVICE || a.id == b.id);
}

// What holds for all pages of the range.
static struct advice
common(uintptr_t start, uintptr_t end)
{
    struct advice all = {0};
    bool first = true;
    pthread_mutex_lock(&lock);
    size_t i = 0;
    while (i < vec_len(ranges) && ranges[i].end <= start)
        i++;
    while (start < end) {
        struct range r = i < vec_len(ranges) && ranges[i].start <= start
                             ? ranges[i++]
                             : plain(start, i < vec_len(ranges) ? ranges[i].start : end);
        if (first)
            all = r.a;
        all.read_mostly &= r.a.read_mostly;
        all.accessed_by &= r.a.accessed_by;
        all.preferred = same_place(all.preferred, r.a.preferred) ? all.preferred : nowhere;
        all.prefetched = same_place(all.prefetched, r.a.prefetched) ? all.prefetched : nowhere;
        first = false;
        start = r.end;
    }
    pthread_mutex_unlock(&lock);
    return all;
}

static int
location_as_device(CUmemLocation l)
{
    return l.type == CU_MEM_LOCATION_TYPE_DEVICE    ? l.id
           : l.type == CU_MEM_LOCATION_TYPE_INVALID ? CU_DEVICE_INVALID
                                                    : CU_DEVICE_CPU;
}

// Fills the array with the devices that access the range, CU_DEVICE_INVALID behind them.
static void
list_accessors(uint32_t mask, int *out, size_t n)
{
    size_t k = 0;
    for (int d = 0; d <= HOST_BIT && k < n; d++)
        if (mask >> d & 1)
            out[k++] = d == HOST_BIT ? CU_DEVICE_CPU : d;
    while (k < n)
        out[k++] = CU_DEVICE_INVALID;
}

CUresult
pw_cuMemRangeGetAttribute(void *data, size_t size, CUmem_range_attribute attribute, CUdeviceptr p,
                          size_t count)
{
    CUresult r = managed_range(p, count);
    if (r)
        return r;
    bool list = attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
    if (!data || (list ? !size || size % sizeof(int) : size != sizeof(int)))
        return fail(CUDA_ERROR_INVALID_VALUE, "result at %p of %zu bytes", data, size);
    struct advice a = common(p, p + count);
    int *out = data;
    switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
        *out = a.read_mostly;
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
        *out = location_as_device(a.preferred);
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
        list_accessors(a.accessed_by, out, size / sizeof *out);
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
        *out = location_as_device(a.prefetched);
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
        *out = (int)a.preferred.type;
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
        *out = a.preferred.id;
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
        *out = (int)a.prefetched.type;
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
        *out = a.prefetched.id;
        return CUDA_SUCCESS;
    }
    return fail(CUDA_ERROR_INVALID_VALUE, "attribute %d", (int)attribute);
}

CUresult
pw_cuMemRangeGetAttributes(void **data, size_t *sizes, CUmem_range_attribute *attributes, size_t n,
                           CUdeviceptr p, size_t count)
{
    if (!data || !sizes || !attributes || !n)
        return fail(CUDA_ERROR_INVALID_VALUE, "an array is NULL or empty");
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; !r && i < n; i++)
        r = pw_cuMemRangeGetAttribute(data[i], sizes[i], attributes[i], p, count);
    return r;
}

// ---- batches --------------------------------------------------------------
// Location i is for the ranges from index[i] up to the next index.
CUresult
pw_cuMemPrefetchBatchAsync(CUdeviceptr *ptrs, size_t *sizes, size_t count, CUmemLocation *locations,
                           size_t *index, size_t nlocations, unsigned long long flags,
                           CUstream stream)
{
    if (!ptrs || !sizes || !count || !locations || !index || !nlocations || nlocations > count ||
        index[0] || flags)
        return fail(CUDA_ERROR_INVALID_VALUE, "%zu ranges, %zu locations", count, nlocations);
    CUresult r = CUDA_SUCCESS;
    size_t l = 0;
    for (size_t i = 0; !r && i < count; i++) {
        if (l + 1 < nlocations && index[l + 1] == i)
            l++;
        r = pw_cuMemPrefetchAsync_v2(ptrs[i], sizes[i], locations[l], 0, stream);
    }
    return r;
}

// Discarded contents may be anything, so they may stay.
CUresult
pw_cuMemDiscardBatchAsync(CUdeviceptr *ptrs, size_t *sizes, size_t count, unsigned long long flags,
                          CUstream stream)
{
    struct stream *s;
    if (!ptrs || !sizes || !count || flags)
        return fail(CUDA_ERROR_INVALID_VALUE, "%zu ranges, flags %llu", count, flags);
    CUresult r = stream_resolve(stream, &s);
    for (size_t i = 0; !r && i < count; i++)
        r = managed_range(ptrs[i], sizes[i]);
    return r;
}

CUresult
pw_cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *ptrs, size_t *sizes, size_t count,
                                     CUmemLocation *locations, size_t *index, size_t nlocations,
                                     unsigned long long flags, CUstream stream)
{
    return pw_cuMemPrefetchBatchAsync(ptrs, sizes, count, locations, index, nlocations, flags,
                                      stream);
}
