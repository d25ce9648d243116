// SPDX-License-Identifier: MIT
// What the files about code share: from image bytes to linked PTX, to a module in a context, to a
// library.
#ifndef DRIVER_MODULE_H
#define DRIVER_MODULE_H

#include "driver/driver.h"

// ---- JIT options (jit.c) --------------------------------------------------
// The options of cuModuleLoadDataEx and its kin that have an effect here.
struct jit {
    char *info, *error; // the caller's buffers or NULL
    size_t info_size, error_size;
    void **info_used,
        **error_used; // where the filled sizes go: the entries of the caller's value array
    void **wall_time; // likewise, for milliseconds as float
    int optimize;     // 0..3
    uint64_t started; // ns, CLOCK_MONOTONIC
};

CUresult jit_read(struct jit *j, unsigned n, const CUjit_option *option, void **value);
// Appends text to the error or info buffer, as much as fits.
void jit_error(struct jit *j, const char *text);
void jit_info(struct jit *j, const char *text);
// Writes the sizes used and the time since jit_read.
void jit_done(struct jit *j);

// ---- code (code.c, source.c) ----------------------------------------------
// PTX texts as they came out of an image, still packed; a copy, so that the image may be freed.
struct code_source;

// Reads an image of any kind (size 0: not known) and copies what will be needed. Adds to *src, made
// on the first call, so that a linker can collect several images. `sm`: compute capability to
// choose for.
CUresult source_add(struct code_source **src, const void *image, size_t size, const char *name,
                    int sm, struct jit *j);
// The same from a file.
CUresult source_add_file(struct code_source **src, const char *path, int sm, struct jit *j);
void source_free(struct code_source *src);
// One PTX text of a source, unpacked (malloc'ed, NUL-terminated); its ptxas options and name live
// as long as the source.
unsigned source_count(const struct code_source *src);
CUresult source_text(const struct code_source *src, unsigned i, char **text, size_t *size,
                     struct jit *j);
const char *source_options(const struct code_source *src, unsigned i);
const char *source_name(const struct code_source *src, unsigned i);

// Do the options let mul and add be contracted? (ptxas.c)
bool ptxas_fmad(const char *options);

// Parses and links. The code has one reference. Nothing of the source is needed afterwards.
CUresult code_new(const struct code_source *src, struct jit *j, struct code **out);
struct code *code_ref(struct code *c);
void code_unref(struct code *c); // NULL allowed
// The kernel of that name, or NULL; its place in c->entry in *index.
struct ptx_func *code_find(const struct code *c, const char *name, unsigned *index);

// The private container in which cuLinkComplete hands out linked PTX (container.c). `image` may
// have any contents of at least 8 bytes.
bool container_is(const void *image);
size_t
container_size(const void *image); // bytes in all as the container says; 0 if it is not plausible
struct container_text {
    const char *text, *options, *name;
    size_t size;
};
// Fills *text (vec). False if the container is damaged. `size` bounds what may be read.
bool container_read(const void *image, size_t size, struct container_text **text);
void *container_write(const struct container_text *text, unsigned n, size_t *size); // malloc'ed

// ---- modules (module.c, variables.c) --------------------------------------
// Makes a module in a live context, allocates and initialises its variables. Takes a reference to
// the code.
CUresult module_new(struct context *c, struct code *code, struct library *lib, struct module **out);
// Frees it; no work of it may be pending.
void module_free(struct module *m);
// The module's function for the kernel code->entry[index], made at the first call.
struct function *module_function(struct module *m, unsigned index);
// What its kernels may launch themselves (device_launch.c).
struct backend_launcher module_launcher(struct module *m);

CUresult variables_make(struct module *m);
void variables_free(struct module *m);
// The variable that generated code or a program calls `name`, or NULL.
struct module_var *variable_find(const struct module *m, const char *name);

// ---- libraries (library.c) ------------------------------------------------
// The library's module in context c, made at the first call.
CUresult library_module(struct library *lib, struct context *c, struct module **out);
// Parses what was left for later.
CUresult library_need_code(struct library *lib, struct jit *j);
// Takes a module that is being freed out of its library's list.
void library_forget(struct library *lib, struct module *m);

// ---- functions and kernels ------------------------------------------------
void function_free(struct function *f);
// Value of an attribute that does not depend on what was set; `info` of the kernel.
CUresult kernel_default_attribute(const struct device *d, const struct ptx_func *f,
                                  const struct ptx_kernel_info *info, CUfunction_attribute a,
                                  int *value);
// Checks a value that a program wants to set. `info` as above.
CUresult kernel_check_attribute(const struct device *d, const struct ptx_kernel_info *info,
                                CUfunction_attribute a, int value);
// May a cluster have such a size?
CUresult check_cluster_size(struct function *f, const uint32_t cluster[3]);
// Place and size of a parameter; CUDA_ERROR_INVALID_VALUE behind the last one. `size` may be NULL.
CUresult kernel_param(const struct ptx_func *f, size_t index, size_t *offset, size_t *size);

#endif
