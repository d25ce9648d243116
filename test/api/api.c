// SPDX-License-Identifier: MIT
// The harness of the API tests: counts in memory that all processes of a test share, one process a case.
#define _GNU_SOURCE
#include "api.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { NAMES = 1024, NAME_SIZE = 64, CASE_SECONDS = 120 };

// Lives in a file that is mapped by the test, its cases and the processes that they spawn.
static struct shared {
    atomic_int passed, failed, todo, broken, skipped;
    atomic_int lock;
    int names;
    char name[NAMES][NAME_SIZE]; // entry points called
} *shared;

static int shared_fd = -1;
static const char *program, *where = "";
static _Atomic(const char *) last_call = "";
static _Thread_local enum api_marks mark;
static _Thread_local const char *reason;

CUdevice device;
CUcontext primary;
const char *api_argument = "";

// ---- entry points -----------------------------------------------------------------------------------
static void *
library(void)
{
    static void *lib;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!lib)
        lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    pthread_mutex_unlock(&lock);
    if (!lib) {
        printf("%s\n", dlerror());
        fflush(stdout);
        _exit(1);
    }
    return lib;
}

static int
missing(void)
{
    return API_MISSING;
}

static void
count_name(const char *symbol)
{
    int free_lock = 0;
    while (!atomic_compare_exchange_weak(&shared->lock, &free_lock, 1))
        free_lock = 0;
    int i = 0;
    while (i < shared->names && strcmp(shared->name[i], symbol))
        i++;
    if (i == shared->names && i < NAMES) {
        snprintf(shared->name[i], NAME_SIZE, "%s", symbol);
        shared->names++;
    }
    atomic_store(&shared->lock, 0);
}

bool
api_have(const char *symbol)
{
    return dlsym(library(), symbol) != NULL;
}

void *
api_entry(const char *symbol)
{
    void *fn = dlsym(library(), symbol);
    last_call = symbol;
    if (fn)
        count_name(symbol);
    return fn ? fn : (void *)missing;
}

// NVIDIA's library is a link to libcuda.so.<driver's version>, with a dot in the version.
bool
on_nvidia(void)
{
    static int answer = -1;
    Dl_info info;
    char path[PATH_MAX];
    if (answer >= 0)
        return answer;
    const char *env = getenv("API_ON_NVIDIA");
    if (env) {
        answer = atoi(env) != 0;
        return answer;
    }
    answer = 0;
    if (dladdr(dlsym(library(), "cuInit"), &info) && realpath(info.dli_fname, path)) {
        const char *version = strstr(path, "libcuda.so.");
        answer = version && strchr(version + strlen("libcuda.so."), '.');
    }
    return answer;
}

const char *
api_code(CUresult r)
{
    static _Thread_local char number[4][32];
    static _Thread_local unsigned turn;
    const char *name = NULL;
    if ((int)r == API_MISSING)
        return "(no such entry point)";
    CUresult (*get)(CUresult, const char **) = (CUresult (*)(CUresult, const char **))dlsym(library(), "cuGetErrorName");
    if (get && get(r, &name) == CUDA_SUCCESS && name)
        return name;
    char *text = number[turn++ % 4];
    snprintf(text, sizeof number[0], "%d", (int)r);
    return text;
}

// ---- assertions -------------------------------------------------------------------------------------
int
api_mark(enum api_marks m, const char *why)
{
    mark = m;
    reason = why;
    return m != API_PLAIN;
}

static bool
verdict(bool cond, const char *file, int line, const char *text)
{
    bool nvidia = mark != API_PLAIN && on_nvidia();
    const char *word = "FAIL";
    if (mark == API_TODO && !nvidia) {
        if (!cond) {
            atomic_fetch_add(&shared->todo, 1);
            return cond;
        }
        word = "todo passes now";
    } else if (cond) {
        atomic_fetch_add(&shared->passed, 1);
        return cond;
    } else if (mark == API_BROKEN && nvidia) {
        atomic_fetch_add(&shared->broken, 1);
        return cond;
    }
    atomic_fetch_add(&shared->failed, 1);
    const char *base = strrchr(file, '/');
    printf("%s:%d: %s: %s: %s\n", base ? base + 1 : file, line, where, word, text);
    fflush(stdout);
    return cond;
}

bool
api_check(bool cond, const char *file, int line, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return verdict(cond, file, line, text);
}

bool
api_result(int want, int got, const char *file, int line, const char *what)
{
    char text[1024];
    if (got != want)
        snprintf(text, sizeof text, "%s: got %s, want %s", what, api_code(got), api_code(want));
    return verdict(got == want, file, line, got == want ? what : text);
}

bool
api_result2(int want, int or_want, int got, const char *file, int line, const char *what)
{
    char text[1024];
    bool good = got == want || got == or_want;
    if (!good)
        snprintf(text, sizeof text, "%s: got %s, want %s or %s", what, api_code(got), api_code(want), api_code(or_want));
    return verdict(good, file, line, good ? what : text);
}

bool
api_equal(long long got, long long want, const char *file, int line, const char *what)
{
    char text[1024];
    snprintf(text, sizeof text, "%s: got %lld (0x%llx), want %lld (0x%llx)", what, got, got, want, want);
    return verdict(got == want, file, line, text);
}

void
api_skip(const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    const char *base = strrchr(file, '/');
    atomic_fetch_add(&shared->skipped, 1);
    printf("%s:%d: %s: skip: ", base ? base + 1 : file, line, where);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
    fflush(stdout);
}

// ---- helpers ----------------------------------------------------------------------------------------
CUmodule
api_module(const char *ptx)
{
    CUmodule m = NULL;
    return succeed(cuModuleLoadData, &m, ptx) ? m : NULL;
}

CUfunction
api_function(CUmodule m, const char *name)
{
    CUfunction f = NULL;
    return succeed(cuModuleGetFunction, &f, m, name) ? f : NULL;
}

pid_t
api_spawn(const char *name, const char *argument)
{
    char fd[16];
    snprintf(fd, sizeof fd, "%d", shared_fd);
    fflush(stdout);
    pid_t child = vfork();
    if (child == 0) {
        execl("/proc/self/exe", program, "--spawned", fd, name, argument, (char *)NULL);
        _exit(126);
    }
    ok(child > 0, "vfork failed");
    return child;
}

static bool
ended_well(const char *what, int status)
{
    if (WIFSIGNALED(status))
        return ok(false, "%s died of signal %d (%s)", what, WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status))
        return ok(false, "%s ended with status %d", what, WEXITSTATUS(status));
    return true;
}

bool
api_join(pid_t child)
{
    int status = 0;
    if (child <= 0 || waitpid(child, &status, 0) != child)
        return ok(false, "no child to wait for");
    return ended_well("the spawned process", status);
}

// ---- running ----------------------------------------------------------------------------------------
static void
died(int signal_number)
{
    char line[256];
    int n = snprintf(line, sizeof line, "%s: signal %d after the call of %s\n", where, signal_number, last_call);
    if (write(STDOUT_FILENO, line, (size_t)n) < 0)
        _exit(1);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static bool
start_device(void)
{
    CUresult r = CALL(cuInit, 0);
    if (r == CUDA_SUCCESS)
        r = CALL(cuDeviceGet, &device, 0);
    if (r == CUDA_SUCCESS)
        r = CALL(cuDevicePrimaryCtxRetain, &primary, device);
    if (r == CUDA_SUCCESS)
        r = CALL(cuCtxSetCurrent, primary);
    return r == CUDA_SUCCESS || ok(false, "no device: %s", api_code(r));
}

static void
run_case(const struct api_case *c)
{
    where = c->name;
    for (size_t i = 0; i < 4; i++)
        signal((int[]){SIGSEGV, SIGBUS, SIGABRT, SIGALRM}[i], died);
    alarm(CASE_SECONDS);
    if (c->raw || start_device())
        c->fn();
}

static int
spawned(char **argv, const struct api_case *cases, size_t count)
{
    shared_fd = atoi(argv[2]);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, shared_fd, 0);
    api_argument = argv[4];
    for (size_t i = 0; i < count && shared != MAP_FAILED; i++)
        if (!strcmp(cases[i].name, argv[3])) {
            run_case(&cases[i]);
            return 0;
        }
    return 125;
}

static void
fork_case(const struct api_case *c)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        run_case(c);
        exit(0);
    }
    where = c->name;
    mark = API_PLAIN;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        ok(false, "no process for the case");
        return;
    }
    ended_well("the case", status);
}

static void
write_names(void)
{
    const char *path = getenv("API_NAMES");
    FILE *f = path ? fopen(path, "a") : NULL;
    for (int i = 0; f && i < shared->names; i++)
        fprintf(f, "%s\n", shared->name[i]);
    if (f)
        fclose(f);
}

static int
report(void)
{
    const char *base = strrchr(program, '/');
    int passed = shared->passed, failed = shared->failed, to_do = shared->todo, odd = shared->broken;
    printf("%s: %d assertions over %d entry points; %d passed, %d failed, %d todo, %d broken, %d skipped\n", base ? base + 1 : program,
        passed + failed + to_do + odd, shared->names, passed, failed, to_do, odd, shared->skipped);
    write_names();
    return failed ? 1 : passed + to_do + odd ? 0 : 77;
}

// Arguments: names of cases to run (all), and --here: in this process, for a debugger. Cases named _xxx are for api_spawn only.
int
api_main(int argc, char **argv, const struct api_case *cases, size_t count)
{
    bool here = argc > 1 && !strcmp(argv[1], "--here");
    int first = here ? 2 : 1;
    program = argv[0];
    setenv("POLYWARP_LOG", "nostderr", 0); // refused calls are what is tested
    if (argc == 5 && !strcmp(argv[1], "--spawned"))
        return spawned(argv, cases, count);
    shared_fd = memfd_create("counts", 0);
    if (shared_fd < 0 || ftruncate(shared_fd, sizeof *shared))
        return 1;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, shared_fd, 0);
    if (shared == MAP_FAILED)
        return 1;
    for (size_t i = 0; i < count; i++) {
        bool wanted = argc == first && cases[i].name[0] != '_';
        for (int k = first; k < argc; k++)
            wanted |= !strcmp(argv[k], cases[i].name);
        if (wanted && here)
            run_case(&cases[i]);
        else if (wanted)
            fork_case(&cases[i]);
    }
    return report();
}
