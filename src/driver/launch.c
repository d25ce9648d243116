// SPDX-License-Identifier: MIT
// Launches: documented checks, parameters copied into a command, launch attributes.
#include "driver/module.h"
#include "api_impl.h"

#include <string.h>

// ---- checks ---------------------------------------------------------------
static CUresult
check_dims(const char *what, const uint32_t n[3], const uint32_t max[3])
{
    for (int i = 0; i < 3; i++)
        if (!n[i] || n[i] > max[i])
            return fail(CUDA_ERROR_INVALID_VALUE, "%s %u x %u x %u: each must be 1 .. %u, %u, %u",
                        what, n[0], n[1], n[2], max[0], max[1], max[2]);
    return CUDA_SUCCESS;
}

static bool
fits_reqntid(const struct ptx_func *f, const uint32_t block[3])
{
    for (int i = 0; i < 3 && f->reqntid[0]; i++)
        if (block[i] != (f->reqntid[i] ? f->reqntid[i] : 1))
            return false;
    return true;
}

// Of .maxntid only the number of threads counts, not its shape.
static CUresult
check_block(struct function *f, const uint32_t block[3])
{
    static const uint32_t max[3] = {MAX_BLOCK_X, MAX_BLOCK_Y, MAX_BLOCK_Z};
    CUresult r = check_dims("block", block, max);
    if (r != CUDA_SUCCESS)
        return r;
    const char *name = f->func->sym->name;
    uint32_t threads = block[0] * block[1] * block[2];
    int limit = MAX_BLOCK_THREADS;
    function_attribute(f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &limit);
    if (threads > (uint32_t)limit)
        return fail(CUDA_ERROR_INVALID_VALUE, "%s: %u threads in a block of at most %d", name,
                    threads, limit);
    if (!fits_reqntid(f->func, block))
        return fail(CUDA_ERROR_INVALID_VALUE, "%s: block %u x %u x %u is not what .reqntid says",
                    name, block[0], block[1], block[2]);
    return CUDA_SUCCESS;
}

static CUresult
check_shared(struct function *f, uint32_t dynamic)
{
    int limit = 0;
    function_attribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &limit);
    if (dynamic > (uint32_t)limit)
        return fail(CUDA_ERROR_INVALID_VALUE, "%s: %u bytes of dynamic shared memory, limit %d",
                    f->func->sym->name, dynamic, limit);
    return CUDA_SUCCESS;
}

// A cluster's blocks in each dimension: what the launch says, else what the kernel requires; 0,0,0: none.
static CUresult
find_cluster(struct function *f, const struct launch_shape *s, uint32_t out[3])
{
    int required[3] = {0}, must = 0;
    for (int i = 0; i < 3; i++)
        function_attribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + i, &required[i]);
    function_attribute(f, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, &must);
    bool given = s->cluster[0] || s->cluster[1] || s->cluster[2];
    if (must && !given && !required[0])
        return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, "%s: the launch must say the cluster's size",
                    f->func->sym->name);
    for (int i = 0; i < 3; i++) {
        out[i] = given ? s->cluster[i] : (uint32_t)required[i];
        if (given && required[0] && s->cluster[i] != (uint32_t)required[i])
            return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, "%s: cluster of %u in dimension %d, the kernel requires %d",
                        f->func->sym->name, s->cluster[i], i, required[i]);
    }
    return CUDA_SUCCESS;
}

CUresult
check_cluster_size(struct function *f, const uint32_t cluster[3])
{
    int beyond = 0;
    function_attribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, &beyond);
    uint64_t limit = beyond ? MAX_CLUSTER : MAX_PORTABLE_CLUSTER, n = 1;
    for (int i = 0; i < 3; i++)
        n = cluster[i] && cluster[i] <= limit ? n * cluster[i] : limit + 1;
    if (n > limit)
        return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, "%s: cluster of %u x %u x %u blocks, at most %llu",
                    f->func->sym->name, cluster[0], cluster[1], cluster[2], (unsigned long long)limit);
    return CUDA_SUCCESS;
}

static CUresult
check_cluster(struct function *f, const struct launch_shape *s, uint32_t cluster[3])
{
    CUresult r = find_cluster(f, s, cluster);
    if (r != CUDA_SUCCESS || (!cluster[0] && !cluster[1] && !cluster[2]))
        return r;
    r = check_cluster_size(f, cluster);
    for (int i = 0; i < 3 && r == CUDA_SUCCESS; i++)
        if (s->grid[i] % cluster[i])
            return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, "%s: grid of %u blocks in dimension %d, clusters of %u",
                        f->func->sym->name, s->grid[i], i, cluster[i]);
    return r;
}

static CUresult
check_shape(struct function *f, const struct launch_shape *s)
{
    static const uint32_t max_grid[3] = {MAX_GRID_X, MAX_GRID_YZ, MAX_GRID_YZ};
    CUresult r = check_dims("grid", s->grid, max_grid);
    if (r == CUDA_SUCCESS)
        r = check_block(f, s->block);
    if (r == CUDA_SUCCESS)
        r = check_shared(f, s->dynamic_shared);
    return r;
}

// What only the compiled kernel tells: whether it runs at all, and whether all blocks of a
// cooperative launch run together.
static CUresult
check_resources(struct function *f, const struct launch_shape *s)
{
    const struct device *d = f->mod->ctx->dev;
    uint32_t threads = s->block[0] * s->block[1] * s->block[2];
    const struct kernel_info *info = d->be->kernel_info(f->compiled);
    if (info->max_threads && threads > info->max_threads)
        return fail(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                    "%s: %u threads, the compiled kernel takes %u", f->func->sym->name, threads,
                    info->max_threads);
    if (!s->cooperative)
        return CUDA_SUCCESS;
    int blocks = d->be->occupancy(f->compiled, threads, s->dynamic_shared);
    uint64_t resident = (uint64_t)blocks * (uint64_t)d->props->multiprocessors;
    uint64_t wanted = (uint64_t)s->grid[0] * s->grid[1] * s->grid[2];
    if (wanted > resident)
        return fail(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
                    "%s: %llu blocks, %llu can be resident", f->func->sym->name,
                    (unsigned long long)wanted, (unsigned long long)resident);
    return CUDA_SUCCESS;
}

CUresult
launch_check(struct function *f, const struct launch_shape *s)
{
    return check_shape(f, s);
}

// ---- parameters -----------------------------------------------------------
struct packed {
    const void *data;
    size_t size;
};

static CUresult
read_extra(void **extra, struct packed *out)
{
    *out = (struct packed){NULL, 0};
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            out->data = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
            out->size = *(const size_t *)extra[1];
        else
            return fail(CUDA_ERROR_INVALID_VALUE, "launch option %p", *extra);
    }
    if (out->size && !out->data)
        return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes of parameters at NULL", out->size);
    return CUDA_SUCCESS;
}

static CUresult
copy_packed(const struct ptx_func *f, void **extra, char *dst)
{
    struct packed p;
    CUresult r = read_extra(extra, &p);
    if (r != CUDA_SUCCESS)
        return r;
    if (p.size < f->param_size)
        return fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu bytes of parameters given, %llu needed",
                    f->sym->name, p.size, (unsigned long long)f->param_size);
    if (f->param_size)
        memcpy(dst, p.data, (size_t)f->param_size);
    return CUDA_SUCCESS;
}

static CUresult
copy_params(const struct ptx_func *f, void **params, void **extra, char *dst)
{
    if (params && extra)
        return fail(CUDA_ERROR_INVALID_VALUE, "%s: both kernelParams and extra are given",
                    f->sym->name);
    if (extra)
        return copy_packed(f, extra, dst);
    for (uint32_t i = 0; i < f->proto.nparam; i++) {
        const struct ptx_var *v = &f->proto.param[i];
        if (!params || !params[i])
            return fail(CUDA_ERROR_INVALID_VALUE, "%s: parameter %u is missing", f->sym->name, i);
        memcpy(dst + v->offset, params[i], (size_t)v->size);
    }
    return CUDA_SUCCESS;
}

// ---- the command ----------------------------------------------------------
CUresult
launch_command(struct function *f, const struct launch_shape *s, void **params, void **extra,
               struct command **out)
{
    uint32_t cluster[3];
    CUresult r = check_shape(f, s);
    if (r == CUDA_SUCCESS)
        r = check_cluster(f, s, cluster);
    if (r != CUDA_SUCCESS)
        return r;
    struct command *c = command_new(CMD_LAUNCH, (size_t)f->func->param_size);
    struct launch_hint hint = {.params = c->launch.params, .param_size = (size_t)f->func->param_size};
    memcpy(hint.block, s->block, sizeof hint.block);
    r = copy_params(f->func, params, extra, c->launch.params);
    if (r == CUDA_SUCCESS)
        r = function_kernel(f, &hint, &c->launch.kernel);
    if (r == CUDA_SUCCESS)
        r = check_resources(f, s);
    if (r != CUDA_SUCCESS) {
        command_free(c);
        return r;
    }
    c->launch.name = f->func->sym->name;
    memcpy(c->launch.grid, s->grid, sizeof s->grid);
    memcpy(c->launch.block, s->block, sizeof s->block);
    memcpy(c->launch.cluster, cluster, sizeof cluster);
    c->launch.dynamic_shared = s->dynamic_shared;
    c->launch.cooperative = s->cooperative;
    c->launch.param_size = (size_t)f->func->param_size;
    c->launch.owner = f;
    c->launch.launcher = &f->mod->launcher;
    *out = c;
    return CUDA_SUCCESS;
}

static CUresult
launch(CUfunction handle, const struct launch_shape *s, CUstream hstream, void **params,
       void **extra)
{
    struct stream *stream;
    struct function *f;
    struct command *c;
    CUresult r = stream_resolve(hstream, &stream);
    if (r == CUDA_SUCCESS)
        r = function_resolve(handle, stream->ctx, &f);
    if (r == CUDA_SUCCESS)
        r = launch_command(f, s, params, extra, &c);
    if (r != CUDA_SUCCESS)
        return r;
    c->launch.owner = handle;
    LOG(LOG_LAUNCH, "%s<<<%u,%u,%u; %u,%u,%u; %u>>>", f->func->sym->name, s->grid[0], s->grid[1],
        s->grid[2], s->block[0], s->block[1], s->block[2], s->dynamic_shared);
    return stream_submit(stream, c);
}

CUresult
pw_cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                  unsigned bz, unsigned shared, CUstream stream, void **params, void **extra)
{
    struct launch_shape s = {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .dynamic_shared = shared};
    return launch(f, &s, stream, params, extra);
}

CUresult
pw_cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                             unsigned by, unsigned bz, unsigned shared, CUstream stream,
                             void **params)
{
    struct launch_shape s = {
        .grid = {gx, gy, gz}, .block = {bx, by, bz}, .dynamic_shared = shared, .cooperative = true};
    return launch(f, &s, stream, params, NULL);
}

// One grid over several devices: with one entry it is a cooperative launch.
CUresult
pw_cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *list, unsigned n, unsigned flags)
{
    const unsigned known = CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC |
                           CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC;
    if (!list || !n || flags & ~known)
        return fail(CUDA_ERROR_INVALID_VALUE, "%u launches at %p, flags 0x%x", n, (void *)list,
                    flags);
    struct context *first = NULL;
    for (unsigned i = 0; i < n; i++) {
        struct stream *s = object_get(list[i].hStream, OBJ_STREAM); // default streams are not taken
        if (!s)
            return fail(CUDA_ERROR_INVALID_HANDLE, "%p is not a stream", (void *)list[i].hStream);
        if (i && s->ctx->dev == first->dev)
            return fail(CUDA_ERROR_INVALID_VALUE, "two launches on one device");
        first = i ? first : s->ctx;
    }
    if (n > 1)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "a grid over %u devices", n);
    const CUDA_LAUNCH_PARAMS *p = list;
    return pw_cuLaunchCooperativeKernel(p->function, p->gridDimX, p->gridDimY, p->gridDimZ,
                                        p->blockDimX, p->blockDimY, p->blockDimZ, p->sharedMemBytes,
                                        p->hStream, p->kernelParams);
}

// ---- launch attributes ----------------------------------------------------
struct attributes {
    struct launch_shape *shape;
    CUevent after[2]; // events to be recorded behind the launch
    unsigned nafter;
};

static CUresult
add_event(struct attributes *out, CUevent event)
{
    if (out->nafter == 2)
        return fail(CUDA_ERROR_INVALID_VALUE, "more than one event of a kind");
    out->after[out->nafter++] = event;
    return CUDA_SUCCESS;
}

static CUresult
read_attribute(const CUlaunchAttribute *a, struct attributes *out)
{
    switch (a->id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: // an overlap that is allowed, not
                                                                // promised
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION: // the regular dimension decides
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        out->shape->cooperative = a->value.cooperative;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        out->shape->cluster[0] = a->value.clusterDim.x;
        out->shape->cluster[1] = a->value.clusterDim.y;
        out->shape->cluster[2] = a->value.clusterDim.z;
        return CUDA_SUCCESS;
    // Both may fire later than they would on other hardware: at the kernel's end.
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        return add_event(out, a->value.programmaticEvent.event);
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        return add_event(out, a->value.launchCompletionEvent.event);
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        if (!a->value.deviceUpdatableKernelNode.deviceUpdatable)
            return CUDA_SUCCESS;
        return fail(CUDA_ERROR_NOT_SUPPORTED, "kernel nodes that the device updates");
    default:
        return fail(CUDA_ERROR_INVALID_VALUE, "launch attribute %d", a->id);
    }
}

CUresult
pw_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
    if (!config || (config->numAttrs && !config->attrs))
        return fail(CUDA_ERROR_INVALID_VALUE, "config %p", (const void *)config);
    struct launch_shape s = {
        .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .dynamic_shared = config->sharedMemBytes,
    };
    struct attributes a = {.shape = &s};
    for (unsigned i = 0; i < config->numAttrs; i++) {
        CUresult r = read_attribute(&config->attrs[i], &a);
        if (r != CUDA_SUCCESS)
            return r;
    }
    CUresult r = launch(f, &s, config->hStream, params, extra);
    for (unsigned i = 0; r == CUDA_SUCCESS && i < a.nafter; i++)
        r = pw_cuEventRecord(a.after[i], config->hStream);
    return r;
}
